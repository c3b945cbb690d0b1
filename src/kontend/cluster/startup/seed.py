"""Starting points: an empty cluster, and objects put into it as they are.

A test often begins with objects that are not new: they have a status, a uid that others refer to, perhaps a deletion
timestamp. :func:`seed` stores such an object in one write, checked like any other but with those fields kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from rpds import HashTrieMap

from kontend.cluster.hooks import Hooks
from kontend.cluster.options import WriteOptions
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.registration.definitions import follow
from kontend.cluster.request import ApiRequest, Target
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.settings import Settings
from kontend.cluster.state import EPOCH, State
from kontend.cluster.storage import encoded
from kontend.cluster.verbs.create import create_unowned
from kontend.cluster.wire.decoding import decode_object
from kontend.kube.crd.permissive import is_definable
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import BadName, GroupVersionKind, Key, kind_of, parse_kind

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_KEPT: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


class UnknownKind(NotFound):
    """A kind that this cluster does not serve."""


class MisspelledKind(UnknownKind):
    """A kind of a built-in group that resembles a served one, and that no definition can add."""


@cache
def empty_state(now: int = EPOCH) -> State:
    """Return a cluster that was made just ``now``: nothing is in it but the namespaces that every cluster has."""
    state = State(kinds=HashTrieMap(), registry=Registry(), hooks=Hooks(), settings=Settings(), now=now)
    for name in _NAMESPACES:
        state = seed(state, _namespace(name), manager="kube-apiserver")
    # There are no watches yet: history begins here.
    return state.replace(newest=None, stretch=0, stretch_bytes=0, floor=state.resource_version)


def seed_all(state: State, objects: Iterable[Mapping[str, Any]], *, manager: str) -> State:
    """Store all objects: definitions first, then namespaces, then the rest in the order given."""
    pending = list(objects)
    for obj in sorted(pending, key=seed_order):
        state = seed(state, obj, manager=manager)
    return state


def seed_order(obj: Mapping[str, Any]) -> int:
    """Return the sort key for storing objects: definitions, namespaces, the rest."""
    return {"CustomResourceDefinition": 0, "Namespace": 1}.get(str(obj.get("kind")), 2)


def seed(state: State, obj: Mapping[str, Any], *, manager: str) -> State:
    """Store one object with its status, uid and times; its namespace is made if it is not there."""
    kind = kind_of(obj)
    resource = resource_of(state.registry, kind)
    namespace = _namespace_of(resource, obj)
    if resource.namespaced and state.find("namespaces", Key("", namespace)) is None:
        state = seed(state, _namespace(namespace), manager=manager)
    options = WriteOptions(field_manager=manager, field_validation="Strict")
    target = Target(state.registry, resource, "create", namespace, options=options)
    decoded = decode_object(target, ApiRequest("POST", "", body=canonical(obj)))
    metadata = decoded["metadata"]
    kept = {name: metadata[name] for name in _KEPT if name in metadata}
    status = decoded.get("status")
    metadata.pop("resourceVersion", None)
    managed_fields = metadata.pop("managedFields", None)
    scratch = create_unowned(state, target, decoded)
    change = scratch.newest
    assert change is not None  # a create is a change
    assert change.new is not None  # and it made something
    stored = change.new.content()
    stored["metadata"].update(kept)
    if status:
        stored["status"] = {**(stored.get("status") or {}), **status}
    requested = {"requested": managed_fields} if managed_fields else {}
    managed = owners_after_update(state, target, None, stored, (), **requested)
    after, _ = state.write(resource.key, change.key, encoded(resource, stored), managed)
    return follow(state, after.replace(serial=scratch.serial))


def resource_of(registry: Registry, kind: GroupVersionKind | str) -> Resource:
    """Return the resource of a kind, or raise an error that names the way out."""
    if not isinstance(kind, GroupVersionKind):
        try:
            kind = parse_kind(kind)
        except BadName as error:
            others = similar_kinds(registry, *re.split("[./]", kind)) if isinstance(kind, str) else []
            if not others:
                raise
            raise BadName(f"{kind!r} does not name a kind: did you mean {' or '.join(others)}?") from error
    resource = registry.of_kind(kind)
    if resource is None:
        others = similar_kinds(registry, kind.kind, kind.version)  # v1/Pod is another way to write it
        is_builtin = kind.group in {"", *(r.group for r in registry.resources() if "." not in r.group)}
        hint = (
            "add its CustomResourceDefinition: crds=[...]; permissive_crd of kontend.testing makes one that accepts "
            f'everything: permissive_crd("{kind}")'
        )
        if not is_definable(str(kind)):
            hint = "a built-in group has no other kinds"
        if others:
            hint = f"did you mean {' or '.join(others)}?"
        # Scale and Eviction are kinds of built-in groups that no resource has, and resemble none.
        unknown = MisspelledKind if is_builtin and others else UnknownKind
        raise unknown(f'no kind "{kind.kind}" is served for version "{kind.api_version}": {hint}')
    return resource


def similar_kinds(registry: Registry, *words: str) -> list[str]:
    """Return the served kinds that one of the words names, in any group and version, or comes closest to naming."""
    by_name: dict[str, set[str]] = {}
    for resource in registry.resources():
        full = str(GroupVersionKind(resource.group, resource.version, resource.kind))
        for name in (resource.kind, resource.plural):
            by_name.setdefault(name.lower(), set()).add(full)
    for word in words:
        close = get_close_matches(word.lower(), by_name, n=1, cutoff=0.8)
        if close:
            return sorted(by_name[close[0]])
    return []


def _namespace_of(resource: Resource, obj: Mapping[str, Any]) -> str:
    if not resource.namespaced:
        return ""
    metadata = obj.get("metadata")
    return (metadata.get("namespace") if isinstance(metadata, Mapping) else "") or "default"


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
