"""The five built-in properties of one write by a reconcile, from their definitions in the documentation.

The reconcile has *read* the versions of an object that it was shown since it began: by its cache, by the server, or in
the answer to a write of its own. Its *base* is the newest of them. ``old`` is what the write replaced, ``new`` what it
stored.

- *wrong object*: it has read objects of that name, and ``old`` is none of them (by uid).
- *vanished element*: an element of a list that is in ``old``, and neither in the base nor in ``new``.
- *lost update*: a field that differs between base and ``old`` and again between ``old`` and ``new``.
  Neither counts where nobody but the writer's controller owns the field: by the managed fields of ``old`` or, for a
  field that ``old`` does not have, of the base; unless the lost value has a uuid in it, or another process may write in
  the same name: one of several instances, or the successor of one whose write is late.
- *observed generation*: ``observedGeneration``, in the status or in one of its conditions, was set to a number that is
  not the generation of any version that it has read, and that was not there in such a version or in ``old``. Where it
  has written another object, and asked for none but this one since, versions that it has read only since then do not
  count, unless it has read no others.
- *wrong owner*: a delete of an object whose controlling owner is there, where it has read objects of the owner's name
  and none of them is the owner (by uid).

Only the object that the call names is judged, or all of its kind for a call that names none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from explore.oracle.model import InFlight
from kontend.cluster.state import State, Version
from kontend.kube.apply.managed_fields import encode_json
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

Met = tuple[str, Key, int]

_MISSING: Final = object()
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: The server's own fields.
_NOT_COMPARED: Final = (
    "resourceVersion", "managedFields", "generation", "uid", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip
_MERGE_KEYS: Final = (
    "uid",
    "type",
    "name",
    "key",
    "containerPort",
    "port",
    "ip",
    "topologyKey",
    "mountPath",
    "devicePath",
)


def wrong_writes(
    before: State,
    after: State,
    call: Call,
    resource: str,
    in_flight: InFlight,
    answer: Mapping[str, Any],
    own: str,
) -> set[str]:
    """The names of the properties that the write of a call violates; ``own`` is the writer's manager, if its alone."""
    wrong: set[str] = set()
    changes: dict[Key, tuple[Version | None, Version | None]] = {}
    for change in after.changes_since(before.resource_version):
        if change.resource == resource and call.name in ("", change.key.name):
            first = changes[change.key][0] if change.key in changes else change.old
            changes[change.key] = (first, change.new)
    for key, (old, new) in changes.items():
        if old is not None:
            there = {**old.content(), "managed": _managed(old)}
            of_it = [(number, met) for number, met in enumerate(in_flight.met) if met[:2] == (resource, key)]
            reads = [(number, read) for number, met in of_it if (read := _version(before, met)) is not None]
            found = _wrong(there, new, [read for _, read in reads], call, answer, own)
            if "wrong object" not in found:
                found |= _wrong_claims(there, new, reads, call, in_flight)
                found |= _wrong_owner(before, there, call, in_flight.met)
            wrong |= found
    return wrong


def _deletes(call: Call) -> bool:
    return call.verb in ("delete", "deletecollection") or call.subresource == "eviction"


def _before_work(call: Call, in_flight: InFlight) -> int | None:
    """The number of versions read before it last wrote another object; None if it has not, or asked for one since."""
    for made, many in reversed(in_flight.made):
        if (made.kind, made.key) != (call.kind, call.key):
            return many if made.writes else None
    return None


def _wrong_owner(before: State, old: dict[str, Any], call: Call, met: Iterable[Met]) -> set[str]:
    if call.verb not in ("delete", "deletecollection"):
        return set()
    for reference in old["metadata"].get("ownerReferences") or ():
        namesakes = {
            (resource, key)
            for resource, key, _ in met
            if key.name == reference["name"] and key.namespace in ("", old["metadata"].get("namespace", ""))
        }
        for resource, key in namesakes if reference.get("controller") else ():
            owner = before.find(resource, key)
            read = [_version(before, version) for version in met if version[:2] == (resource, key)]
            uids = {version["metadata"]["uid"] for version in read if version is not None}
            alive = owner is not None and owner.content()["metadata"]["uid"] == reference["uid"]
            if alive and uids and reference["uid"] not in uids:
                return {"wrong owner"}
    return set()


def _version(state: State, met: Met) -> dict[str, Any] | None:
    """The object at a version that was read."""
    resource, key, number = met
    current = state.find(resource, key)
    for version in (current, *(change.new for change in state.changes_of(resource, key))):
        if version is not None and version.resource_version == number:
            return {**version.content(), "version": number, "managed": _managed(version)}
    for change in state.changes_of(resource, key):
        if change.old is not None and change.old.resource_version == number:
            return {**change.old.content(), "version": number, "managed": _managed(change.old)}
    return None


def _managed(version: Version) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(encode_json(version.managed)) if version.managed else []
    return entries


