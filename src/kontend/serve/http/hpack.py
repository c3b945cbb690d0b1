"""Header fields of HTTP/2 as bytes (HPACK, RFC 7541).

Requests are decoded with all that the format has. Answers refer to the static table only: their few bytes are the same
on every connection, so they can be made anywhere, and parts of them are made once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kontend.serve.http import huffman

#: Octets of the dynamic table that a client may fill, the default of the protocol.
TABLE_SIZE: Final = 4096
#: Bytes that a field counts beside its name and value.
_FIELD_OVERHEAD: Final = 32
#: An integer with more octets than this is an attack.
_INTEGER_OCTETS: Final = 5

_STATIC: Final = (
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
)  # fmt: skip
_STATIC_COUNT: Final = len(_STATIC)

Field = tuple[str, str]


class BadHeaderBlock(ValueError):
    """Bytes that are no header block, after which the tables of client and server differ."""


class HeadersTooLarge(Exception):
    """More header fields than the server takes. The rest is not decoded, so the tables differ here too."""


class Decoder:
    """Decodes the header blocks of one connection, in the order they come."""

    __slots__ = ("_block", "_limit", "_position", "_recent", "_size")

    def __init__(self) -> None:
        #: The dynamic table; the newest field is the last.
        self._recent: list[Field] = []
        self._size = 0
        self._limit = TABLE_SIZE
        self._block = b""
        self._position = 0

    def decode(self, block: bytes, *, octets: int, count: int) -> list[Field]:
        """Return the fields of a block. Raises :class:`BadHeaderBlock` or :class:`HeadersTooLarge`."""
        self._block, self._position = block, 0
        fields: list[Field] = []
        try:
            while self._position < len(block):
                field = self._next()
                if field is None:
                    if fields:
                        raise BadHeaderBlock("the size of the table changes after a field")
                    continue
                octets -= len(field[0]) + len(field[1]) + _FIELD_OVERHEAD
                if octets < 0 or len(fields) >= count:
                    raise HeadersTooLarge
                fields.append(field)
        except IndexError:
            raise BadHeaderBlock("it ends too early") from None
        except huffman.BadHuffmanText as error:
            raise BadHeaderBlock(str(error)) from None
        finally:
            self._block = b""
        return fields

    def _next(self) -> Field | None:
        """Return the next field, or None for a change of the size of the table."""
        octet = self._block[self._position]
        if octet & 0x80:
            if octet == 0xFF:
                return self._field(self._integer(0x7F))
            self._position += 1
            return self._field(octet & 0x7F)
        if octet & 0x40:
            field = self._literal(self._integer(0x3F))
            self._remember(field)
            return field
        if octet & 0x20:
            self._resize(self._integer(0x1F))
            return None
        return self._literal(self._integer(0x0F))  # not indexed, or never

    def _integer(self, mask: int) -> int:
        value = self._block[self._position] & mask
        self._position += 1
        if value < mask:
            return value
        for shift in range(0, 7 * _INTEGER_OCTETS, 7):
            octet = self._block[self._position]
            self._position += 1
            value += (octet & 0x7F) << shift
            if octet < 0x80:
                return value
        raise BadHeaderBlock("an integer is too large")

    def _field(self, index: int) -> Field:
        place = index - _STATIC_COUNT
        if 0 < place <= len(self._recent):
            return self._recent[-place]
        if not 0 < index <= _STATIC_COUNT:
            raise BadHeaderBlock(f"there is no field with index {index}")
        return _STATIC[index - 1]

    def _literal(self, index: int) -> Field:
        name = self._field(index)[0] if index else self._text()
        return name, self._text()

    def _text(self) -> str:
        is_encoded = self._block[self._position] & 0x80
        length = self._integer(0x7F)
        start = self._position
        self._position = start + length
        if self._position > len(self._block):
            raise BadHeaderBlock("a text ends after the block")
        data = self._block[start : self._position]
        return (huffman.decode(data) if is_encoded else data).decode("latin-1")

    def _remember(self, field: Field) -> None:
        self._recent.append(field)
        self._size += len(field[0]) + len(field[1]) + _FIELD_OVERHEAD
        self._evict()

    def _resize(self, limit: int) -> None:
        if limit > TABLE_SIZE:
            raise BadHeaderBlock("the table is larger than the server allows")
        self._limit = limit
        self._evict()

    def _evict(self) -> None:
        while self._size > self._limit:
            name, value = self._recent.pop(0)
            self._size -= len(name) + len(value) + _FIELD_OVERHEAD


# Encoding

_STATIC_NAMES: Final = {name: index for index, (name, _) in reversed(list(enumerate(_STATIC, 1)))}
_STATUS_CODES: Final = {int(value): index for index, (name, value) in enumerate(_STATIC, 1) if name == ":status"}


@lru_cache(maxsize=128)
def status_field(code: int) -> bytes:
    """Return the field that an answer begins with.

    >>> status_field(200), status_field(201)
    (b'\\x88', b'\\x08\\x03201')
    """
    if code in _STATUS_CODES:
        return bytes([0x80 | _STATUS_CODES[code]])
    return _encoded_name(":status") + _encoded_text(b"%d" % code)


def encode(lines: str) -> bytes:
    """Return header lines of HTTP/1.1 as fields.

    >>> encode("Content-Length: 5\\r\\n")
    b'\\x0f\\r\\x015'
    """
    block = b""
    for line in lines.split("\r\n")[:-1]:
        name, _, value = line.partition(": ")
        block += _encoded_name(name) + _encoded_text(value.encode())
    return block


#: The same for lines that come again.
encode_once: Final = lru_cache(maxsize=64)(encode)


@lru_cache(maxsize=256)
def _encoded_name(name: str) -> bytes:
    index = _STATIC_NAMES.get(name.lower())
    if index is None:
        return b"\x00" + _encoded_text(name.lower().encode())
    return _encoded_integer(index, 0x0F)


def _encoded_text(text: bytes) -> bytes:
    return _encoded_integer(len(text), 0x7F) + text


def _encoded_integer(value: int, mask: int) -> bytes:
    """Return an integer whose first octet has room for ``mask``.

    >>> _encoded_integer(1337, 0x1F).hex()
    '1f9a0a'
    """
    if value < mask:
        return bytes([value])
    octets = [mask]
    value -= mask
    while value >= 0x80:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*octets, value])
