"""Checksums of records, and the head file: how damage to a data directory is noticed.

Each row carries a checksum of all its columns. The sum of all checksums is kept with the counters, so that a missing
row is noticed too. The write-ahead log holds the newest transactions; where it is lost or cut off, SQLite starts from
an older state without a word. So the version of the last transaction is also written to a small file of its own, after
the transaction and before its writes are acknowledged. That file is not synced: after a crash of the machine it may be
older than the database, which says nothing, but it is never newer, unless transactions are missing.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import xxhash

from kontend.serve.storage.record import Row

_MAGIC: Final = b"kontend1"
_HEAD: Final = struct.Struct(">8sQQ")
MODULUS: Final = 2**62


def row_checksum(row: Row) -> int:
    """Return the checksum of a row: of the types and the contents of its columns."""
    digest = xxhash.xxh3_64()
    for column in row:
        content = column.encode() if isinstance(column, str) else b"%d" % column if isinstance(column, int) else column
        kind = b"n" if content is None else type(column).__name__[0].encode()
        digest.update(b"%b%d:" % (kind, len(content or b"")) + (content or b""))
    return digest.intdigest() % MODULUS


def counters_checksum(counters: Iterable[tuple[str, Any]]) -> int:
    """Return the checksum of the counters."""
    text = ",".join(f"{name}={value!r}" for name, value in sorted(counters))
    return xxhash.xxh3_64_intdigest(text.encode()) % MODULUS


class Head:
    """The file with the version of the last transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @property
    def is_empty(self) -> bool:
        """Return whether the file is new, or has lost its content."""
        return os.fstat(self._file).st_size == 0

    def begin(self) -> None:
        """Write the head of a new directory, and sync it.

        From then on the file is never empty, so that an empty one beside a database means that files were lost. Later
        writes are not synced; they replace the content in place.
        """
        self.write(0)
        os.fsync(self._file)

    def read(self) -> int | None:
        """Return the version: 0 in a new file, None in a damaged one."""
        raw = os.pread(self._file, _HEAD.size + 1, 0)
        if not raw:
            return 0
        if len(raw) != _HEAD.size:
            return None
        magic, version, checksum = _HEAD.unpack(raw)
        sound: bool = magic == _MAGIC and checksum == xxhash.xxh3_64_intdigest(raw[:16])
        return int(version) if sound else None

    def write(self, version: int) -> None:
        """Note the version of a transaction that has been committed."""
        start = _HEAD.pack(_MAGIC, version, 0)[:16]
        os.pwrite(self._file, start + xxhash.xxh3_64_digest(start), 0)

    def close(self) -> None:
        """Lets go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
