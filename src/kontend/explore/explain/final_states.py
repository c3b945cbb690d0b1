"""Differences between two final states, up to made-up names.

Objects are paired by name, those with generated names by their prefix. uids stand for the objects that they belong to;
other uuids are numbered in the order of their appearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from kontend.cluster.state import State, Version
from kontend.explore.explain.fields import changed_paths, content_of, field_changes, object_name
from kontend.explore.model.state.collection import lasting_objects
from kontend.explore.model.state.ignored import NOTHING, Ignored
from kontend.explore.program.identities import DERIVED_UUIDS, IDENTITIES, VERSIONS
from kontend.explore.program.masking import relative_body
from kontend.kube.meta.names import Key
from kontend.report.document import Difference
from kontend.report.elements import joined

_Pair = tuple[str, Version | None, Version | None]
_Objects = dict[str, dict[Key, Version]]


def differences(got: State, expected: State, ignored: Ignored = NOTHING) -> tuple[Difference, ...]:
    """The fields in which a final state differs from the expected one; several fields of one element are one."""
    pairs = list(_pairs(_lasting(got, ignored), _lasting(expected, ignored)))
    names = [(name, one, other) for name, one, other in pairs]
    left = _Names({_uid(one): name for name, one, _ in names if one is not None}, _renamed(pairs))
    right = _Names({_uid(other): name for name, _, other in names if other is not None})
    differences: list[Difference] = []
    for name, one, other in pairs:
        if one is None or other is None:
            present = one or other
            assert present is not None
            content = _outline(content_of(present))
            differences.append(Difference(name, "", content if one else None, content if other else None))
            continue
        if one.body == other.body:
            continue
        changes = joined(field_changes(right.shown(other), left.shown(one)))
        differences += [Difference(name, change.path, change.after, change.before) for change in changes]
    return tuple(differences)


def _pairs(left: _Objects, right: _Objects) -> Iterator[_Pair]:
    """Objects of the two states that stand for each other; alone where there is no other."""
    for resource in sorted({*left, *right}):
        # Copies, because those that have a partner are taken out.
        ours, theirs = dict(left.get(resource, {})), dict(right.get(resource, {}))
        common = sorted(ours.keys() & theirs.keys())
        for key in common:
            # Names that were made up depend on the order of creation: equal ones say nothing.
            if not _alike(key, ours[key], key, theirs[key]):
                yield object_name(content_of(theirs[key])), ours.pop(key), theirs.pop(key)
        for key in sorted(theirs):
            partners = [other for other in sorted(ours) if _alike(other, ours[other], key, theirs[key])]
            wanted = bool(partners) and _is_referred_to(right, key)
            # One that nothing refers to is left over, however much it looks like the other.
            ranks = {
                other: (_is_referred_to(left, other) != wanted, _distance(ours[other], theirs[key]), other != key)
                for other in partners
            }
            partner = min(partners, key=lambda other: ranks[other], default=None)
            yield (
                object_name(content_of(theirs[key])),
                ours.pop(partner) if partner is not None else None,
                theirs[key],
            )
        for key in sorted(ours):
            yield object_name(content_of(ours[key])), ours[key], None


def _lasting(state: State, ignored: Ignored) -> _Objects:
    """The objects by resource without what is ignored."""
    objects: _Objects = {}
    for resource, key, version in lasting_objects(state, garbage=not ignored.garbage):
        body = ignored.without(version.body)
        same = body is version.body
        shown = version if same else Version(body, version.managed, version.resource_version)
        objects.setdefault(resource, {})[key] = shown
    return objects


def _alike(one: Key, version: Version, other: Key, wanted: Version) -> bool:
    """Two objects have generated names with the same prefix."""
    prefix = content_of(version)["metadata"].get("generateName")
    return bool(
        prefix and one.namespace == other.namespace and content_of(wanted)["metadata"].get("generateName") == prefix
    )


def _is_referred_to(state: _Objects, key: Key) -> bool:
    """Another object of a state has the name of an object in a field."""
    name = orjson.dumps(key.name)
    return any(name in version.body for objects in state.values() for other, version in objects.items() if other != key)


def _distance(one: Version, other: Version) -> int:
    """The number of fields in which two objects differ."""
    return len(changed_paths(content_of(one), content_of(other)))


def _renamed(pairs: list[_Pair]) -> dict[bytes, bytes]:
    """The made-up names of the first state, and those of the objects that stand for them in the second one."""
    names: dict[bytes, bytes] = {}
    for _, one, other in pairs:
        if one is None or other is None:
            continue
        mine, theirs = (content_of(version)["metadata"] for version in (one, other))
        if mine.get("generateName") and mine["name"] != theirs["name"]:
            names[orjson.dumps(mine["name"])] = orjson.dumps(theirs["name"])
    return names


def _uid(version: Version) -> str:
    return str(content_of(version)["metadata"].get("uid", ""))


class _Names:
    """Names for the uids and uuids of one state."""

    def __init__(self, objects: dict[str, str], renamed: dict[bytes, bytes] | None = None) -> None:
        self._renamed = renamed or {}
        self._names = {uid: f"<uid of {name}>" for uid, name in objects.items() if uid}
        self._others: dict[str, str] = {}

    def shown(self, version: Version) -> dict[str, Any]:
        body = VERSIONS.sub(b"<resourceVersion>", relative_body(version.body))
        if self._renamed:
            # All at once: two objects may have each other's names.
            names = re.compile(b"|".join(map(re.escape, self._renamed)))
            body = names.sub(lambda match: self._renamed[match[0]], body)
        obj: dict[str, Any] = orjson.loads(DERIVED_UUIDS.sub(self._name, IDENTITIES.sub(self._name, body)))
        metadata = obj["metadata"]
        for name in ("creationTimestamp", "uid") + (("name",) if metadata.get("generateName") else ()):
            metadata.pop(name, None)
        return obj

    def _name(self, match: re.Match[bytes]) -> bytes:
        identity = match[0].decode()
        name = self._names.get(identity)
        if name is None:
            name = self._others.setdefault(identity, f"<uuid {len(self._others) + 1}>")
        return name.encode()


def _outline(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what every object has."""
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in ("creationTimestamp", "generation", "uid", "name", "namespace")
    }
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**({"metadata": metadata} if metadata else {}), **rest}
