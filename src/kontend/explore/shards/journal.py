"""The file of a checkpoint: all expansions of a search so far, in order.

The file is a header and frames, each with its length and a checksum. A frame holds packed successors as columns of
numbers, and the values they share as JSON. Nothing in it is ever executed: a file that somebody else has written can at
worst make the search stop or report nonsense, never run code. A frame that was cut off by the end of its process is
removed when the file is opened again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import orjson
import xxhash

from kontend.explore.model.answer import Refusal
from kontend.explore.model.state.budget import Budget, Reserve
from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario
from kontend.explore.properties.built_in import Finding
from kontend.explore.search.successor import Effects
from kontend.explore.shards.packing import PARTS, Packed
from kontend.kube.meta.names import Key
from kontend.runtime.source_location import SourceLocation
from kontend.safe_files import real_directory

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]

_MAGIC: Final = b"kontend journal 2\n"
_HEAD: Final = struct.Struct("<IQ")
_LENGTHS: Final = struct.Struct("<8I")
_LARGEST: Final = 1 << 30
_TYPES: Final[dict[str, Any]] = {
    kind.__name__: kind for kind in (Budget, Effects, Finding, Key, Refusal, Reserve, SourceLocation, Step)
}


class Journal:
    """The file of one search."""

    def __init__(self, directory: Path, name: str) -> None:
        """Open the journal of a search, or start one. Raises :class:`BadScenario` where that is not possible."""
        try:
            self.path = real_directory(directory) / f"{name}.journal"
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._file: IO[bytes] = os.fdopen(os.open(self.path, flags, 0o600), "r+b")
        except OSError as error:
            raise BadScenario(f"checkpoint: {directory}: {error.strerror or error}") from error
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise BadScenario(f"checkpoint: {self.path}: another search writes to it; wait for it or stop it") from None

    def frames(self) -> Iterator[tuple[bool, Packed, dict[int, set[bytes]]]]:
        """The frames: whether a new process begins with it, packed successors, and the ids of new runs by state.

        After the last one the file ends, and more can be written.
        """
        file = self._file
        file.seek(0)
        if file.read(len(_MAGIC)) != _MAGIC:
            file.seek(0)
            file.truncate()
            file.write(_MAGIC)
        while True:
            begin = file.tell()
            frame = self._frame()
            if frame is None:
                file.seek(begin)
                file.truncate()
                return
            yield frame

    def _frame(self) -> tuple[bool, Packed, dict[int, set[bytes]]] | None:
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, checksum = _HEAD.unpack(head)
        if length > _LARGEST:
            return None
        payload = self._file.read(length)
        if len(payload) < length or xxhash.xxh3_64_intdigest(payload) != checksum:
            return None
        try:
            return _decoded(payload)
        except (ValueError, TypeError, KeyError, IndexError, struct.error):
            return None

    def append(self, packed: Packed, runs: dict[int, set[bytes]], *, is_first: bool) -> None:
        """Add a frame. It survives the end of this process. Raises :class:`BadScenario` where there is no room."""
        payload = _encoded(packed, runs, is_first=is_first)
        try:
            self._file.write(_HEAD.pack(len(payload), xxhash.xxh3_64_intdigest(payload)) + payload)
            self._file.flush()
        except OSError as error:
            raise BadScenario(
                f"checkpoint: {self.path}: {error.strerror or error}; what was written before is kept: make room, and "
                "run the same command again"
            ) from error

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # the rest of a frame that could not be written
            self._file.close()


def _encoded(packed: Packed, runs: dict[int, set[bytes]], *, is_first: bool) -> bytes:
    document = {
        "first": is_first,
        "runs": [[number, sorted(run.hex() for run in ids)] for number, ids in runs.items()],
        "shared": [_plain(parts) for parts in packed.fresh],
    }
    columns = [*packed[:6], orjson.dumps(document)]
    return _LENGTHS.pack(len(columns), *map(len, columns)) + b"".join(columns)


def _decoded(payload: bytes) -> tuple[bool, Packed, dict[int, set[bytes]]]:
    count, *lengths = _LENGTHS.unpack_from(payload)
    columns, at = [], _LENGTHS.size
    for length in lengths:
        columns.append(payload[at : at + length])
        at += length
    document = orjson.loads(columns.pop())
    shared = [_value(parts) for parts in document["shared"]]
    numbers, counts, indexes, similar, keys, objects = columns
    edges = len(similar) // 8
    if count != 7 or at != len(payload) or len(numbers) != 2 * len(counts) or len(similar) % 8:
        raise ValueError("the lengths of a frame do not fit")
    if len(indexes) != 4 * edges or len(keys) != 16 * edges or len(objects) != 16 * edges:
        raise ValueError("the lengths of a frame do not fit")
    if any(not isinstance(parts, tuple) or len(parts) != PARTS for parts in shared):
        raise ValueError("the successors are those of another version")
    runs = {int(number): {bytes.fromhex(run) for run in ids} for number, ids in document["runs"]}
    return bool(document["first"]), Packed(numbers, counts, indexes, similar, keys, objects, shared), runs


def _plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        plain = [_plain(item) for item in value]
        name = type(value).__name__
        return {"type": name, "fields": plain} if name in _TYPES else plain
    return value


def _value(plain: Any) -> Any:
    """A value from JSON: only data, of the types in the table."""
    if isinstance(plain, list):
        return tuple(_value(item) for item in plain)
    if isinstance(plain, dict):
        if "bytes" in plain:
            return bytes.fromhex(plain["bytes"])
        return _TYPES[plain["type"]](*(_value(field) for field in plain["fields"]))
    return plain
