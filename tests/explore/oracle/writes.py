"""The four built-in properties of one write by a reconcile, from their definitions in the documentation.

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
  not the generation of any version that it has read, and that was not there in the base or in ``old``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

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
    before: State, after: State, call: Call, met: Iterable[Met], answer: Mapping[str, Any], own: str
) -> set[str]:
    """The names of the properties that the write of a call violates; ``own`` is the writer's manager, if its alone."""
    wrong: set[str] = set()
    changes: dict[tuple[str, Key], tuple[Version | None, Version | None]] = {}
    for change in after.changes_since(before.resource_version):
        where = (change.resource, change.key)
        first = changes[where][0] if where in changes else change.old
        changes[where] = (first, change.new)
    for (resource, key), (old, new) in changes.items():
        if old is not None:
            reads = [_version(before, each) for each in met if each[:2] == (resource, key)]
            there = {**old.content(), "managed": _managed(old)}
            wrong |= _wrong(there, new, [read for read in reads if read is not None], call, answer, own)
    return wrong


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
    deletes = call.verb in ("delete", "deletecollection") or call.subresource == "eviction"
    if deletes:
        return set()
    # The last finalizer of a deleted object was taken away: what was written is in the answer only.
    written = new.content() if new is not None else dict(answer)
    wrong: set[str] = set()
    base = max(same, key=lambda each: int(each["version"]), default=None)
    if base is not None:
        compare = _Compare(own, base["managed"], old["managed"], wrong)
        for field in {*base, *old, *written} - {"version", "managed", "metadata", "kind", "apiVersion"}:
            before, there, after = (each.get(field, _MISSING) for each in (base, old, written))
            compare.fields(before, there, after, (f"f:{field}",))
        parts = [
            {name: value for name, value in each["metadata"].items() if name not in _NOT_COMPARED}
            for each in (base, old, written)
        ]
        compare.fields(parts[0], parts[1], parts[2], ("f:metadata",))
    if "generation" in old["metadata"]:
        known = {each["metadata"].get("generation") for each in same}
        there = [_claims(old), _claims(base) if base is not None else {}]
        for path, claim in _claims(written).items():
            if all(each.get(path) != claim for each in there) and claim not in known:
                wrong.add("observed generation")
    return wrong


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
        values = [each for each in (base, old, new) if each is not _MISSING]
        if all(isinstance(value, dict) for value in values):
            for name in {name for value in values for name in value}:
                before, there, after = (
                    _MISSING if each is _MISSING else each.get(name, _MISSING) for each in (base, old, new)
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
    elements = [element for each in lists if each is not _MISSING for element in each]
    if all(not isinstance(element, (dict, list)) for element in elements):
        return "", [
            {json.dumps(element): element for element in each} if each is not _MISSING else {} for each in lists
        ]
    for key in _MERGE_KEYS:
        if all(isinstance(element, dict) and key in element for element in elements):
            return key, [{element[key]: element for element in each} if each is not _MISSING else {} for each in lists]
    return None
