"""The journal of a campaign: the outcomes of its units, in a directory from which it goes on after it has stopped.

A record is one line: a checksum and JSON. It is on disk before its outcome is printed, so the end of the process loses
only the units that were under way. A damaged record is left out, and its unit runs again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import orjson
import xxhash

from kontend.campaign.unit import DECIDED, Outcome, Unit
from kontend.safe_files import real_directory

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]

_MAGIC: Final = b"kontend campaign 1\n"
_NAME: Final = "journal"
#: A process that a killed campaign has just started holds the lock for a moment.
_PATIENCE: Final = 1.0


class BadJournal(Exception):
    """A journal that cannot be used; the message names it, and says why and what to do."""


class Journal:
    """The journal in one directory, which is locked meanwhile."""

    def __init__(self, directory: Path) -> None:
        """Open the journal of a directory, or start one."""
        self.directory = directory
        self.path = directory / _NAME
        try:
            real_directory(directory)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._file: IO[bytes] = os.fdopen(os.open(self.path, flags, 0o644), "r+b")
        except OSError as error:
            raise BadJournal(f"{directory}: {error.strerror or error}; choose another directory") from error
        self._lock()
        #: The number of records that were damaged.
        self.damaged = 0
        self._outcomes = dict(self._read())

    def known(self, unit: Unit) -> Outcome | None:
        """Return the outcome of a unit that ran before; None for one that did not, or that failed."""
        outcome = self._outcomes.get(unit.key)
        return outcome if outcome is not None and outcome.status in DECIDED else None

    def record(self, unit: Unit, outcome: Outcome) -> None:
        """Keep an outcome. Raises :class:`BadJournal` where it cannot be written."""
        self._outcomes[unit.key] = outcome
        record = orjson.dumps({"key": unit.key, "title": unit.title, "outcome": outcome.to_json()})
        try:
            self._file.write(f"{xxhash.xxh3_64_hexdigest(record)} ".encode() + record + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise BadJournal(
                f"{self.path}: {error.strerror or error}; what was recorded before is kept: run the same command again"
            ) from error

    def forget(self) -> None:
        """Remove all records."""
        self._outcomes = {}
        self._file.seek(0)
        self._file.truncate()
        self._file.write(_MAGIC)

    def close(self) -> None:
        """Release the directory."""
        with suppress(OSError):  # the rest of a record that could not be written
            self._file.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > deadline:
                    break
                time.sleep(_PATIENCE / 20)
        self._file.close()
        raise BadJournal(f"{self.directory}: another campaign runs in it; wait for it, or choose another directory")

    def _read(self) -> Iterator[tuple[str, Outcome]]:
        content = self._file.read()
        if not content.startswith(_MAGIC):
            if not _MAGIC.startswith(content):
                self._file.close()
                raise BadJournal(f"{self.path}: not the journal of a campaign; choose another directory, or remove it")
            content = b""
            self._rewrite(_MAGIC)
        elif not content.endswith(b"\n"):  # the end of the process came in the middle of a record
            content = content[: content.rindex(b"\n") + 1]
            self._rewrite(content)
        for line in content[len(_MAGIC) :].splitlines():
            record = _decoded(line)
            if record is None:
                self.damaged += 1
            else:
                yield record

    def _rewrite(self, content: bytes) -> None:
        try:
            self._file.seek(0)
            self._file.write(content)
            self._file.truncate()
            self._file.flush()
        except OSError as error:
            raise BadJournal(f"{self.path}: {error.strerror or error}; choose another directory") from error


def _decoded(line: bytes) -> tuple[str, Outcome] | None:
    checksum, _, record = line.partition(b" ")
    if xxhash.xxh3_64_hexdigest(record).encode() != checksum:
        return None
    try:
        document: Any = orjson.loads(record)
        return str(document["key"]), Outcome.from_json(document["outcome"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
