"""Watches over WebSocket, which clients in Java ask for: each event is a message.

Only the events differ from a watch over HTTP; errors before the first one are ordinary answers. The client has nothing
to say but goodbye: its messages are dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kontend.serve.http.connection import Connection
from kontend.serve.http.request_parser import Incoming
from kontend.serve.http.websocket_frames import CLOSE, PING, PONG, TEXT, BadFrame, handshake, head, take_frame

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
                self._connection.send(head(TEXT, sum(map(len, self._parts))), *self._parts)
                self._parts = []

    def end_stream(self, last: bytes, *, keep_alive: bool) -> None:  # noqa: ARG002 - as of a connection
        """Send the last events, and goodbye."""
        self.write(last)
        self._connection.send(head(CLOSE, 2), (1000).to_bytes(2))
        self._connection.finish()

    def abort(self) -> None:
        """Hang up at once."""
        self._connection.abort()

    # As of asyncio

    def data_received(self, data: bytes) -> None:
        """Answer pings and goodbyes; drop everything else."""
        self._received += data
        try:
            while (frame := take_frame(self._received, _LONGEST)) is not None:
                if frame.kind == PING:
                    self._connection.send(head(PONG, len(frame.content)), frame.content)
                elif frame.kind == CLOSE:
                    self._connection.send(head(CLOSE, len(frame.content)), frame.content)
                    self._connection.close()
                    return
        except BadFrame:
            self._received.clear()
            self._connection.abort()

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
