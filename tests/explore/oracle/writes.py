"""The four built-in properties of one write by a reconcile, from their definitions in the documentation.

The reconcile has *read* the versions of an object that it was shown since it began: by its cache, by the server, or in
the answer to a write of its own. Its *base* is the newest of them. ``old`` is what the write replaced, ``new`` what it
stored.

- *wrong object*: it has read objects of that name, and ``old`` is none of them (by uid).
- *vanished element*: an element of a list that is in ``old``, and neither in the base nor in ``new``.
- *lost update*: a field that differs between base and ``old`` and again between ``old`` and ``new``.
- *observed generation*: ``observedGeneration``, in the status or in one of its conditions, was set to a number that is
  not the generation of any version that it has read, and that was not there in the base or in ``old``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.cluster.state import State, Version
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

Met = tuple[str, Key, int]

_MISSING: Final = object()
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


def wrong_writes(before: State, after: State, call: Call, met: Iterable[Met], answer: Mapping[str, Any]) -> set[str]:
    """The names of the properties that the write of a call violates."""
    wrong: set[str] = set()
    changes: dict[tuple[str, Key], tuple[Version | None, Version | None]] = {}
    for change in after.changes_since(before.resource_version):
        where = (change.resource, change.key)
        first = changes[where][0] if where in changes else change.old
        changes[where] = (first, change.new)
    for (resource, key), (old, new) in changes.items():
        if old is not None:
            reads = [_version(before, each) for each in met if each[:2] == (resource, key)]
            wrong |= _wrong(old.content(), new, [each for each in reads if each is not None], call, answer)
    return wrong


def _version(state: State, met: Met) -> dict[str, Any] | None:
    """The object at a version that was read."""
    resource, key, number = met
    current = state.find(resource, key)
    for version in (current, *(change.new for change in state.changes_of(resource, key))):
        if version is not None and version.resource_version == number:
            return {**version.content(), "version": number}
    for change in state.changes_of(resource, key):
        if change.old is not None and change.old.resource_version == number:
            return {**change.old.content(), "version": number}
    return None


def _wrong(
    old: dict[str, Any], new: Version | None, reads: list[dict[str, Any]], call: Call, answer: Mapping[str, Any]
) -> set[str]:
    same = [each for each in reads if each["metadata"]["uid"] == old["metadata"]["uid"]]
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
        for field in {*base, *old, *written} - {"version", "metadata", "kind", "apiVersion"}:
            _compare(base.get(field, _MISSING), old.get(field, _MISSING), written.get(field, _MISSING), wrong)
        parts = [
            {name: value for name, value in each["metadata"].items() if name not in _NOT_COMPARED}
            for each in (base, old, written)
        ]
        _compare(parts[0], parts[1], parts[2], wrong)
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


def _compare(base: Any, old: Any, new: Any, wrong: set[str]) -> None:
    if base == old or old == new:
        return
    values = [each for each in (base, old, new) if each is not _MISSING]
    if all(isinstance(each, dict) for each in values):
        names = {name for each in values for name in each}
        for name in names:
            before, there, after = (
                _MISSING if each is _MISSING else each.get(name, _MISSING) for each in (base, old, new)
            )
            _compare(before, there, after, wrong)
    elif all(isinstance(each, list) for each in values) and (tables := _tables(base, old, new)) is not None:
        for name in {name for table in tables for name in table}:
            before, there, after = (table.get(name, _MISSING) for table in tables)
            if before is _MISSING and there is not _MISSING and after is _MISSING:
                wrong.add("vanished element")
            else:
                _compare(before, there, after, wrong)
    else:
        wrong.add("lost update")


def _tables(*lists: Any) -> list[dict[Any, Any]] | None:
    """Lists as tables from the names of their elements to the elements; None where they have no names."""
    elements = [element for each in lists if each is not _MISSING for element in each]
    if all(not isinstance(element, (dict, list)) for element in elements):
        return [{repr(element): element for element in each} if each is not _MISSING else {} for each in lists]
    for key in _MERGE_KEYS:
        if all(isinstance(element, dict) and key in element for element in elements):
            return [{element[key]: element for element in each} if each is not _MISSING else {} for each in lists]
    return None