def _wrong(
    old: dict[str, Any],
    new: Version | None,
    reads: list[dict[str, Any]],
    call: Call,
    answer: Mapping[str, Any],
    own: str,
) -> set[str]:
    same = [read for read in reads if read["metadata"]["uid"] == old["metadata"]["uid"]]
    if reads and not same:
        return {"wrong object"}
    if _deletes(call):
        return set()
    # The last finalizer of a deleted object was taken away: what was written is in the answer only.
    written = new.content() if new is not None else dict(answer)
    wrong: set[str] = set()
    base = max(same, key=lambda read: int(read["version"]), default=None)
    if base is not None:
        compare = _Compare(own, base["managed"], old["managed"], wrong)
        for field in {*base, *old, *written} - {"version", "managed", "metadata", "kind", "apiVersion"}:
            before, there, after = (obj.get(field, _MISSING) for obj in (base, old, written))
            compare.fields(before, there, after, (f"f:{field}",))
        parts = [
            {name: value for name, value in part["metadata"].items() if name not in _NOT_COMPARED}
            for part in (base, old, written)
        ]
        compare.fields(parts[0], parts[1], parts[2], ("f:metadata",))
    return wrong


def _wrong_claims(
    old: dict[str, Any], new: Version | None, reads: list[tuple[int, dict[str, Any]]], call: Call, in_flight: InFlight
) -> set[str]:
    """A generation is called observed that was not read before the work that the stamp stands for."""
    if new is None or "generation" not in old["metadata"]:
        return set()
    same = [(number, read) for number, read in reads if read["metadata"]["uid"] == old["metadata"]["uid"]]
    many = _before_work(call, in_flight)
    early = {read["version"] for number, read in same if many is not None and number < many}
    counted = [read for _, read in same if not early or read["version"] in early]
    known = {stamped["metadata"].get("generation") for stamped in counted}
    there = [_claims(old), *map(_claims, counted)]
    for path, claim in _claims(new.content()).items():
        if all(condition.get(path) != claim for condition in there) and claim not in known:
            return {"observed generation"}
    return set()


def _claims(obj: Mapping[str, Any]) -> dict[str, int]:
    """The generations that an object says were observed, by place."""
    status = obj.get("status")
    if not isinstance(status, Mapping):
        return {}
    places = {"": status}
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping):
            places[str(condition.get("type"))] = condition
    claims = {place: holder.get("observedGeneration") for place, holder in places.items()}
    return {
        place: claim
        for place, claim in claims.items()
        if isinstance(claim, int) and not isinstance(claim, bool) and claim > 0
    }


class _Compare:
    """Three versions of an object, compared field by field."""

    def __init__(self, own: str, base: list[dict[str, Any]], old: list[dict[str, Any]], wrong: set[str]) -> None:
        self.own = own
        self.base = base
        self.old = old
        self.wrong = wrong

    def fields(self, base: Any, old: Any, new: Any, path: tuple[str, ...]) -> None:
        """Compare a field; ``path`` has the names that managed fields use."""
        if base == old or old == new:
            return
        values = [value for value in (base, old, new) if value is not _MISSING]
        if all(isinstance(value, dict) for value in values):
            for name in {name for value in values for name in value}:
                before, there, after = (
                    _MISSING if value is _MISSING else value.get(name, _MISSING) for value in (base, old, new)
                )
                self.fields(before, there, after, (*path, f"f:{name}"))
        elif all(isinstance(value, list) for value in values) and (named := _tables(base, old, new)) is not None:
            key, tables = named
            for name in {name for table in tables for name in table}:
                before, there, after = (table.get(name, _MISSING) for table in tables)
                element = (*path, f"k:{json.dumps({key: name})}" if key else f"v:{name}")
                if before is _MISSING and there is not _MISSING and after is _MISSING:
                    self._lost("vanished element", there, element)
                else:
                    self.fields(before, there, after, element)
        else:
            self._lost("lost update", old, path)

    def _lost(self, name: str, value: Any, path: tuple[str, ...]) -> None:
        owners = _owners(self.base if value is _MISSING else self.old, path)
        identity = value is not _MISSING and re.search(_UUID, json.dumps(value))
        if not self.own or identity or owners != {self.own}:
            self.wrong.add(name)


def _owners(managed: list[dict[str, Any]], path: tuple[str, ...]) -> set[str]:
    """The managers that own a field: itself, or the innermost thing around it that is owned as a whole."""
    depths: dict[int, set[str]] = {}
    for entry in managed:
        tree, depth = entry["fieldsV1"], 0
        for name in path:
            below = next((sub for known, sub in tree.items() if _same_name(known, name)), None)
            if below is None:
                depth = depth if not tree else 0
                break
            tree, depth = below, depth + 1
        depths.setdefault(depth, set()).add(entry["manager"])
    deepest = max(depths, default=0)
    return depths[deepest] if deepest else set()


def _same_name(known: str, name: str) -> bool:
    if known[:2] in ("k:", "v:") and known[:2] == name[:2]:
        one, two = json.loads(known[2:]), json.loads(name[2:])
        return bool(one == two or (isinstance(one, dict) and isinstance(two, dict) and two.items() <= one.items()))
    return known == name


def _tables(*lists: Any) -> tuple[str, list[dict[Any, Any]]] | None:
    """Lists as tables from the names of their elements to the elements, and the key; None where they have no names."""
    elements = [element for items in lists if items is not _MISSING for element in items]
    if all(not isinstance(element, (dict, list)) for element in elements):
        return "", [
            {json.dumps(element): element for element in items} if items is not _MISSING else {} for items in lists
        ]
    for key in _MERGE_KEYS:
        if all(isinstance(element, dict) and key in element for element in elements):
            return key, [
                {element[key]: element for element in items} if items is not _MISSING else {} for items in lists
            ]
    return None
