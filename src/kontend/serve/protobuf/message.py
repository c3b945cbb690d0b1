"""A protobuf message, read into a dict by a table of its fields.

The table goes from the tag as it stands on the wire (number and wire type together) to what reads the value, so a field
costs one lookup and one call. It is made when the message is first met, because messages contain each other. What is
not in the table is skipped, as Go does; a known number with another wire type is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Final, TypeAlias

from kontend.serve.protobuf.wire import BYTES, VARINT, Malformed, signed, skip, span, unexpected_end, varint

#: Puts the value between two positions into an object; of a varint, the value itself is the first number. A plain text
#: is so common that its reader is just the field's name.
Reader: TypeAlias = "str | Callable[[dict[str, Any], bytes, int, int], None]"
#: Makes a value of the bytes between two positions.
Value: TypeAlias = "Callable[[bytes, int, int], Any]"

_COMPLETING: Final = RLock()


class Message:
    """One struct on the wire."""

    __slots__ = ("_known", "_make", "_readers", "name")

    def __init__(self, name: str, make: Callable[[Message], None]) -> None:
        self.name = name
        self._make: Callable[[Message], None] | None = make
        self._readers: dict[int, Reader] = {}
        #: The Go name of each field number, for the one error that names it.
        self._known: dict[int, str] = {}

    def add(self, number: int, go_name: str, readers: dict[int, Reader]) -> None:
        """Says how to read a field, for each wire type it may come in."""
        self._known[number] = go_name
        for wire, reader in readers.items():
            self._readers[number << 3 | wire] = reader

    def _complete(self) -> None:
        """Add all fields. Other threads wait; after an interruption it starts again."""
        with _COMPLETING:
            if self._make is not None:
                self._make(self)
                self._make = None

    def read(self, out: dict[str, Any], data: bytes, pos: int, end: int) -> None:
        """Read the message between two positions into ``out``; what is there already is merged with."""
        if self._make is not None:
            self._complete()
        readers = self._readers
        while pos < end:
            start = pos
            tag = data[pos]
            pos += 1
            if tag > 0x7F:
                tag, pos = varint(data, start, end)
            reader = readers.get(tag)
            if reader is None:
                pos = self._skip(tag, data, start, end)
                continue
            wire = tag & 7
            if wire == BYTES:
                stop = pos + 1 + data[pos] if pos < end else 0
                if 0 < stop <= end and data[pos] < 0x80:
                    pos += 1
                else:
                    pos, stop = span(data, pos, end)
                if type(reader) is str:
                    try:
                        out[reader] = data[pos:stop].decode()
                    except UnicodeDecodeError:
                        out[reader] = text(data, pos, stop)
                else:
                    reader(out, data, pos, stop)  # type: ignore[operator]
                pos = stop
            elif wire == VARINT:
                if pos < end and data[pos] < 0x80:
                    value = data[pos]
                    pos += 1
                else:
                    value, pos = varint(data, pos, end)
                reader(out, data, value, 0)  # type: ignore[operator]
            else:
                if pos + 8 > end:
                    raise unexpected_end()
                reader(out, data, pos, pos + 8)  # type: ignore[operator]
                pos += 8

    def value(self, data: bytes, pos: int, end: int) -> dict[str, Any]:
        """Return the message between two positions."""
        out: dict[str, Any] = {}
        self.read(out, data, pos, end)
        return out

    def _skip(self, tag: int, data: bytes, start: int, end: int) -> int:
        number, wire = signed(tag >> 3, 32), tag & 7
        if wire == 4:
            raise Malformed(f"proto: {self.name}: wiretype end group for non-group")
        if number <= 0:
            raise Malformed(f"proto: {self.name}: illegal tag {number} (wire type {tag})")
        if number in self._known:
            raise Malformed(f"proto: wrong wireType = {wire} for field {self._known[number]}")
        return skip(data, start, end)


def text(data: bytes, pos: int, stop: int) -> str:
    """Return a string; Go does not look whether it is one, and shows what is not as replacement characters."""
    return data[pos:stop].decode("utf-8", "replace")


def one(name: str, value: Value) -> Reader:
    """Read a field that replaces what was there."""

    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        out[name] = value(data, pos, stop)

    return read


def nested(name: str, message: Message) -> Reader:
    """Read a message within a message; one that comes in pieces is put together."""

    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        inner = out.get(name)
        if inner is None:
            inner = out[name] = {}
        message.read(inner, data, pos, stop)

    return read


def repeated(name: str, value: Value) -> Reader:
    """Read a list: one field for each element."""

    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        items = out.get(name)
        if items is None:
            items = out[name] = []
        items.append(value(data, pos, stop))

    return read


def mapping(name: str, value: Value) -> Reader:
    """Read a map: one field for each entry, which is a message with the key as field 1 and the value as field 2."""

    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        key, entry = "", _NOTHING
        while pos < stop:
            start = pos
            tag, pos = varint(data, pos, stop)
            # Go does not look at the wire type here.
            if tag >> 3 not in (1, 2):
                pos = skip(data, start, stop)
                continue
            begin, pos = span(data, pos, stop)
            if tag >> 3 == 1:
                key = text(data, begin, pos)
            else:
                entry = value(data, begin, pos)
        entries = out.get(name)
        if entries is None:
            entries = out[name] = {}
        # An entry without a value has the zero value, which is what an empty one reads as.
        entries[key] = value(b"", 0, 0) if entry is _NOTHING else entry

    return read


_NOTHING: Any = object()


def number(name: str, narrow: Callable[[int], int | bool]) -> dict[int, Reader]:
    """Read an integer or a boolean; ``narrow`` makes it one of its type."""

    def read(out: dict[str, Any], _data: bytes, value: int, _stop: int) -> None:
        out[name] = narrow(value)

    return {VARINT: read}


def numbers(name: str, narrow: Callable[[int], int | bool]) -> dict[int, Reader]:
    """Read a list of integers, one by one or packed into one field."""

    def add(out: dict[str, Any], _data: bytes, value: int, _stop: int) -> None:
        out.setdefault(name, []).append(narrow(value))

    def packed(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        while pos < stop:
            value, pos = varint(data, pos, stop)
            add(out, data, value, 0)

    return {VARINT: add, BYTES: packed}


def int32(value: int) -> int:
    """Return a number as Go narrows it to 32 bits."""
    return value if value < 0x8000_0000 else signed(value, 32)


def int64(value: int) -> int:
    """Return a number as one with a sign."""
    return value if value < 0x8000_0000 else signed(value, 64)
