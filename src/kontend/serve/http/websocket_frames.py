"""WebSocket on the wire (RFC 6455), the server's side: the answer to a client's key, and frames.

A watch and the channels of a pod differ in what they do with a message, not in how it is read or written.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import Final, NamedTuple

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#: In the first byte: the last frame of a message. In the second: a mask follows the size.
_LAST: Final = 0x80
_MASKED: Final = 0x80
#: The size of a goodbye, and of others that control the connection, at most.
_CONTROL: Final = 125


class Frame(NamedTuple):
    """A frame of a client: its kind, its content, and whether its message ends with it."""

    kind: int
    content: bytes
    is_last: bool


class BadFrame(Exception):
    """A frame that the client must not send: it is too large, or has no mask."""


def handshake(key: str, protocol: str) -> bytes:
    """Return the head of the answer to a client's key.

    >>> handshake("dGhlIHNhbXBsZSBub25jZQ==", "").splitlines()[3]
    b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    """
    accepted = b64encode(hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()).decode()
    chosen = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accepted}\r\n{chosen}\r\n"
    ).encode("latin-1")


def head(kind: int, size: int) -> bytes:
    """Return the head of a frame that is a whole message.

    >>> head(TEXT, 5).hex(), head(TEXT, 300).hex()
    ('8105', '817e012c')
    """
    if size < 126:
        return bytes([_LAST | kind, size])
    return bytes([_LAST | kind]) + (b"\x7e" + size.to_bytes(2) if size < 1 << 16 else b"\x7f" + size.to_bytes(8))


def take_frame(received: bytearray, longest: int | None = None) -> Frame | None:
    """Take the next frame from what has been received, if it is complete; raises :class:`BadFrame`.

    ``longest`` is the most that a frame may have.
    """
    if len(received) < 2:
        return None
    size, at = received[1] & 0x7F, 2
    if not received[1] & _MASKED or (received[0] & CLOSE and size > _CONTROL):
        raise BadFrame
    if size >= 126:
        at += 2 if size == 126 else 8
        if len(received) < at:
            return None
        size = int.from_bytes(received[2:at])
    if longest is not None and size > longest:
        raise BadFrame
    end = at + 4 + size
    if len(received) < end:
        return None
    mask = received[at : at + 4] * (size // 4 + 1)
    content = int.from_bytes(received[at + 4 : end]) ^ int.from_bytes(mask[:size])
    first = received[0]
    del received[:end]
    return Frame(first & 0x0F, content.to_bytes(size), bool(first & _LAST))
