"""Lines of audit logs, read as a stream.

Files may be compressed with gzip, and there may be several: rotated ones, or those of several API servers, whose events
are merged by their times. A line that cannot be read is named by its number and left out; nothing of it is kept.
"""

from __future__ import annotations

import gzip
import heapq
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from kontend.race.log.event import AuditEvent, BadEvent, event_of

#: A longer line is not read: kube-apiserver writes events of a few megabytes at most.
_LONGEST: Final = 32 << 20
_GZIP: Final = b"\x1f\x8b"
#: Bad lines that are named; the others are counted.
_NAMED: Final = 20
STDIN: Final = "-"


class BadLog(Exception):
    """A file that cannot be read; the message names it and says why."""


@dataclass(slots=True)
class Reading:
    """Counts of what was read, and the lines that could not be."""

    lines: int = 0
    events: int = 0
    bad: int = 0
    #: The first bad lines, such as ``audit.log:17: not JSON: ...``.
    named: list[str] = field(default_factory=list)

    def refuse(self, place: str, why: str) -> None:
        """Note a line that cannot be read."""
        self.bad += 1
        if len(self.named) < _NAMED:
            self.named.append(f"{place}: {why}")


def events_of(paths: Sequence[str], reading: Reading) -> Iterator[AuditEvent]:
    """The events of some files, in the order of their times as far as each file keeps it. Raises :class:`BadLog`."""
    streams = [_events(path, reading) for path in paths]
    if len(streams) == 1:
        return streams[0]
    return heapq.merge(*streams, key=lambda event: event.completed)


def _events(path: str, reading: Reading) -> Iterator[AuditEvent]:
    name = "stdin" if path == STDIN else Path(path).name
    with _opened(path) as file:
        for number, line in _lines(path, file, reading, name):
            reading.lines += 1
            if not line.strip():
                continue
            for value in _values(line, f"{name}:{number}", reading):
                try:
                    event = event_of(value, name, number, len(line))
                except BadEvent as error:
                    reading.refuse(f"{name}:{number}", str(error))
                    continue
                if event is not None:
                    reading.events += 1
                    yield event


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    """A file or the standard input, decompressed if need be."""
    if path == STDIN:
        with open(sys.stdin.fileno(), "rb", closefd=False) as file:
            yield _decompressed(file)
        return
    try:
        with open(path, "rb") as file:
            yield _decompressed(file)
    except OSError as error:
        raise BadLog(f"{path}: {error.strerror or error}") from None


def _decompressed(file: io.BufferedReader) -> io.BufferedReader:
    if file.peek(2)[:2] == _GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    return file


def _lines(path: str, file: BinaryIO, reading: Reading, name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        while line := file.readline(_LONGEST):
            number += 1
            if len(line) == _LONGEST and not line.endswith(b"\n"):
                reading.refuse(f"{name}:{number}", f"longer than {_LONGEST >> 20} MiB")
                while line and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)
                continue
            yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reading.refuse(f"{name}:{number + 1}", f"the compressed file is damaged from here on: {error}")
    except OSError as error:
        raise BadLog(f"{path}: {error.strerror or error}") from None


def _values(line: bytes, place: str, reading: Reading) -> Sequence[Any]:
    """The events of a line: one, or those of a list, as the webhook of an API server gets them."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        end = "" if line.endswith(b"\n") else "; the file ends within it"
        reading.refuse(place, f"not JSON: {error}{end}")
        return ()
    if isinstance(value, dict) and value.get("kind") == "EventList" and isinstance(value.get("items"), list):
        items: list[Any] = value["items"]
        return items
    return (value,)
