"""The wire format of protobuf: tags, varints, and how to step over what is not known.

Only as much as reading needs. Error messages are those of the decoders that Kubernetes generates for its types,
because they reach the client.
"""

from __future__ import annotations

from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
_START_GROUP: Final = 3
_END_GROUP: Final = 4
_FIXED32: Final = 5

_MASK: Final = (1 << 64) - 1


class Malformed(ValueError):
    """Bytes that are not the message they should be; the message is the server's."""


def unexpected_end() -> Malformed:
    """Return the bytes end in the middle of something."""
    return Malformed("unexpected EOF")


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Return the unsigned number at ``pos``, and the position after it.

    >>> varint(bytes([0x96, 0x01]), 0, 2)
    (150, 2)
    """
    value = shift = 0
    while True:
        if shift >= 64:
            raise Malformed("proto: integer overflow")
        if pos >= end:
            raise unexpected_end()
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, pos
        shift += 7


def span(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Return the start and end of a length-delimited value, given the position of its length."""
    size, pos = varint(data, pos, end)
    if size >> 63 or pos + size >> 63:
        raise Malformed("proto: negative length found during unmarshaling")
    if pos + size > end:
        raise unexpected_end()
    return pos, pos + size


def signed(value: int, bits: int) -> int:
    """Return the low ``bits`` of a number as a signed one, which is how Go narrows.

    >>> signed(2**64 - 1, 32), signed(5, 64)
    (-1, 5)
    """
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def skip(data: bytes, pos: int, end: int) -> int:
    """Return the position after the field whose tag stands at ``pos``; groups are skipped whole."""
    depth = 0
    while pos < end:
        tag, pos = varint(data, pos, end)
        wire = tag & 7
        if wire == VARINT:
            _, pos = varint(data, pos, end)
        elif wire == FIXED64:
            pos += 8
        elif wire == BYTES:
            # Too long a value is found by the caller: it looks at the position only at the end.
            size, pos = varint(data, pos, end)
            if size >> 63:
                raise Malformed("proto: negative length found during unmarshaling")
            pos += size
        elif wire == _START_GROUP:
            depth += 1
        elif wire == _END_GROUP:
            if depth == 0:
                raise Malformed("proto: unexpected end of group")
            depth -= 1
        elif wire == _FIXED32:
            pos += 4
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        if depth == 0:
            if pos > end:
                raise unexpected_end()
            return pos
    raise unexpected_end()
