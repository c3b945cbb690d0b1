"""The JSON of a long list in pieces, which are made as they are read."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from kontend.cluster.wire.encoded import EncodedList, to_json

#: Bytes that are put together, and of one part that is compressed in one go.
_AT_ONCE: Final = 64 * 1024


def pieces(listed: EncodedList, *, pretty: bool, compressed: bool) -> Iterator[bytes]:
    """Return a list as the pieces of an answer.

    >>> two = EncodedList({"kind": "List"}, "items", iter([b"1", b"2"]))
    >>> list(pieces(two, pretty=False, compressed=False))
    [b'{"kind":"List","items":[1,2]}\\n']
    """
    parts = _pretty(listed) if pretty else _plain(listed)
    return _gathered(_compressed(parts) if compressed else parts)


def _plain(listed: EncodedList) -> Iterator[bytes]:
    yield to_json(listed.head)[:-1] + b',"%b":[' % listed.field.encode()
    separator = b""
    for item in listed.items:
        yield separator
        yield item
        separator = b","
    yield b"]}\n"


def _pretty(listed: EncodedList) -> Iterator[bytes]:
    """Yield the same, indented as a whole list is."""
    head = orjson.dumps(listed.head, option=orjson.OPT_INDENT_2)
    yield head.removesuffix(b"\n}") + b',\n  "%b": [' % listed.field.encode()
    separator = b"\n    "
    for item in listed.items:
        yield separator
        yield orjson.dumps(orjson.loads(item), option=orjson.OPT_INDENT_2).replace(b"\n", b"\n    ")
        separator = b",\n    "
    yield b"\n  ]\n}"


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    for part in parts:
        for start in range(0, len(part), _AT_ONCE):
            yield packer.compress(part[start : start + _AT_ONCE])
    yield packer.flush()


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Put small parts together. What is larger goes on its own, so that its bytes are not copied."""
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        if len(part) >= _AT_ONCE and gathered:
            yield b"".join(gathered)
            gathered, size = [], 0
        gathered.append(part)
        size += len(part)
        if size >= _AT_ONCE:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)
