"""Frames of HTTP/2 (RFC 9113): their types, flags and error codes, and their bytes."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

#: A client begins with these bytes.
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: The largest payload that both sides take unless they say otherwise, which this server never does.
FRAME_SIZE: Final = 16 * 1024
LARGEST_FRAME_SIZE: Final = (1 << 24) - 1
HEAD_SIZE: Final = 9
#: The window of the connection and of each stream before anybody has said otherwise, and the largest one.
DEFAULT_WINDOW: Final = 65_535
LARGEST_WINDOW: Final = (1 << 31) - 1

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20

ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

NO_ERROR: Final = 0x0
PROTOCOL_ERROR: Final = 0x1
INTERNAL_ERROR: Final = 0x2
FLOW_CONTROL_ERROR: Final = 0x3
STREAM_CLOSED: Final = 0x5
FRAME_SIZE_ERROR: Final = 0x6
REFUSED_STREAM: Final = 0x7
CANCEL: Final = 0x8
COMPRESSION_ERROR: Final = 0x9
ENHANCE_YOUR_CALM: Final = 0xB

_HEAD: Final = struct.Struct(">HBBBL")
_SETTING: Final = struct.Struct(">HL")
_NUMBER: Final = struct.Struct(">L")


class ConnectionFault(Exception):
    """A mistake of the client after which the connection cannot go on."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class StreamFault(Exception):
    """A mistake of the client that concerns one stream."""

    def __init__(self, code: int, stream: int) -> None:
        super().__init__(code, stream)
        self.code = code
        self.stream = stream


class Frame(NamedTuple):
    """A frame as it came over the wire."""

    type: int
    flags: int
    #: The number of the stream; 0 for the whole connection.
    stream: int
    payload: bytes


class FrameReader:
    """Cuts the bytes of a connection into frames."""

    __slots__ = ("_bytes", "_position")

    def __init__(self) -> None:
        self._bytes = b""
        self._position = 0

    @property
    def pending(self) -> bool:
        """Returns whether there are bytes that have not been taken."""
        return self._position < len(self._bytes)

    def feed(self, data: bytes) -> None:
        """Take some bytes."""
        self._bytes = self._bytes[self._position :] + data if self.pending else data
        self._position = 0

    def starts_with(self, expected: bytes) -> bool | None:
        """Return whether the bytes begin as expected, and drop that beginning; None if there are too few of them."""
        begun = self._bytes[self._position : self._position + len(expected)]
        if begun != expected[: len(begun)]:
            return False
        if len(begun) < len(expected):
            return None
        self._position += len(expected)
        return True

    def next(self) -> Frame | None:
        """Return the next frame, or None if it is not complete. Raises a :class:`ConnectionFault`."""
        start = self._position + HEAD_SIZE
        if len(self._bytes) < start:
            return None
        high, low, kind, flags, stream = _HEAD.unpack_from(self._bytes, self._position)
        size = high << 8 | low
        if size > FRAME_SIZE:
            raise ConnectionFault(FRAME_SIZE_ERROR, "a frame is too large")
        end = start + size
        if len(self._bytes) < end:
            return None
        self._position = end
        return Frame(kind, flags, stream & LARGEST_WINDOW, self._bytes[start:end])


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame.

    >>> frame(PING, ACK, 0, bytes(8)).hex()
    '0000080601000000000000000000000000'
    """
    size = len(payload)
    return _HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def headers(stream: int, block: bytes, *, end: bool) -> bytes:
    """Return the frames of a header block."""
    flags = END_STREAM if end else 0
    if len(block) <= FRAME_SIZE:
        return frame(HEADERS, flags | END_HEADERS, stream, block)
    parts = [block[start : start + FRAME_SIZE] for start in range(0, len(block), FRAME_SIZE)]
    first = frame(HEADERS, flags, stream, parts[0])
    middle = [frame(CONTINUATION, 0, stream, part) for part in parts[1:-1]]
    return b"".join([first, *middle, frame(CONTINUATION, END_HEADERS, stream, parts[-1])])


def settings(values: dict[int, int]) -> bytes:
    """Return the frame that announces the settings of the server."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(name, value) for name, value in values.items()))


def window_update(stream: int, more: int) -> bytes:
    """Return the frame that allows the client to send more."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(more))


def rst_stream(stream: int, code: int) -> bytes:
    """Return the frame that breaks off a stream."""
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def goaway(last: int, code: int, text: str = "") -> bytes:
    """Return the frame that ends a connection; requests after ``last`` have not been looked at."""
    return frame(GOAWAY, 0, 0, _NUMBER.pack(last) + _NUMBER.pack(code) + text.encode())


def number(payload: bytes) -> int:
    """Return the number in the payload of WINDOW_UPDATE or RST_STREAM. Raises a :class:`ConnectionFault`."""
    if len(payload) != _NUMBER.size:
        raise ConnectionFault(FRAME_SIZE_ERROR, "a frame has the wrong size")
    value: int = _NUMBER.unpack(payload)[0]
    return value


def settings_in(received: Frame) -> list[tuple[int, int]]:
    """Return the settings that a client announces. Raises a :class:`ConnectionFault`."""
    if received.stream or (received.flags & ACK and received.payload):
        raise ConnectionFault(PROTOCOL_ERROR, "SETTINGS is wrong")
    if len(received.payload) % _SETTING.size:
        raise ConnectionFault(FRAME_SIZE_ERROR, "SETTINGS has the wrong size")
    values: list[tuple[int, int]] = list(_SETTING.iter_unpack(received.payload))
    for name, value in values:
        if name == ENABLE_PUSH and value > 1:
            raise ConnectionFault(PROTOCOL_ERROR, "ENABLE_PUSH is wrong")
        if name == MAX_FRAME_SIZE and not FRAME_SIZE <= value <= LARGEST_FRAME_SIZE:
            raise ConnectionFault(PROTOCOL_ERROR, "MAX_FRAME_SIZE is wrong")
    return values


def check(received: Frame) -> None:
    """Check a PING, PRIORITY, PUSH_PROMISE or GOAWAY frame. Raises a :class:`ConnectionFault` or a stream's."""
    kind, size = received.type, len(received.payload)
    if kind == PING and (received.stream or size != 8):
        raise ConnectionFault(PROTOCOL_ERROR if received.stream else FRAME_SIZE_ERROR, "PING is wrong")
    if kind == PRIORITY and not received.stream:
        raise ConnectionFault(PROTOCOL_ERROR, "PRIORITY needs a stream")
    if kind == PRIORITY and size != 5:
        raise StreamFault(FRAME_SIZE_ERROR, received.stream)
    if kind == PUSH_PROMISE:
        raise ConnectionFault(PROTOCOL_ERROR, "a client cannot push")
    if kind == GOAWAY and received.stream:
        raise ConnectionFault(PROTOCOL_ERROR, "GOAWAY has no stream")


def content(received: Frame) -> bytes:
    """Return the payload of DATA or HEADERS without padding and priority. Raises a :class:`ConnectionFault`."""
    flags, payload = received.flags, received.payload
    if not flags & (PADDED | PRIORITIZED):
        return payload
    start, end = 0, len(payload)
    if flags & PADDED:
        if not payload:
            raise ConnectionFault(FRAME_SIZE_ERROR, "a padded frame is empty")
        start, end = 1, end - payload[0]
    if flags & PRIORITIZED and received.type == HEADERS:
        start += 5
    if start > end:
        raise ConnectionFault(PROTOCOL_ERROR, "there is more padding than payload")
    return payload[start:end]
