"""Steps of a user who exercises a controller: create, change, scale, delete, create again with the same name.

A late write hurts an object of the same name that was created again; a second object shows what belongs to both; the
edit of a child shows what the controller overwrites or never repairs. Each field is changed once, those first that
scale, and only as the server accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.state import State
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key, kind_of
from kontend.live.gate.call import UNJUDGED
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY
from kontend.live.runs.webhooks import without_webhooks
from kontend.live.runs.workload import UserAction
from kontend.live.workloads.candidates import Object, is_accepted

#: Fields that are changed of one object, and objects that are exercised beyond their creation.
_CHANGES: Final = 3
_OBJECTS: Final = 3
#: Children that are edited.
_CHILDREN: Final = 2

_NUMBER: Final = re.compile(r"\d+")

Path = tuple[str, ...]


def steps(state: State, objects: Sequence[Object]) -> list[UserAction]:
    """Return the steps for some objects: all are created, then each is exercised."""
    made = [UserAction("create", obj) for obj in objects]
    for obj in objects[-_OBJECTS:]:
        made += _changes(state, obj, objects)
    for obj in objects[-_OBJECTS:]:
        second = {**obj, "metadata": {**obj["metadata"], "name": f"{obj['metadata']['name']}-2"}}
        if is_accepted(state, second):
            made.append(UserAction("create", second))
        made += [UserAction("delete", _name_of(obj)), UserAction("create", obj)]
    return made


def _changes(state: State, obj: Object, others: Sequence[Object]) -> Iterator[UserAction]:
    """Yield the changes of an object that the server accepts one after the other."""
    cluster = Cluster(state=state)
    for other in others:
        cluster.create(other)
    key = Key(obj["metadata"].get("namespace", "default"), obj["metadata"]["name"])
    count = 0
    stored = cluster.get(str(kind_of(obj)), key.name, namespace=key.namespace)
    scale = _scale_path(cluster.state, obj)
    leaves = sorted(_leaves(stored.get("spec"), ("spec",)), key=lambda leaf: leaf[0] != scale)
    for path, value in leaves:
        for changed in _others(value, scales=path == scale):
            patch = _nested(path, changed)
            try:
                after = cluster.patch(str(kind_of(obj)), key.name, patch, namespace=key.namespace)
            except ApiError:
                continue
            if after["metadata"].get("generation") == stored["metadata"].get("generation"):
                continue
            stored, count = after, count + 1
            yield UserAction("patch", {**_name_of(obj), **patch})
            if path != scale:
                break
        if count >= _CHANGES:
            return


def _scale_path(state: State, obj: Object) -> Path:
    """Return the field that says how many replicas an object has, by its definition; empty if it does not scale."""
    resource = resource_of(state.registry, kind_of(obj))
    for version in state.objects("customresourcedefinitions.apiextensions.k8s.io").values():
        spec = version.content()["spec"]
        if spec["group"] != resource.group or spec["names"]["kind"] != obj["kind"]:
            continue
        for served in spec["versions"]:
            scale = (served.get("subresources") or {}).get("scale") or {}
            if served["name"] == resource.version and scale.get("specReplicasPath"):
                return tuple(str(scale["specReplicasPath"]).strip(".").split("."))
    return ("spec", "replicas")


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the scalar fields of an object, those nearer to the root first; lists are left as they are."""
    fields = value.items() if isinstance(value, Mapping) else ()
    yield from (((*path, name), child) for name, child in fields if isinstance(child, bool | int | str))
    for name, child in fields:
        yield from _leaves(child, (*path, name))


def _others(value: Any, *, scales: bool) -> Iterator[Any]:
    """Other values of a field, such as a user may choose."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 2 if scales else value + 1
        if scales:
            yield value
    elif isinstance(value, str):  # a version, a quantity: words are choices, of which others may not exist
        numbers = [*_NUMBER.finditer(value)]
        if numbers:
            start, end = numbers[-1].span()
            yield f"{value[:start]}{int(value[start:end]) + 1}{value[end:]}"


def _nested(path: Path, value: Any) -> Object:
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def _name_of(obj: Mapping[str, Any]) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name in ("name", "namespace")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


# Children


def with_children(actions: Sequence[UserAction], run: Run) -> list[UserAction]:
    """Return steps with edits of children that the controller has made in a run of them, before the first deletion."""
    first = next((at for at, action in enumerate(actions) if action.verb == "delete"), len(actions))
    state = run.phases[first] if first < len(run.phases) else run.final
    edits = list(_edits(run, without_webhooks(state)))
    return [*actions[:first], *edits, *actions[first:]]


def _edits(run: Run, state: State) -> Iterator[UserAction]:
    """A field that a user changes in one child of each kind, and one child that the user deletes.

    What the controller makes before the user has done anything is its own: a lock, a certificate. Nobody edits that.
    """
    kinds: dict[str, Object] = {}
    for request in run.log.writes():
        if not request.action:
            continue
        version = state.find(request.call.resource, request.key) if request.process == PRIMARY else None
        if request.call.verb == "create" and version is not None and request.call.resource not in UNJUDGED:
            kinds.setdefault(request.call.resource, version.content())
    children = [child for child in kinds.values() if _is_named(child)]
    for child in children[:_CHILDREN]:
        patch = _edit_of(child)
        if _is_accepted_patch(state, child, patch):
            named = _name_of(child)
            metadata = {**named["metadata"], **patch.get("metadata", {})}
            yield UserAction("patch", {**named, **patch, "metadata": metadata})
    if children:
        yield UserAction("delete", _name_of(children[-1]))


def _is_named(obj: Object) -> bool:
    """Return whether every run gives an object the same name."""
    return not obj["metadata"].get("generateName")


def _edit_of(obj: Object) -> Object:
    """Return a change such as a user makes by hand: of a key of its data, of its replicas, or of its labels."""
    if isinstance(obj.get("data"), Mapping) and obj["data"]:
        return {"data": {next(iter(obj["data"])): "ZWRpdGVk" if obj["kind"] == "Secret" else "edited"}}
    if isinstance((obj.get("spec") or {}).get("replicas"), int):
        return {"spec": {"replicas": obj["spec"]["replicas"] + 1}}
    return {"metadata": {"labels": {"edited": "by-hand"}}}


def _is_accepted_patch(state: State, obj: Object, patch: Object) -> bool:
    try:
        Cluster(state=state).patch(
            str(kind_of(obj)), obj["metadata"]["name"], patch, namespace=obj["metadata"].get("namespace", "default")
        )
    except ApiError:
        return False
    return True
