"""Lines of audit logs, read as a stream.

Files may be compressed with gzip or zstd, and there may be several: rotated ones, or those of several API servers,
whose events are merged by their times. A line that cannot be read is named by its number and left out; nothing of it is
kept.

Exports of managed clusters wrap the events (`wrappers`), put a time stamp or a node in front of each, or are one
document over many lines, which is read whole.
"""

from __future__ import annotations

import gzip
import heapq
import importlib
import io
import json
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from kontend.race.log.event import AuditEvent, BadEvent, event_of
from kontend.race.log.ordering import by_time
from kontend.race.log.wrappers import unwrapped

#: A longer line is not read: kube-apiserver writes events of a few megabytes at most.
_LONGEST: Final = 32 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
#: A document over many lines is read whole, up to here.
_DOCUMENT: Final = 2 << 30
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
    #: Events that came so late that others had been judged before them.
    late: int = 0
    #: What the form of an export does not hold.
    lacks: set[str] = field(default_factory=set)

    def refuse(self, place: str, why: str) -> None:
        """Note a line that cannot be read."""
        self.bad += 1
        if len(self.named) < _NAMED:
            self.named.append(f"{place}: {why}")


def events_of(paths: Sequence[str], reading: Reading) -> Iterator[AuditEvent]:
    """Return the events of some files, in the order of their times as far as each file keeps it. Raises
    :class:`BadLog`."""
    streams = [by_time(_events(path, reading), reading) for path in paths]
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
    """Provide a file or the standard input, decompressed if need be."""
    if path == STDIN:
        with open(sys.stdin.fileno(), "rb", closefd=False) as file:
            yield _decompressed(file)
        return
    try:
        with open(path, "rb") as file:
            yield _decompressed(file)
    except IsADirectoryError:
        raise BadLog(f"{path} is a directory; name the files in it, as in {os.path.join(path, '*.log')}") from None
    except OSError as error:
        raise BadLog(f"{path}: {error.strerror or error}") from None


def _decompressed(file: io.BufferedReader) -> io.BufferedReader:
    start = file.peek(4)[:4]
    if start[:2] == _GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    if start == _ZSTD:
        return _zstd(file)
    return file


def _zstd(file: io.BufferedReader) -> io.BufferedReader:
    """Open a file that is compressed with zstd: the library is an extra, because few logs need it."""
    try:
        library = importlib.import_module("zstandard")
    except ImportError:
        raise BadLog(
            "compressed with zstd: pip install 'kontend[zstd]', or pipe it in, as in `zstdcat FILE | kontend race -`"
        ) from None
    return io.BufferedReader(_Zstd(file, library.ZstdDecompressor()), 1 << 17)


class _Zstd(io.RawIOBase):
    """Frames of zstd as a stream. The library's own reader takes a file that is cut off for one that ends."""

    def __init__(self, file: io.BufferedReader, decompressor: Any) -> None:
        self._file, self._decompressor = file, decompressor
        self._frame: Any = None
        self._left = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next."""
        while not self._left:
            compressed = self._file.read(1 << 16)
            if not compressed:
                if self._frame is not None:
                    raise EOFError("it ends within a frame")
                return 0
            while compressed:
                self._frame = self._frame or self._decompressor.decompressobj()
                self._left += self._frame.decompress(compressed)
                compressed = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _lines(path: str, file: BinaryIO, reading: Reading, name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        while line := file.readline(_LONGEST):
            number += 1
            if number == 1 and _opens_document(line):
                yield number, line + file.read(_DOCUMENT)
                return
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
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "zstandard":
            raise
        reading.refuse(f"{name}:{number + 1}", f"the compressed file is damaged from here on: {error}")


def _opens_document(line: bytes) -> bool:
    """Recognise the first line of a document over many lines, as `aws` and `gcloud` print them."""
    return line.strip() in (b"{", b"[") or (line.strip()[:1] in (b"{", b"[") and line.rstrip()[-1:] in (b"[", b"{"))


def _values(line: bytes, place: str, reading: Reading) -> Sequence[Any]:
    """Return the events of a line: one, those of a list, or those that an export has wrapped."""
    start = line.find(b"{")
    if start > 0 and line.lstrip()[:1] != b"[":
        line = line[start:]  # a time stamp of CloudWatch's export, the node of `oc adm node-logs`, a container's prefix
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        parts = _concatenated(line)
        if parts is None:
            end = "" if line.endswith(b"\n") else "; the file ends within it"
            reading.refuse(place, f"not JSON: {error}{end}")
            return ()
        value = parts
    return list(unwrapped(value, reading.lacks.add))


def _concatenated(line: bytes) -> list[Any] | None:
    """Return the values of a line in which they follow each other without a separator, as Firehose delivers them."""
    decoder, text, at = json.JSONDecoder(), line.decode("utf-8", "replace").strip(), 0
    values: list[Any] = []
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return None
        values.append(value)
    return values if len(values) > 1 else None
