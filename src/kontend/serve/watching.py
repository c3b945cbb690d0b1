"""Open watches: each change is read once, encoded once for each form, and sent to the clients that watch it.

Watches that see the same events (the same resource, namespace, selectors and form) share a :class:`Channel`. A change
is read once for a channel, not once for a watcher, and its bytes are shared. The objects that a watch begins with are
encoded only as the client reads them. A slow client keeps references to the later events in a queue of its own; when
too many have gathered it is cut off, as kube-apiserver does, and its next watch starts from the last version it saw.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kontend.cluster.request import ApiRequest
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.state import Change, State
from kontend.cluster.wire.present import Stream
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.golang.strconv import whole_number
from kontend.serve.exchange import Exchange
from kontend.serve.gate import Gate, Tap
from kontend.serve.media import JSON_TYPE, LAST_CHUNK, chunk, encode

#: Events, and bytes of several events, that a slow client may fall behind before it is cut off.
MOST_BEHIND: Final = 1000
MOST_BYTES_BEHIND: Final = 16 << 20
#: How often a watch that allows bookmarks gets one, and how long before its end.
BOOKMARK_EVERY: Final = 60.0
BOOKMARK_BEFORE_END: Final = 2.0
#: A watch that names no timeout ends after a time between this and twice this.
SHORTEST_WATCH: Final = 1800.0
#: Bytes that are given to the operating system in one go, and how long that may be repeated before others get a turn.
_AT_ONCE: Final = 64 * 1024
_TURN: Final = 0.005
#: How long changes are published before others get a turn.
_PUBLISHING_TURN: Final = 0.02
#: How long a client that was cut off may take to read what it was sent.
_LAST_WORDS: Final = 10.0

ChannelKey = tuple[Resource, str, str, str, str, object]


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

    def __init__(self, hub: Hub, channel: Channel, exchange: Exchange, stream: Stream, deadline: float) -> None:
        self._hub = hub
        self._timer: asyncio.TimerHandle | None = None
        self.channel = channel
        self.connection = exchange.connection
        self._keep_alive = exchange.incoming.keep_alive
        self.deadline = deadline
        self.bookmarks = stream.watch.bookmarks
        #: Changes up to this version have been sent.
        self.version = stream.watch.version
        #: The events that the watch begins with, as far as they have not been sent.
        self._first: Iterator[bytes] | None = None
        #: Later events that wait for the client to read, and how many they are.
        self.pending: deque[bytes] = deque()
        self.behind = 0
        self._draining = False
        self._finished: Callable[[], None] | None = None
        self._over = False
        #: Takes over the events, if there is a gate.
        self.tap: Tap | None = None

    def start(self, head: bytes, events: Iterator[dict[str, Any] | None]) -> None:
        """Sends the head of the answer and the events so far."""
        self.connection.begin_stream(head, on_writable=self._drain, on_lost=self._lost)
        self._first = self._frames(events)
        self._set_timer()
        self._drain()

    def _frames(self, events: Iterator[dict[str, Any] | None]) -> Iterator[bytes]:
        """Encodes the events so far, pauses as nothing; after an error the watch is over."""
        for event in events:
            if event is None:
                yield b""
                continue
            yield _frame(event)
            if event["type"] == "ERROR":
                self._first = None
                asyncio.get_running_loop().call_soon(self.end_if_open)
                return

    @property
    def resource(self) -> str:
        """The resource that is watched, as it is stored."""
        return self.channel.stream.watch.resource.key

    def push(self, data: bytes, events: int) -> None:
        """Sends some events; when the client is slow, later."""
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
        """Sends what waits, as long as the client reads and for no longer than a turn."""
        self._draining = False
        clock = asyncio.get_running_loop().time
        turn_ends = clock() + _TURN
        while not self.connection.paused and not self._over:
            part, size = [], 0
            while size < _AT_ONCE and (frame := self._next_frame()) is not None:
                part.append(frame)
                size += len(frame)
                if not frame:
                    break
            if not part:
                self.behind = 0
                return
            self.connection.write(b"".join(part))
            if clock() > turn_ends:
                self._drain_soon()
                return

    def _next_frame(self) -> bytes | None:
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
        frame = self.pending.popleft()
        self.connection.queued -= len(frame)
        return frame

    def _drain_soon(self) -> None:
        if not self._draining:
            self._draining = True
            asyncio.get_running_loop().call_soon(self._drain)

    def end_if_open(self) -> None:
        """Ends the answer unless it has ended."""
        if not self._over:
            self.end(keep_alive=True)

    def end(self, *, keep_alive: bool) -> None:
        """Ends the answer; the client may go on with another request on the same connection."""
        last = b"".join(self.pending) if self._first is None else b""
        self._leave()
        self.connection.end_stream(last + LAST_CHUNK, keep_alive=keep_alive and self._keep_alive)

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
        """Calls back when the watch ends, or at once if it has ended."""
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


class Hub:
    """All open watches."""

    def __init__(self, state: State) -> None:
        #: The newest state that was published, and the version up to which its changes were.
        self._state = state
        self._version = state.resource_version
        self._registry = state.registry
        self._channels: dict[str, dict[ChannelKey, Channel]] = {}

    def __len__(self) -> int:
        return sum(len(channel.watchers) for channels in self._channels.values() for channel in channels.values())

    def open(self, exchange: Exchange, response: ApiResponse, gate: Gate | None = None) -> Watcher:
        """Begins to send a watch: the events in the response, then all that follow."""
        stream, request = response.watch, exchange.request
        assert stream is not None  # the caller has looked
        watch = stream.watch
        key: ChannelKey = (
            watch.resource,
            watch.namespace,
            watch.name,
            request.first("labelSelector"),
            request.first("fieldSelector"),
            stream.form,
        )
        channels = self._channels.setdefault(watch.resource.key, {})
        channel = channels.get(key)
        if channel is None:
            channel = channels[key] = Channel(key, stream)
        loop = asyncio.get_running_loop()
        watcher = Watcher(self, channel, exchange, stream, loop.time() + _duration(request))
        channel.watchers.add(watcher)
        tap = None if gate is None else gate.tap(exchange, watcher)
        if tap is None:
            watcher.start(exchange.stream_head(response), self._since(watcher, stream, iter(response.body)))
            return watcher
        first = [event for event in response.body if event is not None]
        if any(event["type"] == "ERROR" for event in first):
            watcher.start(exchange.stream_head(response), iter(first))
            return watcher
        watcher.tap = tap
        watcher.start(exchange.stream_head(response), iter(()))
        tap.offer([(_version(event, watch.version), _frame(event)) for event in first])
        tap.offer(list(self._missed(stream)))
        return watcher

    def _since(
        self, watcher: Watcher, stream: Stream, events: Iterator[dict[str, Any] | None]
    ) -> Iterator[dict[str, Any] | None]:
        """The first events of a watch, and what was published while a thread began it."""
        if stream.watch.version >= self._version:
            return events
        missed, later = stream.since(self._state)
        watcher.version = later.watch.version
        return itertools.chain(events, missed)

    def _missed(self, stream: Stream) -> Iterator[tuple[int, bytes]]:
        """The events since the state from which a watch was answered, where the gate has chosen an earlier one."""
        for change in self._state.changes_since(stream.watch.version, stream.watch.resource.key):
            event = stream.watch.event(change)
            if event is not None:
                yield change.resource_version, _frame(stream.show(self._state, event))

    def leave(self, watcher: Watcher) -> None:
        """Forgets a watcher, and its channel when it was the last one."""
        channel = watcher.channel
        channel.watchers.discard(watcher)
        resource: Resource = channel.key[0]
        if not channel.watchers:
            channels = self._channels.get(resource.key, {})
            if channels.get(channel.key) is channel:
                del channels[channel.key]
                if not channels:
                    del self._channels[resource.key]

    def rehearse(self, after: State) -> None:
        """Reads what has happened as :meth:`publish` does, without sending it: for objects that must be converted."""
        if self._version < after.floor:
            return
        for change in after.changes_since(self._version):
            for channel in (self._channels.get(change.resource) or {}).values():
                if channel.stream.watch.resource.custom is not None:
                    channel.stream.watch.event(change)

    def publish(self, after: State) -> bool:
        """Sends the changes since the last time to the clients that watch them.

        Return False when the turn has ended before the last change: the caller publishes again when others had theirs.
        """
        self._state = after
        if not self._channels or after.resource_version == self._version:
            self._version = after.resource_version
            return True
        if self._version < after.floor:
            # More happened in one step than history keeps, so events are missing.
            self._version = after.resource_version
            self.end_all(keep_alive=False)
            return True
        clock = asyncio.get_running_loop().time
        turn_ends = clock() + _PUBLISHING_TURN
        frames: Frames = {}
        for change in after.changes_since(self._version):
            channels = self._channels.get(change.resource)
            if channels:
                _read(after, change, channels.values(), frames)
            self._version = change.resource_version
            if clock() > turn_ends:
                break
        for channel, changes in frames.items():
            if changes is None:
                for watcher in list(channel.watchers):
                    watcher.end(keep_alive=False)
            else:
                _send(channel, changes)
        if self._version < after.resource_version:
            return False
        if after.registry is not self._registry:
            self._registry = after.registry
            self._end_stale(after.registry)
        return True

    def _end_stale(self, registry: Registry) -> None:
        """Ends the watches of custom resources whose definition has changed, as kube-apiserver does."""
        for channels in list(self._channels.values()):
            for channel in list(channels.values()):
                resource = channel.stream.watch.resource
                if resource.custom is None:
                    continue
                if registry.at(resource.group, resource.version, resource.plural) is not resource:
                    for watcher in list(channel.watchers):
                        watcher.end(keep_alive=True)

    def send_bookmark(self, watcher: Watcher) -> None:
        """Sends a client the version it has reached."""
        stream = watcher.channel.stream
        version = max(self._version, watcher.version)
        watcher.push(_frame(stream.show(self._state, stream.watch.bookmark(version))), 1)

    def end_all(self, *, keep_alive: bool) -> None:
        """Ends every watch."""
        for channels in list(self._channels.values()):
            for channel in list(channels.values()):
                for watcher in list(channel.watchers):
                    watcher.end(keep_alive=keep_alive)


#: The versions and bytes that each channel has to send, or None where they could not be made.
Frames = dict[Channel, list[tuple[int, bytes]] | None]


def _read(state: State, change: Change, channels: Iterable[Channel], frames: Frames) -> None:
    """Adds the event of one change to the frames of each channel."""
    # The same form of the same type of event has the same bytes.
    encoded: dict[tuple[Resource, object, str], bytes] = {}
    for channel in channels:
        found = frames.setdefault(channel, [])
        if found is None:
            continue
        try:
            event = channel.stream.watch.event(change)
            if event is None:
                continue
            key = (channel.key[0], channel.stream.form, event["type"])
            data = encoded.get(key)
            if data is None:
                data = encoded[key] = _frame(channel.stream.show(state, event))
            found.append((change.resource_version, data))
        except Exception:  # a bug of ours: these watches end, and their clients list again; the others go on
            traceback.print_exc(file=sys.stderr)
            frames[channel] = None


def _send(channel: Channel, changes: list[tuple[int, bytes]]) -> None:
    if not changes:
        return
    first, together = changes[0][0], b"".join([data for _, data in changes])
    for watcher in list(channel.watchers):
        if watcher.tap is not None:
            watcher.tap.offer([(version, data) for version, data in changes if version > watcher.version])
        elif watcher.version < first:
            watcher.push(together, len(changes))
        else:
            new = [data for version, data in changes if version > watcher.version]
            if new:
                watcher.push(b"".join(new), len(new))


def _version(event: dict[str, Any], otherwise: int) -> int:
    metadata = event["object"].get("metadata") or {}
    return whole_number(str(metadata.get("resourceVersion") or "")) or otherwise


def _frame(event: dict[str, Any]) -> bytes:
    return chunk(encode(event, JSON_TYPE))


def _duration(request: ApiRequest) -> float:
    seconds = whole_number(request.first("timeoutSeconds"))  # checked when the watch began
    return float(seconds) if seconds else SHORTEST_WATCH * (1 + random.random())
