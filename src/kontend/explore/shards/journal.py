"""The file of a checkpoint: all expansions of a search so far, in order.

A record of it is a frame: packed successors as columns of numbers, and the values they share as JSON. Nothing in it is
ever executed: a file that somebody else has written can at worst make the search stop or report nonsense, never run
code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from kontend.executors.journal import JournalFile
from kontend.explore.model.answer import Refusal
from kontend.explore.model.state.budget import Budget, Reserve
from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario
from kontend.explore.properties.built_in import Breach
from kontend.explore.search.successor import Effects
from kontend.explore.shards.packing import PARTS, Packed
from kontend.kube.meta.names import Key
from kontend.runtime.source_location import SourceLocation

_MAGIC: Final = b"kontend journal 2\n"
_LENGTHS: Final = struct.Struct("<8I")
_TYPES: Final[dict[str, Any]] = {
    kind.__name__: kind for kind in (Budget, Effects, Breach, Key, Refusal, Reserve, SourceLocation, Step)
}


#: Whether a new process begins with it, packed successors, and the ids of new runs by state.
Frame = tuple[bool, Packed, dict[int, set[bytes]]]


class Journal:
    """The file of one search."""

    def __init__(self, directory: Path, name: str) -> None:
        """Open the journal of a search, or start one. Raises :class:`BadScenario` where that is not possible."""
        try:
            self._file = JournalFile(directory, f"{name}.journal", _MAGIC)
            self.path = self._file.path
            if self._file.is_foreign:  # one of another version
                self._file.clear()
        except BlockingIOError:
            raise BadScenario(
                f"checkpoint: {directory / name}.journal: another search writes to it; wait for it or stop it"
            ) from None
        except OSError as error:
            raise BadScenario(f"checkpoint: {directory}: {error.strerror or error}") from error

    def frames(self) -> Iterator[Frame]:
        """The frames in order.

        A damaged frame ends them, because those after it build on it. More can be written after the last one.
        """
        for content in self._file.records():
            try:
                frame = _decoded(content or b"")
            except (ValueError, TypeError, KeyError, IndexError, struct.error):
                self._file.cut()
                return
            yield frame

    def append(self, packed: Packed, runs: dict[int, set[bytes]], *, is_first: bool) -> None:
        """Add a frame. It survives the end of this process. Raises :class:`BadScenario` where there is no room."""
        try:
            self._file.append(_encoded(packed, runs, is_first=is_first))
        except OSError as error:
            raise BadScenario(
                f"checkpoint: {self.path}: {error.strerror or error}; what was written before is kept: make room, and "
                "run the same command again"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _encoded(packed: Packed, runs: dict[int, set[bytes]], *, is_first: bool) -> bytes:
    document = {
        "first": is_first,
        "runs": [[number, sorted(run.hex() for run in ids)] for number, ids in runs.items()],
        "shared": [_plain(parts) for parts in packed.fresh],
    }
    columns = [*packed[:6], orjson.dumps(document)]
    return _LENGTHS.pack(len(columns), *map(len, columns)) + b"".join(columns)


def _decoded(payload: bytes) -> Frame:
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
