"""A state on disk: every write that was acknowledged is there after a crash, and nothing else.

SQLite with a write-ahead log and a full sync for each transaction. :meth:`Store.save` writes all changes between two
states in one transaction, so that many writes share one sync; :class:`~kontend.serve.storage.committing.Commits`
decides when. A torn last transaction is rolled back by SQLite. The database is locked while it is open: two servers
cannot share it. Loading verifies every record (:mod:`~kontend.serve.storage.integrity`): a damaged one is named, and
nothing is served from the directory until it is repaired or recovered (:mod:`~kontend.serve.storage.recovery`).

A small file is kept in reserve. It is given up when the disk is full, so that objects can still be deleted.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kontend.cluster.state import State
from kontend.serve.storage.integrity import MODULUS, Head, counters_checksum, row_checksum
from kontend.serve.storage.record import Counters, Row, all_rows, rebuild, rows_since

_FORMAT: Final = 2
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS versions (
    resource_version INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB,
    managed BLOB NOT NULL,
    replaced INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
_INSERT: Final = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_RESERVE: Final = 4 << 20
_Tally = tuple[int, int]
#: Errors of SQLite that are not about what the database holds.
_NOT_DAMAGE: Final = ("unable to open", "readonly", "full", "disk I/O error")


class StoreError(Exception):
    """A data directory that cannot be used; the message says why and what to do."""


class Damaged(StoreError):
    """A data directory with records that are not what was written."""


class Store:
    """The database in a data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "kontend.db"
        self._reserve = directory / "kontend.reserve"
        #: The number of records, and the sum of their checksums.
        self._tally = (0, 0)
        try:
            _make_private(directory, self.path)
            self._head = Head(directory / "kontend.head")
            if self._head.is_empty:
                self._begin()
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
        except (OSError, sqlite3.Error) as error:
            raise self._explained(error) from error
        try:
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise self._explained(error) from error
        #: There was as much room as the reserve takes up when the directory was opened, as far as that can be known.
        self.has_reserve = self.take_reserve() or self._make_room() or not hasattr(os, "posix_fallocate")

    def _make_room(self) -> bool:
        """Move the log into the database, which frees the log's room, and returns whether the reserve fits then."""
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return self.take_reserve()

    def _begin(self) -> None:
        """Begin a new directory. Raise :class:`Damaged` for a database whose head file is missing or empty.

        A copy of the database alone lacks the newest transactions, which are in the log, and SQLite does not mind.
        """
        if self.path.exists() and self.path.stat().st_size:
            self._head.close()
            self._head.path.unlink()
            raise self._damaged(f"{self._head.path.name} is missing or empty, so newer records may be missing too")
        self._head.begin()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        version = self._counters().get("format", _FORMAT)
        if version != _FORMAT:
            raise StoreError(
                f"{self.path}: written by another version of kontend (format {version}, expected {_FORMAT}); "
                "move it away to start empty"
            )

    def _explained(self, error: Exception) -> StoreError:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return StoreError(f"{self.directory}: in use by another server; stop it, or choose another --data")
        if isinstance(error, sqlite3.DatabaseError) and not any(text in str(error) for text in _NOT_DAMAGE):
            return self._damaged(str(error))
        return StoreError(f"{self.directory}: cannot be used for data: {error}")

    def _damaged(self, problem: str) -> Damaged:
        return Damaged(
            f"{self.path}: damaged: {problem}. Restore the directory from a copy, or start with --recover, which keeps "
            "what can be read and says what it leaves out"
        )

    def _counters(self) -> dict[str, Any]:
        return dict(self._db.execute("SELECT name, value FROM counters"))

    # Reading

    def load(self) -> State | None:
        """Return the state that was saved last, or None when the directory is new. Raises :class:`Damaged`."""
        try:
            values = self._counters()
            head = self._head.read()
            if head is None:
                raise self._damaged(f"{self._head.path.name} cannot be read")
            if not values:
                if head or self._db.execute("SELECT count(*) FROM versions").fetchone()[0]:
                    raise self._damaged(f"it is empty, but version {head} was written: is the log missing?")
                return None
            counters = self._verified(values)
            if counters.resource_version < head:
                raise self._damaged(
                    f"it ends at version {counters.resource_version}, but version {head} was written: the log "
                    f"({self.path.name}-wal) is missing or damaged"
                )
            self._tally = (values["rows"], values["sum"])
            return rebuild(self._verified_rows(), counters)
        except (sqlite3.Error, ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def _verified(self, values: dict[str, Any]) -> Counters:
        checksum = values.pop("checksum", None)
        if checksum != counters_checksum(values.items()):
            raise self._damaged("the counters are not what was written")
        return Counters(**{name: values[name] for name in Counters.__dataclass_fields__})

    def _verified_rows(self) -> Iterable[Row]:
        seen = total = 0
        for *columns, checksum in self._db.execute("SELECT * FROM versions ORDER BY resource_version"):
            row = Row._make(columns)
            if row_checksum(row) != checksum:
                raise self._damaged(f"{describe(row)} is not what was written")
            seen += 1
            total = (total + checksum) % MODULUS
            yield row
        if (seen, total) != self._tally:
            raise self._damaged(f"it holds {seen} records, but {self._tally[0]} were written")

    # Writing

    def save(self, before: State | None, after: State) -> None:
        """Write what has changed between two states (or all of it), durably and completely or not at all."""
        tally = self._tally
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if before is None or before.resource_version < after.floor:
                self._db.execute("DELETE FROM versions")
                tally = self._insert(all_rows(after), (0, 0))
            else:
                tally = self._insert(rows_since(after, before.resource_version), tally)
                if after.floor > before.floor:
                    tally = self._forget(before.floor, after.floor, tally)
            counters = {"format": _FORMAT, "rows": tally[0], "sum": tally[1], **asdict(Counters.of(after))}
            counters["checksum"] = counters_checksum(counters.items())
            self._db.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?)", counters.items())
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._tally = tally
        self._head.write(after.resource_version)

    def _insert(self, rows: Iterable[Row], tally: _Tally) -> _Tally:
        records = [(*row, row_checksum(row)) for row in rows]
        self._db.executemany(_INSERT, records)
        return tally[0] + len(records), (tally[1] + sum(record[-1] for record in records)) % MODULUS

    def _forget(self, old_floor: int, new_floor: int, tally: _Tally) -> _Tally:
        """Drop what only history before ``new_floor`` needed: replaced versions, and deletions."""
        passed = (old_floor, new_floor)
        for condition in (
            "resource_version IN (SELECT replaced FROM versions WHERE resource_version > ? AND resource_version <= ?)",
            "body IS NULL AND resource_version > ? AND resource_version <= ?",
        ):
            dropped = self._db.execute(f"SELECT checksum FROM versions WHERE {condition}", passed).fetchall()
            tally = tally[0] - len(dropped), (tally[1] - sum(checksum for (checksum,) in dropped)) % MODULUS
            self._db.execute(f"DELETE FROM versions WHERE {condition}", passed)
        return tally

    # The reserve

    def take_reserve(self) -> bool:
        """Set some room on the disk aside, and return whether there was as much."""
        try:
            descriptor = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, _RESERVE)
            finally:
                os.close(descriptor)
        except (OSError, AttributeError):
            self.release_reserve()
            return False
        return True

    def release_reserve(self) -> None:
        """Give the room up."""
        with contextlib.suppress(OSError):
            self._reserve.unlink()

    def count(self) -> int:
        """Return how many versions are kept."""
        rows: int = self._db.execute("SELECT count(*) FROM versions").fetchone()[0]
        return rows

    def close(self) -> None:
        """Lets go of the directory."""
        self._db.close()
        self._head.close()
        self.release_reserve()


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether a write failed for lack of room."""
    return isinstance(error, sqlite3.OperationalError) and "full" in str(error)


def describe(row: Row) -> str:
    """Names the record of a row, as far as it can be read."""
    place = "/".join(str(part) for part in (row.namespace, row.name) if part)
    return f"version {row.resource_version} ({row.resource} {place})"


def _make_private(directory: Path, database: Path) -> None:
    """Make the directory and the database readable for their owner only: there are Secrets in it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_uid == os.getuid():
        directory.chmod(0o700)
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for suffix in ("", "-wal", "-shm"):
        path = database.with_name(database.name + suffix)
        if path.exists():
            path.chmod(0o600)
