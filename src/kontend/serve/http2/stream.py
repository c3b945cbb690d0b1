"""One stream of an HTTP/2 connection: a request and its answer.

To the application a stream looks as a connection of HTTP/1.1 does that is used for one request. What the client's
windows do not allow yet waits in the stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Final, Protocol

from kontend.cluster.request import BODY_LIMIT
from kontend.serve.http.request_parser import Incoming
from kontend.serve.http2 import frames
from kontend.serve.http2.frames import Frame, StreamFault

#: Octets that a client may send for one request before it has to wait.
STREAM_WINDOW: Final = BODY_LIMIT + (1 << 20)


class Carrier(Protocol):
    """The parts of :class:`~kontend.serve.http2.connection.Http2Connection` that its streams use."""

    address: str
    port: int
    number: int
    #: The operating system does not take more bytes.
    choked: bool

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the client."""

    def send(self, data: bytes) -> None:
        """Send frames."""

    def send_data(self, stream: Stream, data: bytes, *, end: bool) -> int:
        """Send as much of a body as the windows allow; return how much that is."""

    def waits(self, stream: Stream) -> None:
        """Note that a stream waits for its window."""

    def finished(self, stream: Stream) -> None:
        """Forgets a stream whose answer has been sent."""

    def break_off(self, stream: Stream, code: int) -> None:
        """Reset a stream."""

    def abandoned(self, change: int) -> None:
        """Count the requests that the client has given up and that the application still works on."""


class Stream:
    """A request and its answer."""

    __slots__ = (
        "_carrier",
        "_ends",
        "_on_lost",
        "_on_writable",
        "_outbox",
        "body",
        "closed",
        "cut",
        "declared",
        "id",
        "incoming",
        "kept",
        "queued",
        "received",
        "served",
        "since",
        "streaming",
        "whole",
        "window",
    )

    def __init__(self, carrier: Carrier, number: int, incoming: Incoming, window: int, now: float) -> None:
        self._carrier = carrier
        self._on_writable: Callable[[], None] | None = None
        self._on_lost: Callable[[], None] | None = None
        self._outbox: deque[bytes] = deque()
        self._ends = False
        self.id = number
        self.incoming = incoming
        #: The body so far, its length in the head if it is there, and the octets of its frames.
        self.body = bytearray()
        self.declared: int | None = None
        self.received = 0
        #: Octets of the body that are kept until the answer has been sent.
        self.kept = 0
        #: The request is complete; its body was too long; it has gone to the application.
        self.whole = False
        self.cut = False
        self.served = False
        #: Octets that the client takes.
        self.window = window
        self.streaming = False
        self.closed = False
        #: Since when the stream has waited: for the rest of the request, or for its window.
        self.since = now
        #: Bytes of a watch that wait until the client has read more.
        self.queued = 0

    # As of a connection

    @property
    def address(self) -> str:
        """The address of the client."""
        return self._carrier.address

    @property
    def port(self) -> int:
        """The port of the server that the client has connected to."""
        return self._carrier.port

    @property
    def number(self) -> int:
        """The number of the connection."""
        return self._carrier.number

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the client that TLS has verified, or nothing."""
        return self._carrier.certificate

    @property
    def paused(self) -> bool:
        """Returns whether the client does not take what it is sent."""
        return self._carrier.choked or bool(self._outbox)

    def respond(self, head: bytes, body: bytes, *, keep_alive: bool) -> None:  # noqa: ARG002 - as of a connection
        """Send a whole answer."""
        if self.closed:
            self._carrier.abandoned(-1)
            return
        self._carrier.send(frames.headers(self.id, head, end=not body))
        self._ends = True
        if body:
            self._send(body)
        else:
            self._carrier.finished(self)

    def begin_stream(
        self, head: bytes, *, on_writable: Callable[[], None], on_lost: Callable[[], None], watch: bool = True
    ) -> None:
        """Send the head of an answer that goes on for some time; a ``watch`` goes on until one side ends it."""
        if self.closed:
            self._carrier.abandoned(-1)
            on_lost()
            return
        self.streaming = watch
        self._on_writable, self._on_lost = on_writable, on_lost
        self._carrier.send(frames.headers(self.id, head, end=False))

    def write(self, data: bytes) -> None:
        """Send a part of a stream."""
        if data and not self.closed:
            self._send(data)

    def end_stream(self, last: bytes, *, keep_alive: bool) -> None:  # noqa: ARG002 - as of a connection
        """Send the end of a stream."""
        self._on_writable = self._on_lost = None
        if not self.closed:
            self._ends = True
            self._send(last)

    def abort(self) -> None:
        """Break the answer off."""
        if not self.closed:
            self.served = False  # the application has given it up too
            self._carrier.break_off(self, frames.INTERNAL_ERROR)

    # As of HTTP/2

    def receive(self, received: Frame) -> None:
        """Add a frame to the body. Raises a :class:`StreamFault`."""
        self.received += len(received.payload)
        if self.received > STREAM_WINDOW:
            raise StreamFault(frames.FLOW_CONTROL_ERROR, self.id)
        if not self.cut:
            self.body += frames.content(received)
            if len(self.body) > BODY_LIMIT:
                # One byte too many is enough to be refused; the rest is not kept.
                del self.body[BODY_LIMIT + 1 :]
                self.cut = True
            self.kept = len(self.body)

    def request(self) -> Incoming:
        """Return the request, which goes to the application now."""
        request, self.served = self.incoming, True
        if self.body:
            request.body, self.body = bytes(self.body), bytearray()
        request.received = monotonic()
        return request

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to take them."""
        return sum(map(len, self._outbox)) + self.queued

    @property
    def stalled(self) -> bool:
        """Returns whether the client does not take a part of a whole answer."""
        return bool(self._outbox) and not self.streaming

    def _send(self, data: bytes) -> None:
        sent = 0
        if not self._outbox:
            sent = self._carrier.send_data(self, data, end=self._ends)
            if sent == len(data):
                if self._ends:
                    self._carrier.finished(self)
                return
            self.since = monotonic()
        self._outbox.append(data[sent:])
        self._carrier.waits(self)

    def resume(self) -> bool:
        """Send what waits, as far as the windows allow; return whether nothing is left."""
        while self._outbox:
            data = self._outbox[0]
            sent = self._carrier.send_data(self, data, end=self._ends and len(self._outbox) == 1)
            if sent:
                self.since = monotonic()
            if sent < len(data):
                self._outbox[0] = data[sent:]
                return False
            self._outbox.popleft()
        if self._ends:
            self._carrier.finished(self)
        else:
            self.writable()
        return True

    def writable(self) -> None:
        """Lets a watch go on."""
        if self._on_writable is not None and not self.paused:
            self._on_writable()

    def lose(self) -> None:
        """End the stream for the application: it has been reset, or the client has gone."""
        self.closed = True
        self._outbox.clear()
        lost, self._on_lost, self._on_writable = self._on_lost, None, None
        if lost is not None:
            lost()
        elif self.served and not self._ends:
            self._carrier.abandoned(1)
