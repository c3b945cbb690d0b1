"""One HTTP/2 connection: frames in, the requests of many streams to the application, answers back as they come.

The limits are those of HTTP/1.1, for as many requests as a connection may carry at once. Each stream may send a body
of the largest size without waiting, so only the window of the connection is ever refilled. Frames are handled in turns,
and nothing is read while the operating system does not take more bytes for the client.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, Protocol, cast

from kontend.serve.http import hpack
from kontend.serve.http.connection import endpoints, set_reading
from kontend.serve.http.outbox import HIGH_WATER, unsent
from kontend.serve.http.request_parser import HEADER_LIMIT, SMALL_BODY, Incoming
from kontend.serve.http2 import frames
from kontend.serve.http2.frames import ConnectionFault, Frame, FrameReader, StreamFault
from kontend.serve.http2.head import Malformed, Refused, declared_length, incoming
from kontend.serve.http2.header_block import Block, HeaderBlocks
from kontend.serve.http2.open_streams import WINDOW, OpenStreams
from kontend.serve.http2.stream import STREAM_WINDOW, Stream

#: Requests that a client may have open at once, as Go's server allows.
MOST_STREAMS: Final = 250
#: Requests that a client may have given up while the application still works on them.
MOST_ABANDONED: Final = 1000
#: SETTINGS, PING and the like that a client may send between two sweeps, which are a second apart.
MOST_IDLE_FRAMES: Final = 10_000
#: A window that grows by less is such a frame: clients enlarge theirs by kilobytes.
SMALLEST_UPDATE: Final = 256
#: Octets that may wait for the windows of the client before its next requests wait as well.
_MOST_UNSENT: Final = 16 << 20
#: Seconds for which the frames of one client are handled before others get a turn.
_TURN: Final = 0.005

_NO_CERTIFICATE: Final[Mapping[str, Any]] = {}
_SETTINGS: Final = {
    frames.MAX_CONCURRENT_STREAMS: MOST_STREAMS,
    frames.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
    frames.MAX_HEADER_LIST_SIZE: HEADER_LIMIT,
}


class Application(Protocol):
    """Answers the requests of connections."""

    def serve(self, incoming: Incoming, connection: Stream) -> None:
        """Answers through the stream, now or later."""

    def admits(self, incoming: Incoming, connection: Stream) -> bool:
        """Return whether a request may go on to send a large body."""

    def buffering(self, connection: Http2Connection, size: int) -> None:
        """Note the bytes of bodies that are kept for a client."""

    def connected(self, connection: Http2Connection) -> int:
        """Note a new client; return its number."""

    def disconnected(self, connection: Http2Connection) -> None:
        """Forgets a client that has gone."""

    def stalled(self, connection: Http2Connection) -> None:
        """Note a client that has not read what it was sent."""


class Http2Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._reader = FrameReader()
        self._greeted = False
        self._header_blocks = HeaderBlocks()
        self._streams = OpenStreams()
        self._abandoned = 0
        #: Bytes of bodies that the application knows of; frames that ask for nothing, since the last sweep.
        self._noted = 0
        self._idle_frames = 0
        #: The frames of this turn, and their size.
        self._unsent: list[bytes] | None = None
        self._unsent_size = 0
        self._scheduled = False
        self.choked = False
        self.closing = False
        self.address = ""
        self.port = 0
        self.number = 0
        #: Since when the client has waited for nothing, or has not read; since when a frame has been incomplete.
        self.since = 0.0
        self._incomplete_since: float | None = None

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins with a client."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self.address, self.port = endpoints(transport)
        self.since = monotonic()
        self.number = self._app.connected(self)
        self.send(frames.settings(_SETTINGS) + frames.window_update(0, WINDOW - frames.DEFAULT_WINDOW))

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the client that TLS has verified, or nothing."""
        return self._transport.get_extra_info("peercert") or _NO_CERTIFICATE

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to read them."""
        return unsent(self._transport) + self._streams.unread

    @property
    def answers(self) -> int:
        """Answers that wait for the client to take them."""
        return self._streams.waiting

    @property
    def paused(self) -> bool:
        """Returns whether the client has not read what it was sent."""
        return self.choked or self._streams.is_waiting

    def data_received(self, data: bytes) -> None:
        """Read some bytes."""
        if not self._transport.is_closing():
            self._reader.feed(data)
            self._go_on()

    def eof_received(self) -> None:
        """Close the connection: what is still written while TLS shuts down would be a warning of asyncio each."""
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        """Forgets the client, which has gone."""
        self.closing = True
        self._streams.lose()
        self._app.disconnected(self)

    def pause_writing(self) -> None:
        """Stop sending and reading: the client is slow."""
        self.choked = True
        self.since = monotonic()
        self._transport.pause_reading()
        self._app.stalled(self)

    def resume_writing(self) -> None:
        """Goes on: the client has caught up."""
        self.choked = False
        self.since = monotonic()
        for stream in self._streams:
            stream.writable()
        self._go_on_soon()

    # Turns

    def _go_on_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._go_on_scheduled)

    def _go_on_scheduled(self) -> None:
        self._scheduled = False
        if not self._transport.is_closing():
            self._go_on()

    def _go_on(self) -> None:
        """Serve the requests that are complete and handles the frames that have come, for a turn."""
        if self._unsent is not None:
            return
        self._unsent = []
        turn_ends = monotonic() + _TURN
        try:
            while not self.choked and (self._serve_one() or self._handle_one()):
                if monotonic() > turn_ends:
                    self._go_on_soon()
                    break
        except ConnectionFault as fault:
            self._give_up(fault.code, str(fault))
        except Exception:  # a bug of ours must not go unseen
            traceback.print_exc(file=sys.stderr)
            self._give_up(frames.INTERNAL_ERROR, "")
        self._flush()
        self._unsent = None
        self._note_bodies()
        if self.closing and not self._streams:
            self._transport.close()
        elif not self._transport.is_closing():
            set_reading(self._transport, not self.choked and not self._scheduled)
        if self.choked or self._scheduled or not (self._reader.pending or self._header_blocks.is_open):
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = monotonic()

    def _note_bodies(self) -> None:
        kept = self._streams.kept
        if kept != self._noted and (kept > SMALL_BODY or self._noted):
            self._noted = kept
            self._app.buffering(self, kept)

    def _serve_one(self) -> bool:
        ready = self._streams.ready
        if not ready or (self._streams.is_waiting and self.unread > _MOST_UNSENT):
            return False
        stream = next(iter(ready))
        del ready[stream]
        self._app.serve(stream.request(), stream)
        return True

    def _handle_one(self) -> bool:
        if not self._greeted:
            begun = self._reader.starts_with(frames.PREFACE)
            if begun is False:
                raise ConnectionFault(frames.PROTOCOL_ERROR, "the connection does not begin with HTTP/2")
            self._greeted = bool(begun)
            return self._greeted
        received = self._reader.next()
        if received is None:
            return False
        try:
            self._handle(received)
        except StreamFault as fault:
            stream = self._streams.get(fault.stream)
            if stream is None:
                self.send(frames.rst_stream(fault.stream, fault.code))
            else:
                self.break_off(stream, fault.code)
        return True

    # Frames in

    def _handle(self, received: Frame) -> None:
        kind = received.type
        if kind in (frames.HEADERS, frames.CONTINUATION) or self._header_blocks.is_open:
            block = self._header_blocks.add(received)
            if block is not None:
                self._headers(block)
        elif kind == frames.DATA:
            self._data(received)
        elif kind == frames.WINDOW_UPDATE:
            more = frames.number(received.payload) & frames.LARGEST_WINDOW
            if more < SMALLEST_UPDATE:
                self._count_idle()
            self._streams.enlarge(received.stream, more)
        elif kind == frames.RST_STREAM:
            frames.number(received.payload)
            self._reset(self._streams.of_frame(received.stream))
        elif kind == frames.SETTINGS:
            self._count_idle()
            self._settings(received)
        else:
            frames.check(received)
            self._count_idle()
            if kind == frames.PING and not received.flags & frames.ACK:
                self.send(frames.frame(frames.PING, frames.ACK, 0, received.payload))

    def _count_idle(self) -> None:
        """Count a frame that asks for nothing. Raises a :class:`ConnectionFault` for a flood of them."""
        self._idle_frames += 1
        if self._idle_frames > MOST_IDLE_FRAMES:
            raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "too many frames that ask for nothing")

    def _headers(self, block: Block) -> None:
        """Begins a request with its header fields, or ends it with trailers."""
        number = block.stream
        try:
            fields = self._header_blocks.fields(block)
        except hpack.HeadersTooLarge:
            self._answer(number, 431)
            raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "there are too many headers") from None
        if number > self._streams.last:
            self._begin(number, fields, block.ends)
            return
        stream = self._streams.of_frame(number)
        if stream is None or stream.whole:
            raise ConnectionFault(frames.STREAM_CLOSED, f"stream {number} has ended")
        if not block.ends:
            raise StreamFault(frames.PROTOCOL_ERROR, number)
        self._end(stream)  # these were trailers, which nothing reads

    def _begin(self, number: int, fields: list[hpack.Field], ends: bool) -> None:
        """Begins a request."""
        if not number % 2:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "the streams of a client have odd numbers")
        if self.closing:
            return  # GOAWAY has announced that later requests are not answered
        self._streams.last = number
        if len(self._streams) >= MOST_STREAMS:
            raise StreamFault(frames.REFUSED_STREAM, number)
        try:
            stream = Stream(self, number, incoming(fields), self._streams.initial_window, monotonic())
            stream.declared = declared_length(stream.incoming)
        except Malformed:
            raise StreamFault(frames.PROTOCOL_ERROR, number) from None
        except Refused as refused:
            self._answer(number, refused.code)
            if not ends:
                self.send(frames.rst_stream(number, frames.NO_ERROR))
            return
        self._streams.add(stream)
        if ends:
            self._end(stream)
        elif stream.incoming.headers.get("expect", "").lower() == "100-continue":
            self.send(frames.headers(number, hpack.status_field(100), end=False))

    def _answer(self, number: int, code: int) -> None:
        """Answers for the application, without a body."""
        self.send(frames.headers(number, hpack.status_field(code), end=True))

    def _end(self, stream: Stream) -> None:
        """End a request."""
        stream.whole = True
        if stream.cut:
            return
        if stream.declared is not None and stream.declared != len(stream.body):
            raise StreamFault(frames.PROTOCOL_ERROR, stream.id)
        self._streams.ready[stream] = None

    def _data(self, received: Frame) -> None:
        if not received.payload and not received.flags & frames.END_STREAM:
            self._count_idle()
        more = self._streams.count(len(received.payload))
        if more:
            self.send(frames.window_update(0, more))
        stream = self._streams.of_frame(received.stream)
        if stream is None or stream.whole:
            raise StreamFault(frames.STREAM_CLOSED, received.stream)
        self._streams.receive(stream, received)
        if stream.kept > SMALL_BODY >= stream.kept - len(received.payload):
            self._admit(stream)
        if stream.cut and not stream.served:
            self._streams.ready[stream] = None
        if received.flags & frames.END_STREAM:
            self._end(stream)

    def _admit(self, stream: Stream) -> None:
        """Drop a body that is about to become large, unless its request may send it."""
        if not self._app.admits(stream.incoming, stream):
            stream.cut = True
            stream.body.clear()

    def _settings(self, received: Frame) -> None:
        for name, value in frames.settings_in(received):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._streams.set_initial_window(value)
        if not received.flags & frames.ACK:
            self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))

    def _reset(self, stream: Stream | None) -> None:
        """Drop a request that the client has given up."""
        if stream is not None:
            self._streams.forget(stream)
            stream.lose()
            if self._abandoned > MOST_ABANDONED:
                raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "too many requests were given up")

    # Frames out

    def send(self, data: bytes) -> None:
        """Send frames: what belongs to one turn in one go."""
        if self._unsent is not None:
            self._unsent.append(data)
            self._unsent_size += len(data)
            if self._unsent_size > HIGH_WATER:
                self._flush()
        elif not self._transport.is_closing():
            self._transport.write(data)

    def _flush(self) -> None:
        """Give the transport the frames so far: it tells when the client does not read them."""
        if self._unsent and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent, self._unsent_size = [], 0

    def send_data(self, stream: Stream, data: bytes, *, end: bool) -> int:
        """Send as much of a body as the windows allow; return how much that is."""
        size = len(data)
        allowed = self._streams.take(stream, size)
        if allowed == size <= frames.FRAME_SIZE:
            self.send(frames.frame(frames.DATA, frames.END_STREAM if end else 0, stream.id, data))
            return size
        for start in range(0, allowed, frames.FRAME_SIZE):
            stop = min(start + frames.FRAME_SIZE, allowed)
            flags = frames.END_STREAM if end and stop == size else 0
            self.send(frames.frame(frames.DATA, flags, stream.id, data[start:stop]))
        return allowed

    def waits(self, stream: Stream) -> None:
        """Note that a stream waits for its window."""
        if self._streams.wait(stream):
            self._app.stalled(self)

    def finished(self, stream: Stream) -> None:
        """Forgets a stream whose answer has been sent."""
        stream.closed = True
        self.since = monotonic()
        if not stream.whole:  # the rest of the request does not matter
            self.send(frames.rst_stream(stream.id, frames.NO_ERROR))
        self._streams.forget(stream)
        self._note_bodies()
        if self._unsent is None and (self._streams.ready or (self.closing and not self._streams)):
            self._go_on_soon()

    def break_off(self, stream: Stream, code: int) -> None:
        """Reset a stream."""
        self.send(frames.rst_stream(stream.id, code))
        self._streams.forget(stream)
        stream.lose()

    def abandoned(self, change: int) -> None:
        """Count the requests that the client has given up and that the application still works on."""
        self._abandoned = max(0, self._abandoned + change)

    # The end

    def close(self) -> None:
        """End the connection when what has been asked is answered."""
        if not self.closing:
            self.closing = True
            self.since = monotonic()
            self.send(frames.goaway(self._streams.last, frames.NO_ERROR))
        if not self._streams:
            self._transport.close()

    def _give_up(self, code: int, text: str) -> None:
        """Tells the client its mistake and hangs up."""
        self.send(frames.goaway(self._streams.last, code, text))
        self.closing = True
        self._streams.lose()

    def abort(self) -> None:
        """Hangs up at once."""
        self._transport.abort()

    def expire(self, *, now: float, idle: float, request: float, linger: float) -> None:
        """Hangs up on a client that has kept the server waiting for too long, and resets such streams."""
        self._idle_frames = 0
        waited = now - self.since
        streams = list(self._streams)
        if self.closing:
            if waited > linger:
                self.abort()
        elif self.choked:
            if waited > request and not any(stream.streaming for stream in streams):
                self.abort()
        elif self._incomplete_since is not None and now - self._incomplete_since > request:
            self.abort()
        elif not streams and waited > idle:
            self.close()
        for stream in streams:
            late = not (stream.whole or stream.cut) or stream.stalled
            if late and now - stream.since > request:
                self.break_off(stream, frames.CANCEL)
