"""A state as plain rows and back, for the disk and for snapshots.

There is one row for each version of an object, numbered by its resourceVersion, as in etcd: what was stored (nothing
for a deletion) and which version it replaced. The rows up to ``floor`` are the objects as they were where history
begins; those after it are the history. Reading them in order makes the same state again: versions, uids, times, and
everything that a watch could still ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from rpds import HashTrieMap

from kontend.cluster.hooks import Hooks
from kontend.cluster.registration.definitions import registry_of
from kontend.cluster.resources import Registry
from kontend.cluster.settings import Settings
from kontend.cluster.state import Change, Objects, State, Version
from kontend.kube.apply import managed_fields
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.meta.names import Key


class Row(NamedTuple):
    """One version of one object."""

    resource_version: int
    resource: str
    namespace: str
    name: str
    #: Canonical JSON without resourceVersion and managedFields; None when this version is a deletion.
    body: bytes | None
    managed: bytes
    #: The version before this one, 0 when there was none.
    replaced: int


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of a state."""

    resource_version: int
    serial: int
    now: int
    floor: int

    @classmethod
    def of(cls, state: State) -> Counters:
        """Return the counters of a state."""
        return cls(state.resource_version, state.serial, state.now, state.floor)


def rows_since(state: State, resource_version: int) -> list[Row]:
    """Return the rows of all changes after a version, which must be within the history."""
    return [_row_of_change(change) for change in state.changes_since(resource_version)]


def all_rows(state: State) -> Iterator[Row]:
    """All rows of a state in the order of their versions."""
    history = state.changes_since(state.floor)
    base: dict[tuple[str, Key], Version] = {
        (resource, key): version for resource, objects in state.kinds.items() for key, version in objects.items()
    }
    for change in reversed(history):
        place = (change.resource, change.key)
        if change.old is None:
            base.pop(place, None)
        else:
            base[place] = change.old
    for (resource, key), version in sorted(base.items(), key=lambda item: item[1].resource_version):
        yield _row(version.resource_version, resource, key, version, None)
    for change in history:
        yield _row_of_change(change)


def _row_of_change(change: Change) -> Row:
    return _row(change.resource_version, change.resource, change.key, change.new, change.old)


def _row(resource_version: int, resource: str, key: Key, new: Version | None, old: Version | None) -> Row:
    body, managed = (None, b"") if new is None else (new.body, managed_fields.encode_json(new.managed))
    replaced = 0 if old is None else old.resource_version
    return Row(resource_version, resource, key.namespace, key.name, body, managed, replaced)


def rebuild(rows: Iterable[Row], counters: Counters) -> State:
    """Return the state that the rows (in the order of their versions) and counters were taken from."""
    kinds: dict[str, Objects] = {}
    decoded: dict[bytes, ManagedFields] = {b"": ()}
    newest: Change | None = None
    length = replaced = 0
    for row in rows:
        if row.managed not in decoded:
            decoded[row.managed] = managed_fields.decode(orjson.loads(row.managed))
        key = Key(row.namespace, row.name)
        objects = kinds.get(row.resource, HashTrieMap())
        old = objects.get(key)
        new = None if row.body is None else Version(row.body, decoded[row.managed], row.resource_version)
        kinds[row.resource] = objects.discard(key) if new is None else objects.insert(key, new)
        if row.resource_version > counters.floor:
            newest = Change(row.resource, key, old, new, row.resource_version, newest)
            length += 1
            replaced += 0 if old is None else len(old.body)
    state = State(
        kinds=HashTrieMap(kinds),
        registry=Registry(),
        hooks=Hooks(),
        settings=Settings(),
        resource_version=counters.resource_version,
        serial=counters.serial,
        now=counters.now,
        newest=newest,
        stretch=length,
        stretch_bytes=replaced,
        floor=counters.floor,
    )
    return state.replace(registry=registry_of(state))
