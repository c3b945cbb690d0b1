"""Open watches: each change is read once, encoded once for each form, and sent to the clients that watch it.

Watches that see the same events share a :class:`~kontend.serve.watches.watcher.Channel`. A change is read once for
a channel, not once for a watcher, and its bytes are shared. Changes are published in turns, so that many of them at
once do not hold up requests.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kontend.cluster.request import ApiRequest
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.state import Change, State
from kontend.cluster.wire.present import Stream
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.golang.strconv import whole_number
from kontend.serve.gate import Gate
from kontend.serve.requests.exchange import Exchange
from kontend.serve.turns import Turns
from kontend.serve.watches.watcher import Channel, ChannelKey, Watcher, encoded_event

#: A watch that names no timeout ends after a time between this and twice this.
SHORTEST_WATCH: Final = 1800.0
#: Seconds for which changes are published before others get a turn.
_PUBLISHING_TURN: Final = 0.02


class Hub:
    """All open watches."""

    def __init__(self, state: State, turns: Turns) -> None:
        self.turns = turns
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
        tap.offer([(_version(event, watch.version), encoded_event(event)) for event in first])
        tap.offer(list(self._missed(stream)))
        return watcher

    def _since(
        self, watcher: Watcher, stream: Stream, events: Iterator[dict[str, Any] | None]
    ) -> Iterator[dict[str, Any] | None]:
        """Return the first events of a watch, and what was published while a thread began it."""
        if stream.watch.version >= self._version:
            return events
        missed, later = stream.since(self._state)
        watcher.version = later.watch.version
        return itertools.chain(events, missed)

    def _missed(self, stream: Stream) -> Iterator[tuple[int, bytes]]:
        """Yield the events since the state from which a watch was answered, where the gate has chosen an earlier
        one."""
        for change in self._state.changes_since(stream.watch.version, stream.watch.resource.key):
            event = stream.watch.event(change)
            if event is not None:
                yield change.resource_version, encoded_event(stream.show(self._state, event))

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
        """Read what has happened as :meth:`publish` does, without sending it: for objects that must be converted."""
        if self._version < after.floor:
            return
        for change in after.changes_since(self._version):
            for channel in (self._channels.get(change.resource) or {}).values():
                if channel.stream.watch.resource.custom is not None:
                    channel.stream.watch.event(change)

    def publish(self, after: State) -> bool:
        """Send the changes since the last time to the clients that watch them.

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
        """End the watches of custom resources whose definition has changed, as kube-apiserver does."""
        for channels in list(self._channels.values()):
            for channel in list(channels.values()):
                resource = channel.stream.watch.resource
                if resource.custom is None:
                    continue
                if registry.at(resource.group, resource.version, resource.plural) is not resource:
                    for watcher in list(channel.watchers):
                        watcher.end(keep_alive=True)

    def send_bookmark(self, watcher: Watcher) -> None:
        """Send a client the version it has reached."""
        stream = watcher.channel.stream
        version = max(self._version, watcher.version)
        watcher.push(encoded_event(stream.show(self._state, stream.watch.bookmark(version))), 1)

    def end_all(self, *, keep_alive: bool) -> None:
        """End every watch."""
        for channels in list(self._channels.values()):
            for channel in list(channels.values()):
                for watcher in list(channel.watchers):
                    watcher.end(keep_alive=keep_alive)


#: The versions and bytes that each channel has to send, or None where they could not be made.
Frames = dict[Channel, list[tuple[int, bytes]] | None]


def _read(state: State, change: Change, channels: Iterable[Channel], frames: Frames) -> None:
    """Add the event of one change to the frames of each channel."""
    # The same form of the same type of event has the same bytes.
    encoded: dict[tuple[Resource, object, str], bytes] = {}
    for channel in channels:
        known = frames.setdefault(channel, [])
        if known is None:
            continue
        try:
            event = channel.stream.watch.event(change)
            if event is None:
                continue
            key = (channel.key[0], channel.stream.form, event["type"])
            data = encoded.get(key)
            if data is None:
                data = encoded[key] = encoded_event(channel.stream.show(state, event))
            known.append((change.resource_version, data))
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


def _duration(request: ApiRequest) -> float:
    seconds = whole_number(request.first("timeoutSeconds"))  # checked when the watch began
    return float(seconds) if seconds else SHORTEST_WATCH * (1 + random.random())
