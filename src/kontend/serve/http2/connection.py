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

from kontend.cluster.request import BODY_LIMIT
from kontend.serve.http import hpack
from kontend.serve.http.connection import endpoints
from kontend.serve.http.request_parser import HEADER_COUNT, HEADER_LIMIT, Incoming
from kontend.serve.http2 import frames
from kontend.serve.http2.frames import ConnectionFault, Frame, FrameReader, StreamFault
from kontend.serve.http2.head import Malformed, Refused, declared_length, incoming
from kontend.serve.http2.stream import Stream

#: Requests that a client may have open at once, as Go's server allows.
MOST_STREAMS: Final = 250
#: Requests that a client may have given up while the application still works on them.
MOST_ABANDONED: Final = 1000
#: Octets that a client may send before it has to wait: for one request, and for all.
_STREAM_WINDOW: Final = BODY_LIMIT + (1 << 20)
_WINDOW: Final = 16 << 20
#: Octets that may wait for the windows of the client before its next requests wait as well.
_MOST_UNSENT: Final = 16 << 20
#: Writing pauses when the operating system has not taken this much.
_HIGH_WATER: Final = 64 * 1024
#: Seconds for which the frames of one client are handled before others get a turn.
_TURN: Final = 0.005

_NO_CERTIFICATE: Final[Mapping[str, Any]] = {}
_SETTINGS: Final = {
    frames.MAX_CONCURRENT_STREAMS: MOST_STREAMS,
    frames.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
    frames.MAX_HEADER_LIST_SIZE: HEADER_LIMIT,
}


class Application(Protocol):
    """Answers the requests of connections."""

    def serve(self, incoming: Incoming, connection: Stream) -> None:
        """Answers through the stream, now or later."""

    def connected(self, connection: Http2Connection) -> int:
        """Notes a new client; returns its number."""

    def disconnected(self, connection: Http2Connection) -> None:
        """Forgets a client that has gone."""

    def stalled(self, connection: Http2Connection) -> None:
        """Notes a client that has not read what it was sent."""


