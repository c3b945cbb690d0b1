"""Watches over WebSocket, which clients in Java ask for: each event is a message.

Only the events differ from a watch over HTTP; errors before the first one are ordinary answers. The client has nothing
to say but goodbye: its messages are dropped.
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Callable
from typing import Final

from kontend.serve.http.connection import Connection
from kontend.serve.http.request_parser import Incoming

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_LAST: Final = 0x80
#: The most that a message of the client may have: they are of no use.
_LONGEST: Final = 64 * 1024


def is_wanted(incoming: Incoming) -> bool:
    """Report whether a client asks for WebSocket."""
    headers = incoming.headers
    return (
        headers.get("upgrade", "").lower() == "websocket"
        and "upgrade" in headers.get("connection", "").lower()
        and bool(headers.get("sec-websocket-key"))
    )


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


def frame(kind: int, size: int) -> bytes:
    """Return the head of a frame that is a whole message.

    >>> frame(1, 5).hex(), frame(1, 300).hex()
    ('8105', '817e012c')
    """
    if size < 126:
        return bytes([_LAST | kind, size])
    return bytes([_LAST | kind]) + (b"\x7e" + size.to_bytes(2) if size < 1 << 16 else b"\x7f" + size.to_bytes(8))


class WebSocketClient(asyncio.Protocol):
    """A connection that a watch writes its events to, as to one of HTTP."""

    def __init__(self, connection: Connection, incoming: Incoming) -> None:
        self._connection = connection
        offered = incoming.headers.get("sec-websocket-protocol", "")
        self._handshake = handshake(incoming.headers["sec-websocket-key"], "" if "," in offered else offered.strip())
        #: Parts of an event whose end has not come.
        self._parts: list[bytes] = []
        self._received = bytearray()

    # As of a connection

    @property
    def paused(self) -> bool:
        """Return whether the client does not read what it is sent."""
        return self._connection.paused

    @property
    def queued(self) -> int:
        """Bytes of the watch that wait until the client has read more."""
        return self._connection.queued

    @queued.setter
    def queued(self, size: int) -> None:
        self._connection.queued = size

    def begin_stream(
        self,
        head: bytes,  # noqa: ARG002 - as of a connection
        *,
        on_writable: Callable[[], None],
        on_lost: Callable[[], None],
        watch: bool = True,
    ) -> None:
        """Accept the client's offer."""
        self._connection.begin_stream(self._handshake, on_writable=on_writable, on_lost=on_lost, watch=watch)
        self._connection.take_over(b"", self)

    def write(self, data: bytes) -> None:
        """Send a part of the events, which end with a line feed each."""
        while data:
            end = data.find(b"\n") + 1
            # A large part stays as it is: all clients share it.
            line, data = (data, b"") if end in (0, len(data)) else (data[:end], data[end:])
            self._parts.append(line)
            if end:
                self._connection.send(frame(_TEXT, sum(map(len, self._parts))), *self._parts)
                self._parts = []

    def end_stream(self, last: bytes, *, keep_alive: bool) -> None:  # noqa: ARG002 - as of a connection
        """Send the last events, and goodbye."""
        self.write(last)
        self._connection.send(frame(_CLOSE, 2), (1000).to_bytes(2))
        self._connection.finish()

    def abort(self) -> None:
        """Hang up at once."""
        self._connection.abort()

    # As of asyncio

    def data_received(self, data: bytes) -> None:
        """Answer pings and goodbyes; drop everything else."""
        self._received += data
        while (message := self._next_message()) is not None:
            kind, content = message
            if kind == _PING:
                self._connection.send(frame(_PONG, len(content)), content)
            elif kind == _CLOSE:
                self._connection.send(frame(_CLOSE, len(content)), content)
                self._connection.close()
                return

    def _next_message(self) -> tuple[int, bytes] | None:
        received = self._received
        if len(received) < 2:
            return None
        size, at = received[1] & 0x7F, 2
        if size >= 126:
            at += 2 if size == 126 else 8
            size = int.from_bytes(received[2:at]) if len(received) >= at else _LONGEST
        if not received[1] & 0x80 or size > _LONGEST or (received[0] & 8 and size > 125):
            self._connection.abort()
            received.clear()
            return None
        if len(received) < at + 4 + size:
            return None
        mask, content = received[at : at + 4], received[at + 4 : at + 4 + size]
        kind = received[0] & 0x0F
        del received[: at + 4 + size]
        return kind, bytes(byte ^ mask[index % 4] for index, byte in enumerate(content))

    def pause_writing(self) -> None:
        """Stop sending: the client is slow."""
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._connection.resume_writing()

    def eof_received(self) -> bool:
        """End the watch."""
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client, which has gone."""
        self._connection.connection_lost(exc)
