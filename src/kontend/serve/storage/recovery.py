"""Recovers what can be read from a damaged data directory.

The records that verify are kept, the newest of each object; the others are left out and named. History is dropped, so
that clients list again. The damaged files are moved aside, never deleted, and the directory is written anew.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kontend.cluster.state import State
from kontend.serve.storage.integrity import Head, row_checksum
from kontend.serve.storage.record import Counters, Row, rebuild
from kontend.serve.storage.store import Damaged, Store, StoreError, describe

_FILES: Final = ("kontend.db", "kontend.db-wal", "kontend.db-shm", "kontend.head")
#: Numbers that the counters skip where they cannot be read, so that no version and no uid is handed out twice.
_MARGIN: Final = 1_000_000
_UID: Final = re.compile(rb'"uid":"([0-9a-f]{8,})-0000-4000-8000-')


@dataclass(frozen=True, slots=True)
class Recovered:
    """An open store that loads, and what was left out of it."""

    store: Store
    state: State | None
    report: list[str]


def recover(directory: Path) -> Recovered:
    """Open a data directory; where it is damaged, keeps what can be read."""
    store: Store | None = None
    try:
        store = Store(directory)
        return Recovered(store, store.load(), [])
    except Damaged as error:
        problem = str(error).partition(". Restore")[0]
        if store is not None:
            store.close()
    rows, left_out = _readable(directory / "kontend.db")
    state = _state_of(rows, _head_version(directory))
    aside = _move_aside(directory)
    store = Store(directory)
    store.save(None, state)
    report = [problem, f"kept {len(list(_newest(rows)))} objects; the damaged files are in {aside}"]
    report += [f"left out: {record}" for record in left_out]
    return Recovered(store, store.load(), report)


def _readable(path: Path) -> tuple[list[Row], list[str]]:
    """Return the rows that verify, in order, and the names of those that do not."""
    rows: dict[int, Row] = {}
    bad: dict[str, None] = {}
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    except sqlite3.Error as error:
        return [], [f"everything: {error}"]
    # From both ends: a page that cannot be read hides only what is on it.
    for order in ("ASC", "DESC"):
        try:
            for *columns, checksum in connection.execute(f"SELECT * FROM versions ORDER BY resource_version {order}"):
                row = Row._make(columns)
                if isinstance(row.resource_version, int) and _verifies(row, checksum):
                    rows[row.resource_version] = row
                else:
                    bad[describe(row)] = None
        except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
            bad[f"records that cannot be read ({error})"] = None
    connection.close()
    return [rows[version] for version in sorted(rows)], list(bad)


def _verifies(row: Row, checksum: object) -> bool:
    try:
        return row_checksum(row) == checksum
    except (TypeError, UnicodeError):
        return False


def _newest(rows: list[Row]) -> Iterator[Row]:
    """Return the newest row of each object, without those that say it was deleted."""
    newest = {(row.resource, row.namespace, row.name): row for row in rows}
    return (row for row in sorted(newest.values()) if row.body is not None)


def _state_of(rows: list[Row], head: int) -> State:
    last = max(head, rows[-1].resource_version if rows else 0) + _MARGIN
    kept = [row._replace(replaced=0) for row in _newest(rows)]
    # Uids are made of the serial number, of which a write takes three at most.
    serials = [int(uid[1], 16) for row in kept if (uid := _UID.search(row.body or b"")) is not None]
    serial = max([3 * last, *serials]) + _MARGIN
    return rebuild(kept, Counters(resource_version=last, serial=serial, now=0, floor=last))


def _head_version(directory: Path) -> int:
    head = Head(directory / "kontend.head")
    try:
        return head.read() or 0
    finally:
        head.close()


def _move_aside(directory: Path) -> Path:
    for number in range(1, 1000):
        aside = directory / f"damaged-{number}"
        if not aside.exists():
            aside.mkdir(mode=0o700)
            for name in _FILES:
                path = directory / name
                if path.exists():
                    path.rename(aside / name)
            return aside
    raise StoreError(f"{directory}: holds a thousand damaged copies; move them away")
