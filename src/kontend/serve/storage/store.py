"""A state on disk: every write that was acknowledged is there after a crash, and nothing else.

SQLite with a write-ahead log and a full sync for each transaction. :meth:`Store.save` writes all changes between two
states in one transaction, so that many writes share one sync; :class:`~kontend.serve.storage.committing.Commits`
decides when. A torn last transaction is rolled back by SQLite. The database is locked while it is open: two servers
cannot share it.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Final

from kontend.cluster.state import State
from kontend.serve.storage.record import Counters, Row, all_rows, rebuild, rows_since

_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS versions (
    resource_version INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB,
    managed BLOB NOT NULL,
    replaced INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
_INSERT: Final = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)"


class StoreError(Exception):
    """A data directory that cannot be used; the message says why and what to do."""


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


class Store:
    """The database in a data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "kontend.db"
        try:
            _make_private(directory, self.path)
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(self._explain(error)) from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        found = self._counters().get("format", _FORMAT)
        if found != _FORMAT:
            raise StoreError(f"{self.path}: written by another version of kontend (format {found}, expected {_FORMAT})")

    def _explain(self, error: Exception) -> str:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return f"{self.directory}: in use by another server; stop it, or choose another --data directory"
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            return f"{self.path}: damaged ({error}); restore it from a copy, or move it away to start empty"
        return f"{self.directory}: cannot be used for data: {error}"

    def _counters(self) -> dict[str, int]:
        return dict(self._db.execute("SELECT name, value FROM counters"))

    def load(self) -> State | None:
        """The state that was saved last, or None when the directory is new."""
        try:
            values = self._counters()
            if not values:
                return None
            values.pop("format")
            rows = self._db.execute("SELECT * FROM versions ORDER BY resource_version")
            return rebuild(map(Row._make, rows), Counters(**values))
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            raise StoreError(
                f"{self.path}: damaged ({error}); restore it from a copy, or move it away to start empty"
            ) from error

    def save(self, before: State | None, after: State) -> None:
        """Write what has changed between two states (or all of it), durably and completely or not at all."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if before is None or before.resource_version < after.floor:
                self._db.execute("DELETE FROM versions")
                self._db.executemany(_INSERT, all_rows(after))
            else:
                self._db.executemany(_INSERT, rows_since(after, before.resource_version))
                if after.floor > before.floor:
                    self._forget(before.floor, after.floor)
            counters = {"format": _FORMAT, **asdict(Counters.of(after))}
            self._db.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?)", counters.items())
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _forget(self, old_floor: int, new_floor: int) -> None:
        """Drop what only history before ``new_floor`` needed: replaced versions, and deletions."""
        passed = (old_floor, new_floor)
        self._db.execute(
            "DELETE FROM versions WHERE resource_version IN "
            "(SELECT replaced FROM versions WHERE resource_version > ? AND resource_version <= ?)",
            passed,
        )
        self._db.execute(
            "DELETE FROM versions WHERE body IS NULL AND resource_version > ? AND resource_version <= ?", passed
        )

    def count(self) -> int:
        """How many versions are kept."""
        found: int = self._db.execute("SELECT count(*) FROM versions").fetchone()[0]
        return found

    def close(self) -> None:
        """Let go of the directory."""
        self._db.close()
