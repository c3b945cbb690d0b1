"""Files of records that survive the end of their process at any moment.

A record is its length, a checksum and its content; what it means is the matter of its user. A record that was cut off
is removed when the file is read again, and a damaged one is told from a whole one. Nothing in a file is ever executed.
One process at a time has a file: another one is refused.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import xxhash

from kontend.safe_files import real_directory

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]

_HEAD: Final = struct.Struct("<IQ")
_LARGEST: Final = 1 << 30
#: A process that a killed one has just started holds the lock for a moment.
_PATIENCE: Final = 1.0


class JournalFile:
    """A locked file of records."""

    def __init__(self, directory: Path, name: str, magic: bytes, *, mode: int = 0o600) -> None:
        """Open or start a file that begins with ``magic``.

        Raises OSError where that is not possible, BlockingIOError where another process has it.
        """
        self.path = real_directory(directory) / name
        self._magic = magic
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        self._file: IO[bytes] = os.fdopen(os.open(self.path, flags, mode), "r+b")
        self._begin = len(magic)
        try:
            self._lock()
            found = self._file.read(len(magic))
            #: Something else than such a journal, or one of another version.
            self.is_foreign = not magic.startswith(found)
            if found != magic and not self.is_foreign:
                self.clear()
        except OSError:
            self.close()
            raise

    def records(self) -> Iterator[bytes | None]:
        """Yield the contents of records in order, None for a damaged one. The file ends after the last whole one."""
        file = self._file
        file.seek(len(self._magic))
        while True:
            self._begin = file.tell()
            head = file.read(_HEAD.size)
            length, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (_LARGEST + 1, 0)
            content = file.read(length) if length <= _LARGEST else b""
            if len(content) < length:
                self.cut()
                return
            yield content if xxhash.xxh3_64_intdigest(content) == checksum else None

    def cut(self) -> None:
        """Remove the record that was read last, and all after it."""
        self._file.seek(self._begin)
        self._file.truncate()

    def append(self, content: bytes, *, durably: bool = False) -> None:
        """Add a record. It survives the end of this process, and that of the machine if written durably."""
        self._file.write(_HEAD.pack(len(content), xxhash.xxh3_64_intdigest(content)) + content)
        self._file.flush()
        if durably:
            os.fsync(self._file.fileno())

    def clear(self) -> None:
        """Remove all records."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(self._magic)
        self._file.flush()
        self.is_foreign = False

    def close(self) -> None:
        """Close the file, so that other processes can have it."""
        with suppress(OSError):  # the rest of a record that could not be written
            self._file.close()

    def _lock(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise BlockingIOError from None
                time.sleep(_PATIENCE / 20)
