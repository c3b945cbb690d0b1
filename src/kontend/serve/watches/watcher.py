"""One client that watches: its events as they are read, and its queue when it reads slowly.

Watchers that see the same events (the same resource, namespace, selectors and form) share a :class:`Channel`. The
objects that a watch begins with are encoded only as the client reads them. A slow client keeps references to the later
events in a queue of its own; when too many have gathered it is cut off, as kube-apiserver does, and its next watch
starts from the last version it saw.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from kontend.cluster.resources import Resource
from kontend.cluster.wire.encoded import EncodedObject
from kontend.cluster.wire.present import Stream
from kontend.serve.gate import Tap
from kontend.serve.http.connection import Connection
from kontend.serve.http.media import JSON_TYPE, encode
from kontend.serve.requests.exchange import Client, Exchange
from kontend.serve.turns import Turns
from kontend.serve.watches import websocket

#: Events, and bytes of several events, that a slow client may fall behind before it is cut off.
MOST_BEHIND: Final = 1000
MOST_BYTES_BEHIND: Final = 16 << 20
#: Seconds between the bookmarks of a watch that allows them, and seconds from the last one to its end.
BOOKMARK_EVERY: Final = 60.0
BOOKMARK_BEFORE_END: Final = 2.0
#: Bytes that are given to the operating system in one go.
_AT_ONCE: Final = 64 * 1024
#: Seconds in which a client that was cut off may read what it was sent.
_LAST_WORDS: Final = 10.0

#: The parts of an event: large ones are shared by all clients that get them.
Frame = tuple[bytes, ...]
ChannelKey = tuple[Resource, str, str, str, str, object]


class Watches(Protocol):
    """The part of :class:`~kontend.serve.watches.watching.Hub` that a watcher uses."""

    turns: Turns

    def leave(self, watcher: Watcher) -> None:
        """Forgets a watcher."""

    def send_bookmark(self, watcher: Watcher) -> None:
        """Send a client the version it has reached."""


class Channel:
    """All watchers that see the same events."""

    __slots__ = ("key", "stream", "watchers")

    def __init__(self, key: ChannelKey, stream: Stream) -> None:
        self.key = key
        self.stream = stream
        self.watchers: set[Watcher] = set()


class Watcher:
    """One client that watches."""

    __slots__ = (
        "_draining",
        "_finished",
        "_first",
        "_hub",
        "_keep_alive",
        "_over",
        "_timer",
        "behind",
        "bookmarks",
        "channel",
        "connection",
        "deadline",
        "pending",
        "tap",
        "version",
    )

    def __init__(self, hub: Watches, channel: Channel, exchange: Exchange, stream: Stream, deadline: float) -> None:
        client: Client | websocket.WebSocketClient = exchange.connection
        if isinstance(client, Connection) and websocket.is_wanted(exchange.incoming):
            client = websocket.WebSocketClient(client, exchange.incoming)
        self._hub = hub
        self._timer: asyncio.TimerHandle | None = None
        self.channel = channel
        self.connection = client
        self._keep_alive = exchange.incoming.keep_alive
        self.deadline = deadline
        self.bookmarks = stream.watch.bookmarks
        #: Changes up to this version have been sent.
        self.version = stream.watch.version
        #: The events that the watch begins with, as far as they have not been sent.
        self._first: Iterator[Frame] | None = None
        #: Later events that wait for the client to read, and how many they are.
        self.pending: deque[bytes] = deque()
        self.behind = 0
        self._draining = False
        self._finished: Callable[[], None] | None = None
        self._over = False
        #: Takes over the events, if there is a gate.
        self.tap: Tap | None = None

    def start(self, head: bytes, events: Iterator[dict[str, Any] | None]) -> None:
        """Send the head of the answer and the events so far."""
        self._first = self._frames(events)
        self._set_timer()
        self.connection.begin_stream(head, on_writable=self._drain_soon, on_lost=self._lost)
        self._drain_soon()

    def _frames(self, events: Iterator[dict[str, Any] | None]) -> Iterator[Frame]:
        """Encode the events so far, pauses as nothing; after an error the watch is over."""
        for event in events:
            if event is None:
                yield (b"",)
                continue
            yield _parts(event)
            if event["type"] == "ERROR":
                self._first = None
                asyncio.get_running_loop().call_soon(self.end_if_open)
                return

    @property
    def resource(self) -> str:
        """The resource that is watched, as it is stored."""
        return self.channel.stream.watch.resource.key

    def push(self, data: bytes, events: int) -> None:
        """Send some events; when the client is slow, later."""
        if not self.connection.paused and self._first is None and not self.pending:
            self.connection.write(data)
            return
        self.behind += events
        self.connection.queued += len(data)
        if self.behind > MOST_BEHIND or (self.pending and self.connection.queued > MOST_BYTES_BEHIND):
            self._cut_off()
            return
        self.pending.append(data)

    def _drain(self) -> None:
        """Send a part of what waits, if the client reads."""
        self._draining = False
        if self.connection.paused or self._over:
            return
        together: list[bytes] = []
        size = 0
        while size < _AT_ONCE and (frame := self._next_frame()) is not None:
            for part in frame:
                size += len(part)
                if len(part) < _AT_ONCE:
                    together.append(part)
                    continue
                self.connection.write(b"".join(together))
                self.connection.write(part)
                together = []
            if frame == (b"",):
                break
        if frame is not None or size:
            self.connection.write(b"".join(together))
            self._drain_soon()
        else:
            self.behind = 0

    def _next_frame(self) -> Frame | None:
        if self._first is not None:
            try:
                frame = next(self._first, None)
            except Exception:  # a bug of ours: the watch ends, and its client lists again
                traceback.print_exc(file=sys.stderr)
                asyncio.get_running_loop().call_soon(self.end_if_open)
                frame = None
            if frame is not None:
                return frame
            self._first = None
        if not self.pending:
            return None
        data = self.pending.popleft()
        self.connection.queued -= len(data)
        return (data,)

    def _drain_soon(self) -> None:
        if not self._draining:
            self._draining = True
            self._hub.turns.soon(self._drain)

    def end_if_open(self) -> None:
        """End the answer unless it has ended."""
        if not self._over:
            self.end(keep_alive=True)

    def end(self, *, keep_alive: bool) -> None:
        """End the answer; the client may go on with another request on the same connection."""
        last = b"".join(self.pending) if self._first is None else b""
        self._leave()
        self.connection.end_stream(last, keep_alive=keep_alive and self._keep_alive)

    def _cut_off(self) -> None:
        self.pending.clear()
        asyncio.get_running_loop().call_later(_LAST_WORDS, self.connection.abort)
        self.end(keep_alive=False)

    def _lost(self) -> None:
        self._leave()

    def _leave(self) -> None:
        self._hub.leave(self)
        if self.tap is not None:
            self.tap.closed()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._over = True
        self._first = None
        self.pending.clear()
        self.connection.queued = 0
        finished, self._finished = self._finished, None
        if finished is not None:
            finished()

    def when_finished(self, call: Callable[[], None]) -> None:
        """Call back when the watch ends, or at once if it has ended."""
        if self._over:
            call()
        else:
            self._finished = call

    # Time

    def _set_timer(self) -> None:
        loop = asyncio.get_running_loop()
        when = self.deadline
        if self.bookmarks:
            bookmark = min(loop.time() + BOOKMARK_EVERY, self.deadline - BOOKMARK_BEFORE_END)
            if bookmark > loop.time():
                when = bookmark
        self._timer = loop.call_at(when, self._on_time)

    def _on_time(self) -> None:
        if asyncio.get_running_loop().time() >= self.deadline - 0.001:
            self.end(keep_alive=True)
            return
        self._hub.send_bookmark(self)
        self._set_timer()


def _parts(event: dict[str, Any]) -> Frame:
    """Return the line of an event, without a copy of a large object in it."""
    obj = event["object"]
    if not isinstance(obj, EncodedObject):
        return (encode(event, JSON_TYPE),)
    head = b'{"type":"%b","object":' % event["type"].encode()
    return (head, obj.json, b"}\n") if len(obj.json) >= _AT_ONCE else (head + obj.json + b"}\n",)


def encoded_event(event: dict[str, Any]) -> bytes:
    """Return an event as a line of the answer."""
    return b"".join(_parts(event))
