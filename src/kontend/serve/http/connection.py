"""One HTTP/1.1 connection: requests in, answers back in the order of the requests.

A connection hands complete requests to the application one at a time: the next one waits until
:meth:`Connection.respond` or :meth:`Connection.end_stream` has been called and the client has read what it was sent.
While a request waits, nothing more is read, so a client that sends without reading cannot fill the memory. Bytes that
are not HTTP are answered with 400 as Go's server answers them, and the connection is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic  # the clock of the event loop
from typing import Any, Final, Protocol, cast

from kontend.serve.http.outbox import HIGH_WATER, Outbox
from kontend.serve.http.request_parser import SMALL_BODY, BadMessage, Incoming, RequestParser, mistake

#: Seconds for which the requests of one client are answered before others get a turn.
_TURN: Final = 0.005

#: The end of a body that comes in chunks.
_LAST_CHUNK: Final = b"0\r\n\r\n"
_NO_CERTIFICATE: Final[Mapping[str, Any]] = {}
_REASONS: Final = {
    400: "Bad Request",
    405: "Method Not Allowed",
    408: "Request Timeout",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
}


class Application(Protocol):
    """Answers the requests of connections."""

    def serve(self, incoming: Incoming, connection: Connection) -> None:
        """Answers through the connection, now or later."""

    def admits(self, incoming: Incoming, connection: Connection) -> bool:
        """Return whether a request may go on to send a large body."""

    def buffering(self, connection: Connection, size: int) -> None:
        """Note the bytes of bodies that are kept for a client."""

    def connected(self, connection: Connection) -> int:
        """Note a new client; return its number."""

    def disconnected(self, connection: Connection) -> None:
        """Forgets a client that has gone."""

    def stalled(self, connection: Connection) -> None:
        """Note a client that has not read what it was sent."""


def endpoints(transport: asyncio.BaseTransport) -> tuple[str, int]:
    """Return the address of the client, and the port of the server that it has connected to."""
    peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    return peer[0] if isinstance(peer, tuple) else "", own[1] if isinstance(own, tuple) else 0


def set_reading(transport: asyncio.Transport, wanted: bool) -> None:
    """Read on from a client, or stop reading."""
    if wanted != transport.is_reading():
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()


def chunk(data: bytes) -> bytes:
    """Return some bytes of a body that comes in chunks.

    >>> chunk(b"hello")
    b'5\\r\\nhello\\r\\n'
    """
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection(asyncio.Protocol):
    """One client. The application answers with :meth:`respond`, or with a stream."""

    __slots__ = (
        "_app",
        "_bad",
        "_bodies",
        "_current",
        "_lingering",
        "_noted",
        "_on_lost",
        "_on_writable",
        "_outbox",
        "_parser",
        "_ready",
        "_scheduled",
        "_secure",
        "_serving",
        "_transport",
        "address",
        "busy",
        "closing",
        "number",
        "port",
        "queued",
        "since",
        "streaming",
    )

    def __init__(self, app: Application) -> None:
        self._app = app
        self._parser = RequestParser(self._take, self._continue, lambda incoming: app.admits(incoming, self))
        self._ready: deque[Incoming] = deque()
        self._bad: BadMessage | None = None
        self._on_writable: Callable[[], None] | None = None
        self._on_lost: Callable[[], None] | None = None
        self._serving = False
        self._scheduled = False
        self._lingering = False
        self._secure = False
        #: Bytes of the bodies of complete requests and of the one that is being answered; what the application knows.
        self._bodies = self._current = self._noted = 0
        #: A request is being answered.
        self.busy = False
        self.streaming = False
        self.closing = False
        self.address = ""
        #: The port of the server that the client has connected to.
        self.port = 0
        self.number = 0
        #: Since when the connection has been waiting: for (the rest of) a request, or for the client to read.
        self.since = 0.0
        #: Bytes of a stream that wait until the client has read more.
        self.queued = 0

    @property
    def paused(self) -> bool:
        """Return whether the client does not read what it is sent."""
        return self._outbox.paused

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to read them."""
        return self._outbox.unread + self.queued

    @property
    def answers(self) -> int:
        """Answers that the client can leave unread at once: HTTP/1.1 has one at a time."""
        return 1

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins with a client."""
        self._transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(self._transport)
        self.address, self.port = endpoints(transport)
        self._secure = transport.get_extra_info("sslcontext") is not None
        self.since = monotonic()
        self.number = self._app.connected(self)

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the client that TLS has verified, or nothing."""
        if not self._secure:
            return _NO_CERTIFICATE
        certificate: Mapping[str, Any] | None = self._transport.get_extra_info("peercert")
        return certificate or {}

    def data_received(self, data: bytes) -> None:
        """Read some bytes; perhaps half a request, perhaps several."""
        if self._lingering or self.closing:
            return
        was_reading = self._parser.reading
        try:
            self._parser.feed(data)
        except BadMessage as error:
            # What came before is answered first.
            self._bad = error
        if self._parser.reading and not was_reading:
            self.since = monotonic()
        self._serve_ready()
        self._note_bodies()

    def _take(self, incoming: Incoming) -> None:
        self._ready.append(incoming)
        self._bodies += len(incoming.body)

    def _note_bodies(self) -> None:
        kept = self._parser.buffered + self._bodies
        if kept != self._noted and (kept > SMALL_BODY or self._noted):
            self._noted = kept
            self._app.buffering(self, kept)

    def _continue(self) -> None:
        """Tells a client that asked first to send its body."""
        if not self.busy and not self._ready:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def eof_received(self) -> bool:
        """Stop reading: the client gets the answer it waits for, but a stream ends."""
        waiting = self.busy and not self.streaming and not self._secure
        self.closing = True
        if waiting:
            self._ready.clear()
        else:
            # What is still written while TLS shuts down would be a warning of asyncio each.
            self._finish()
        return waiting

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        """Forgets the client, which has gone."""
        self.closing = True
        self._ready.clear()
        self._outbox.clear()
        gone, self._on_lost, self._on_writable = self._on_lost, None, None
        if gone is not None:
            gone()
        self._app.disconnected(self)
        self._parser.close()

    def pause_writing(self) -> None:
        """Stop sending: the client is slow."""
        self._outbox.paused = True
        self.since = monotonic()
        self._app.stalled(self)

    def resume_writing(self) -> None:
        """Goes on sending: the client has caught up."""
        self.since = monotonic()
        self._outbox.resume()
        if self.paused:
            return
        if self.closing and not self.busy and not self._lingering:
            self._transport.close()
        elif self._on_writable is not None:
            self._on_writable()
        elif not self.busy:
            self._serve_soon()

    # Answering

    def _serve_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._serve_scheduled)

    def _serve_scheduled(self) -> None:
        self._scheduled = False
        self._serve_ready()

    def _serve_ready(self) -> None:
        if self._serving:
            return
        self._serving = True
        turn_ends = monotonic() + _TURN
        try:
            while self._ready and not self.busy and not self.closing and not self.paused:
                now = monotonic()
                if now > turn_ends:
                    self._serve_soon()
                    break
                incoming = self._ready.popleft()
                complaint = mistake(incoming)
                if complaint is not None:
                    self._refuse(400, complaint)
                    return
                if incoming.headers.get("expect", "100-continue").lower() != "100-continue":
                    self._refuse(417)
                    return
                self.busy = True
                self._current = len(incoming.body)
                incoming.received = now
                self._app.serve(incoming, self)
            if self._bad is not None and not self._ready and not self.busy and not self.closing:
                self._refuse(self._bad.code, self._bad.detail)
            self._read_or_not()
        finally:
            self._serving = False

    def _read_or_not(self) -> None:
        """Read on only when no request waits, so that a client that sends without reading is held back."""
        if not self.closing:
            set_reading(self._transport, not self._ready and self._bad is None)

    def respond(self, head: bytes, body: bytes, *, keep_alive: bool) -> None:
        """Send a whole answer."""
        if self._transport.is_closing():
            return
        if len(body) > HIGH_WATER:
            self._outbox.send(head, body)
        else:
            self._outbox.send(head + body)
        self._answered(keep_alive)

    def _finish(self) -> None:
        """Close the connection once the client has been sent everything."""
        if not self._outbox:
            self._transport.close()

    def _answered(self, keep_alive: bool) -> None:
        self.busy = self.streaming = False
        self.since = monotonic()
        if self._current:
            self._bodies -= self._current
            self._current = 0
            self._note_bodies()
        if not keep_alive or self.closing:
            self.close()
        elif not self._serving:
            self._serve_ready()

    def take_over(self, head: bytes, protocol: asyncio.Protocol) -> asyncio.Transport:
        """Send the head of the last answer, 101, and give the rest of the connection to another protocol.

        That one calls :meth:`connection_lost` when the client has gone.
        """
        self.streaming = True
        self._transport.write(head)
        self._transport.set_protocol(protocol)
        set_reading(self._transport, wanted=True)
        return self._transport

    def send(self, *parts: bytes) -> None:
        """Send bytes of another protocol, which has taken over."""
        if not self._transport.is_closing():
            self._outbox.send(*parts)

    def finish(self) -> None:
        """End an answer in another protocol."""
        self._on_writable = self._on_lost = None
        if not self._transport.is_closing():
            self._answered(keep_alive=False)

    def begin_stream(
        self, head: bytes, *, on_writable: Callable[[], None], on_lost: Callable[[], None], watch: bool = True
    ) -> None:
        """Send the head of an answer that goes on for some time; a ``watch`` goes on until one side ends it."""
        if self._transport.is_closing():
            on_lost()
            return
        self.streaming = watch
        self._on_writable, self._on_lost = on_writable, on_lost
        self._outbox.send(head)

    def write(self, data: bytes) -> None:
        """Send a part of a stream."""
        if not data or self._transport.is_closing():
            return
        if len(data) > HIGH_WATER:
            self._outbox.send(b"%x\r\n" % len(data), data, b"\r\n")
        else:
            self._outbox.send(chunk(data))

    def end_stream(self, last: bytes, *, keep_alive: bool) -> None:
        """Send the end of a stream."""
        self._on_writable = self._on_lost = None
        if self._transport.is_closing():
            return
        self._outbox.send(chunk(last) + _LAST_CHUNK if last else _LAST_CHUNK)
        self._answered(keep_alive)

    def close(self) -> None:
        """Hangs up when everything has been sent.

        Closing while the client is still sending would reset the connection and may lose the answer: when its body was
        cut off, the rest is read and dropped until the sweep ends it.
        """
        self.closing = True
        if self._parser.cut and not self._lingering:
            self._lingering = True
            self.since = monotonic()
            self._transport.resume_reading()
            if self._transport.can_write_eof() and not self._outbox:
                self._transport.write_eof()
            return
        self._finish()

    def abort(self) -> None:
        """Hangs up at once."""
        self._transport.abort()

    def expire(self, *, now: float, idle: float, request: float, linger: float) -> None:
        """Hangs up on a client that has kept the server waiting for too long."""
        waited = now - self.since
        if self.paused and not self.streaming and waited > request:
            self.abort()
        if self.busy:
            return
        if self._lingering or self.closing:
            if waited > linger:
                self.abort()
        elif self._parser.reading:
            if waited > request:
                self._refuse(408)
        elif waited > idle:
            self.close()

    def _refuse(self, code: int, detail: str = "") -> None:
        """Answers bytes that are not a request, as Go's HTTP server does, and hangs up."""
        self._ready.clear()
        if self.busy:
            self.abort()
            return
        reason = f"{code} {_REASONS[code]}"
        head = f"HTTP/1.1 {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        self._outbox.send(f"{head}{reason}{detail}".encode())
        self.closing = True
        self._finish()
