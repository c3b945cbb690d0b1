"""Lost updates: a write that undoes what its writer had never read.

A writer reads an object, somebody else changes it, the writer writes. If that write changes a field again that was
changed in between, somebody's work is gone, and nobody was told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from kontend.cluster.state import Change, State
from kontend.explore.world import Flight

_ABSENT = object()
_IGNORED = (("metadata", "resourceVersion"), ("metadata", "managedFields"), ("metadata", "generation"))


def lost_update(before: State, flight: Flight, change: Change) -> str:
    """What a write took away that its writer had not read, as a path; empty when nothing was lost."""
    if change.old is None or change.new is None:
        return ""
    read = [met[2] for met in flight.met if met[0] == change.resource and met[1] == change.key]
    if not read:
        return ""
    base = max(read)
    if base == change.old.resource_version:
        return ""
    old = next(
        (
            each.old if each.old is not None and each.old.resource_version == base else each.new
            for each in before.changes_since(base - 1)
            if each.resource == change.resource and each.key == change.key
        ),
        None,
    )
    if old is None:
        return ""
    return _overwritten(old.body, change.old.body, change.new.body)


@lru_cache(maxsize=10_000)
def _overwritten(read: bytes, old: bytes, new: bytes) -> str:
    """The first path that differs from what was read to what was there, and from that to what was written."""
    there = orjson.loads(old)
    theirs = dict(_differences(orjson.loads(read), there))
    ours = dict(_differences(there, orjson.loads(new)))
    for path in sorted(ours):
        for other in theirs:
            if path[: len(other)] == other or other[: len(path)] == path:
                return "." + ".".join(path)
    return ""


def _differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The paths at which two objects differ; lists count as a whole."""
    if old == new or path in _IGNORED:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}):
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), (*path, name))
        return
    yield path, new