class Http2Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._reader = FrameReader()
        self._decoder = hpack.Decoder()
        self._greeted = False
        #: The header block that is being received: its stream, whether that ends, and its parts.
        self._block: tuple[int, bool, bytearray] | None = None
        self._streams: dict[int, Stream] = {}
        #: Streams that wait for a window, and requests that wait until others have been read.
        self._waiting: dict[Stream, None] = {}
        self._ready: dict[Stream, None] = {}
        self._last = 0
        self._abandoned = 0
        #: Octets that the client takes, on all streams and on a new one; octets that it may send.
        self._window = frames.DEFAULT_WINDOW
        self._stream_window = frames.DEFAULT_WINDOW
        self._credit = _WINDOW
        self._unsent: list[bytes] | None = None
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
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self.address, self.port = endpoints(transport)
        self.since = monotonic()
        self.number = self._app.connected(self)
        self.send(frames.settings(_SETTINGS) + frames.window_update(0, _WINDOW - frames.DEFAULT_WINDOW))

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the client that TLS has verified, or nothing."""
        return self._transport.get_extra_info("peercert") or _NO_CERTIFICATE

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to read them."""
        return self._transport.get_write_buffer_size() + sum(stream.unread for stream in self._streams.values())

    @property
    def paused(self) -> bool:
        """Returns whether the client has not read what it was sent."""
        return self.choked or bool(self._waiting)

    def data_received(self, data: bytes) -> None:
        """Reads some bytes."""
        if not self._transport.is_closing():
            self._reader.feed(data)
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio calls it so
        """Forgets the client, which has gone."""
        self.closing = True
        streams = list(self._streams.values())
        self._streams.clear()
        self._ready.clear()
        self._waiting.clear()
        for stream in streams:
            stream.lose()
        self._app.disconnected(self)

    def pause_writing(self) -> None:
        """Stops sending and reading: the client is slow."""
        self.choked = True
        self.since = monotonic()
        self._transport.pause_reading()
        self._app.stalled(self)

    def resume_writing(self) -> None:
        """Goes on: the client has caught up."""
        self.choked = False
        self.since = monotonic()
        for stream in list(self._streams.values()):
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
        """Serves the requests that are complete and handles the frames that have come, for a turn."""
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
        unsent, self._unsent = self._unsent, None
        if unsent and not self._transport.is_closing():
            self._transport.write(b"".join(unsent))
        if self.closing and not self._streams:
            self._transport.close()
        elif not self._transport.is_closing():
            self._read_or_not()
        if self.choked or self._scheduled or not (self._reader.pending or self._block is not None):
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = monotonic()

    def _read_or_not(self) -> None:
        wanted = not self.choked and not self._scheduled
        if wanted != self._transport.is_reading():
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _serve_one(self) -> bool:
        if not self._ready or (self._waiting and self.unread > _MOST_UNSENT):
            return False
        stream = next(iter(self._ready))
        del self._ready[stream]
        request, stream.served = stream.incoming, True
        if stream.body:
            request.body, stream.body = bytes(stream.body), bytearray()
        request.received = monotonic()
        self._app.serve(request, stream)
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
        if (self._block is not None) != (kind == frames.CONTINUATION):
            raise ConnectionFault(frames.PROTOCOL_ERROR, "a header block must be sent as a whole")
        if kind == frames.HEADERS:
            self._headers(received)
        elif kind == frames.DATA:
            self._data(received)
        elif kind == frames.WINDOW_UPDATE:
            self._window_update(received.stream, frames.number(received.payload) & frames.LARGEST_WINDOW)
        elif kind == frames.RST_STREAM:
            frames.number(received.payload)
            self._reset(self._stream(received.stream))
        elif kind == frames.CONTINUATION:
            self._continuation(received)
        elif kind == frames.SETTINGS:
            self._settings(received)
        elif kind == frames.PING:
            self._ping(received)
        elif kind == frames.PRIORITY:
            if not received.stream:
                raise ConnectionFault(frames.PROTOCOL_ERROR, "PRIORITY needs a stream")
            if len(received.payload) != 5:
                raise StreamFault(frames.FRAME_SIZE_ERROR, received.stream)
        elif kind == frames.PUSH_PROMISE:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "a client cannot push")
        elif kind == frames.GOAWAY and received.stream:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "GOAWAY has no stream")

    def _stream(self, number: int) -> Stream | None:
        """Returns the stream of a frame, or None if it has been closed. Raises a :class:`ConnectionFault`."""
        if not number % 2 or number > self._last:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"stream {number} has not begun")
        return self._streams.get(number)

    def _headers(self, received: Frame) -> None:
        part, ends = bytearray(frames.content(received)), bool(received.flags & frames.END_STREAM)
        self._block = (received.stream, ends, part)
        if received.flags & frames.END_HEADERS:
            self._end_headers()

    def _continuation(self, received: Frame) -> None:
        assert self._block is not None  # the caller has looked
        number, _, part = self._block
        if received.stream != number or not (received.payload or received.flags & frames.END_HEADERS):
            raise ConnectionFault(frames.PROTOCOL_ERROR, "a header block must be sent as a whole")
        part += received.payload
        if len(part) > HEADER_LIMIT:
            raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "a header block is too large")
        if received.flags & frames.END_HEADERS:
            self._end_headers()

    def _end_headers(self) -> None:
        assert self._block is not None  # the caller has looked
        number, ends, block = self._block
        self._block = None
        try:
            fields = self._decoder.decode(bytes(block), octets=HEADER_LIMIT, count=HEADER_COUNT)
        except hpack.BadHeaderBlock as error:
            raise ConnectionFault(frames.COMPRESSION_ERROR, f"the header block is wrong: {error}") from None
        except hpack.HeadersTooLarge:
            self._answer(number, 431)
            raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "there are too many headers") from None
        if number > self._last:
            self._begin(number, fields, ends)
            return
        stream = self._stream(number)
        if stream is None or stream.whole:
            raise ConnectionFault(frames.STREAM_CLOSED, f"stream {number} has ended")
        if not ends:
            raise StreamFault(frames.PROTOCOL_ERROR, number)
        self._end(stream)  # these were trailers, which nothing reads

    def _begin(self, number: int, fields: list[hpack.Field], ends: bool) -> None:
        """Begins a request."""
        if not number % 2:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "the streams of a client have odd numbers")
        if self.closing:
            return  # it has been told that later requests are not looked at
        self._last = number
        if len(self._streams) >= MOST_STREAMS:
            raise StreamFault(frames.REFUSED_STREAM, number)
        try:
            stream = Stream(self, number, incoming(fields), self._stream_window, monotonic())
            stream.declared = declared_length(stream.incoming)
        except Malformed:
            raise StreamFault(frames.PROTOCOL_ERROR, number) from None
        except Refused as refused:
            self._answer(number, refused.code)
            if not ends:
                self.send(frames.rst_stream(number, frames.NO_ERROR))
            return
        self._streams[number] = stream
        if ends:
            self._end(stream)
        elif stream.incoming.headers.get("expect", "").lower() == "100-continue":
            self.send(frames.headers(number, hpack.status_field(100), end=False))

    def _answer(self, number: int, code: int) -> None:
        """Answers for the application, without a body."""
        self.send(frames.headers(number, hpack.status_field(code), end=True))

    def _end(self, stream: Stream) -> None:
        """Ends a request."""
        stream.whole = True
        if stream.cut:
            return
        if stream.declared is not None and stream.declared != len(stream.body):
            raise StreamFault(frames.PROTOCOL_ERROR, stream.id)
        self._ready[stream] = None

    def _data(self, received: Frame) -> None:
        size = len(received.payload)
        self._credit -= size
        if self._credit < 0:
            raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "more data than allowed")
        if self._credit < _WINDOW // 2:
            self.send(frames.window_update(0, _WINDOW - self._credit))
            self._credit = _WINDOW
        stream = self._stream(received.stream)
        if stream is None or stream.whole:
            raise StreamFault(frames.STREAM_CLOSED, received.stream)
        stream.received += size
        if stream.received > _STREAM_WINDOW:
            raise StreamFault(frames.FLOW_CONTROL_ERROR, received.stream)
        if not stream.cut:
            stream.body += frames.content(received)
            if len(stream.body) > BODY_LIMIT:
                # One byte too many is enough to be refused; the rest is not kept.
                del stream.body[BODY_LIMIT + 1 :]
                stream.cut = True
                self._ready[stream] = None
        if received.flags & frames.END_STREAM:
            self._end(stream)

    def _window_update(self, number: int, more: int) -> None:
        if not number:
            self._window += more
            if not more or self._window > frames.LARGEST_WINDOW:
                raise ConnectionFault(frames.FLOW_CONTROL_ERROR if more else frames.PROTOCOL_ERROR, "a wrong window")
            self._resume_waiting()
            return
        stream = self._stream(number)
        if stream is not None:
            stream.window += more
            if not more or stream.window > frames.LARGEST_WINDOW:
                raise StreamFault(frames.FLOW_CONTROL_ERROR if more else frames.PROTOCOL_ERROR, number)
            if stream in self._waiting:
                self._resume(stream)

    def _resume_waiting(self) -> None:
        for stream in list(self._waiting):
            if self._window > 0 and stream in self._waiting:
                self._resume(stream)

    def _resume(self, stream: Stream) -> None:
        """Sends what waits in a stream, and puts it behind the others if something is left."""
        del self._waiting[stream]
        if not stream.resume():
            self._waiting[stream] = None

    def _settings(self, received: Frame) -> None:
        if received.stream or (received.flags & frames.ACK and received.payload):
            raise ConnectionFault(frames.PROTOCOL_ERROR, "SETTINGS is wrong")
        if received.flags & frames.ACK:
            return
        for name, value in frames.settings_in(received.payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._change_windows(value)
            elif name == frames.ENABLE_PUSH and value > 1:
                raise ConnectionFault(frames.PROTOCOL_ERROR, "ENABLE_PUSH is wrong")
            elif name == frames.MAX_FRAME_SIZE and not frames.FRAME_SIZE <= value <= frames.LARGEST_FRAME_SIZE:
                raise ConnectionFault(frames.PROTOCOL_ERROR, "MAX_FRAME_SIZE is wrong")
        self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))

    def _change_windows(self, size: int) -> None:
        if size > frames.LARGEST_WINDOW:
            raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large")
        change, self._stream_window = size - self._stream_window, size
        for stream in self._streams.values():
            stream.window += change
            if stream.window > frames.LARGEST_WINDOW:
                raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large")
        if change > 0:
            self._resume_waiting()

    def _ping(self, received: Frame) -> None:
        if received.stream or len(received.payload) != 8:
            code = frames.PROTOCOL_ERROR if received.stream else frames.FRAME_SIZE_ERROR
            raise ConnectionFault(code, "PING is wrong")
        if not received.flags & frames.ACK:
            self.send(frames.frame(frames.PING, frames.ACK, 0, received.payload))

    def _reset(self, stream: Stream | None) -> None:
        """Drops a request that the client has given up."""
        if stream is not None:
            self._forget(stream)
            stream.lose()
            if self._abandoned > MOST_ABANDONED:
                raise ConnectionFault(frames.ENHANCE_YOUR_CALM, "too many requests were given up")

    # Frames out

    def send(self, data: bytes) -> None:
        """Sends frames: what belongs to one turn in one go."""
        if self._unsent is not None:
            self._unsent.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def send_data(self, stream: Stream, data: bytes, *, end: bool) -> int:
        """Sends as much of a body as the windows allow; returns how much that is."""
        size = len(data)
        allowed = max(0, min(size, stream.window, self._window))
        self._window -= allowed
        stream.window -= allowed
        if allowed == size <= frames.FRAME_SIZE:
            self.send(frames.frame(frames.DATA, frames.END_STREAM if end else 0, stream.id, data))
            return size
        for start in range(0, allowed, frames.FRAME_SIZE):
            stop = min(start + frames.FRAME_SIZE, allowed)
            flags = frames.END_STREAM if end and stop == size else 0
            self.send(frames.frame(frames.DATA, flags, stream.id, data[start:stop]))
        return allowed

    def waits(self, stream: Stream) -> None:
        """Notes that a stream waits for its window."""
        if stream not in self._waiting:
            self._waiting[stream] = None
            self._app.stalled(self)

    def finished(self, stream: Stream) -> None:
        """Forgets a stream whose answer has been sent."""
        stream.closed = True
        self.since = monotonic()
        if not stream.whole:  # the rest of the request does not matter
            self.send(frames.rst_stream(stream.id, frames.NO_ERROR))
        self._forget(stream)
        if self._unsent is None and (self._ready or (self.closing and not self._streams)):
            self._go_on_soon()

    def break_off(self, stream: Stream, code: int) -> None:
        """Resets a stream."""
        self.send(frames.rst_stream(stream.id, code))
        self._forget(stream)
        stream.lose()

    def _forget(self, stream: Stream) -> None:
        self._streams.pop(stream.id, None)
        self._waiting.pop(stream, None)
        self._ready.pop(stream, None)

    def abandoned(self, change: int) -> None:
        """Counts the requests that the client has given up and that the application still works on."""
        self._abandoned = max(0, self._abandoned + change)

    # The end

    def close(self) -> None:
        """Ends the connection when what has been asked is answered."""
        if not self.closing:
            self.closing = True
            self.since = monotonic()
            self.send(frames.goaway(self._last, frames.NO_ERROR))
        if not self._streams:
            self._transport.close()

    def _give_up(self, code: int, text: str) -> None:
        """Tells the client its mistake and hangs up."""
        self.send(frames.goaway(self._last, code, text))
        self.closing = True
        for stream in list(self._streams.values()):
            self._forget(stream)
            stream.lose()

    def abort(self) -> None:
        """Hangs up at once."""
        self._transport.abort()

    def expire(self, *, now: float, idle: float, request: float, linger: float) -> None:
        """Hangs up on a client that has kept the server waiting for too long, and resets such streams."""
        waited = now - self.since
        streams = list(self._streams.values())
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
