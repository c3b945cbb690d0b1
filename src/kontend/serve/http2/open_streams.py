"""The open streams of a connection, and flow control: the octets that each side takes on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kontend.serve.http2 import frames
from kontend.serve.http2.frames import ConnectionFault, Frame, StreamFault
from kontend.serve.http2.stream import Stream

#: Octets that a client may send before it has to wait, for all requests together.
WINDOW: Final = 16 << 20


class OpenStreams:
    """Streams by their numbers. Those that wait for a window take turns."""

    def __init__(self) -> None:
        self._streams: dict[int, Stream] = {}
        #: Streams that wait for a window.
        self._waiting: dict[Stream, None] = {}
        #: Streams whose requests are complete and wait until others have been read.
        self.ready: dict[Stream, None] = {}
        #: The number of the last stream that the client has begun.
        self.last = 0
        #: Octets that the client takes: on all streams, and on a new one.
        self._window = frames.DEFAULT_WINDOW
        self.initial_window = frames.DEFAULT_WINDOW
        #: Octets that the client may send.
        self._credit = WINDOW
        #: Octets of bodies that are kept.
        self.kept = 0

    def __len__(self) -> int:
        return len(self._streams)

    def __iter__(self) -> Iterator[Stream]:
        """Return the open streams; they may be forgotten meanwhile."""
        return iter(list(self._streams.values()))

    def add(self, stream: Stream) -> None:
        """Add a stream that has begun."""
        self._streams[stream.id] = stream

    def get(self, number: int) -> Stream | None:
        """Return a stream, or None if it is not open."""
        return self._streams.get(number)

    def of_frame(self, number: int) -> Stream | None:
        """Return the stream of a frame, or None if it has been closed. Raises a :class:`ConnectionFault`."""
        if not number % 2 or number > self.last:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"stream {number} has not begun")
        return self._streams.get(number)

    def forget(self, stream: Stream) -> None:
        """Remove a stream."""
        if self._streams.pop(stream.id, None) is not None:
            self.kept -= stream.kept
        self._waiting.pop(stream, None)
        self.ready.pop(stream, None)

    def lose(self) -> None:
        """End all streams for the application."""
        streams = list(self._streams.values())
        self.kept = 0
        self._streams.clear()
        self._waiting.clear()
        self.ready.clear()
        for stream in streams:
            stream.lose()

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to take them."""
        return sum(stream.unread for stream in self._streams.values())

    def receive(self, stream: Stream, received: Frame) -> None:
        """Add a frame to the body of a stream. Raises a :class:`StreamFault`."""
        before = stream.kept
        stream.receive(received)
        self.kept += stream.kept - before

    # Flow control

    @property
    def is_waiting(self) -> bool:
        """Returns whether a stream waits for a window."""
        return bool(self._waiting)

    @property
    def waiting(self) -> int:
        """Return the number of streams that wait for a window."""
        return len(self._waiting)

    def wait(self, stream: Stream) -> bool:
        """Note that a stream waits for a window; return whether it did not wait before."""
        if stream in self._waiting:
            return False
        self._waiting[stream] = None
        return True

    def count(self, size: int) -> int:
        """Count octets that the client has sent; return how many more it may send because of it.

        Raises a :class:`ConnectionFault` where these were too many.
        """
        self._credit -= size
        if self._credit < 0:
            raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "more data than allowed")
        if self._credit >= WINDOW // 2:
            return 0
        more, self._credit = WINDOW - self._credit, WINDOW
        return more

    def take(self, stream: Stream, size: int) -> int:
        """Return how many of some octets the windows allow to send now, and makes the windows smaller by them."""
        allowed = max(0, min(size, stream.window, self._window))
        self._window -= allowed
        stream.window -= allowed
        return allowed

    def enlarge(self, number: int, more: int) -> None:
        """Enlarges the window of a stream, or with 0 that of the connection. Raises a fault if it becomes too large."""
        if not number:
            self._window += more
            if not more or self._window > frames.LARGEST_WINDOW:
                raise ConnectionFault(frames.FLOW_CONTROL_ERROR if more else frames.PROTOCOL_ERROR, "a wrong window")
            self._resume_waiting()
            return
        stream = self.of_frame(number)
        if stream is not None:
            stream.window += more
            if not more or stream.window > frames.LARGEST_WINDOW:
                raise StreamFault(frames.FLOW_CONTROL_ERROR if more else frames.PROTOCOL_ERROR, number)
            if stream in self._waiting:
                self._resume(stream)

    def set_initial_window(self, size: int) -> None:
        """Change the window of new streams, and that of open ones by the same. Raises a :class:`ConnectionFault`."""
        if size > frames.LARGEST_WINDOW:
            raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large")
        change, self.initial_window = size - self.initial_window, size
        for stream in self._streams.values():
            stream.window += change
            if stream.window > frames.LARGEST_WINDOW:
                raise ConnectionFault(frames.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large")
        if change > 0:
            self._resume_waiting()

    def _resume_waiting(self) -> None:
        for stream in list(self._waiting):
            if self._window > 0 and stream in self._waiting:
                self._resume(stream)

    def _resume(self, stream: Stream) -> None:
        """Send what waits in a stream, and puts it behind the others if something is left."""
        del self._waiting[stream]
        if not stream.resume():
            self._waiting[stream] = None
