"""A world: everything that can change the future, and the 128 bits that stand for it.

Two worlds with the same future have the same key: resourceVersions count only as far as they are the current ones,
positions of caches only as far as something is undelivered, queues as sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import xxhash
from rpds import HashTrieMap

from kontend.cluster.state import Change, State, Version
from kontend.explore.behaviour import Node
from kontend.explore.ends import generation, without_counts
from kontend.kube.apply import managed_fields
from kontend.kube.meta.names import Key

#: A version that a conversation has met: resource, object, resourceVersion.
Met = tuple[str, Key, int]
#: How many relative digests are kept.
_REMEMBERED: Final = 100_000
_MASK: Final = (1 << 128) - 1
_NOTHING: Final[list[Change]] = []


class Flight:
    """A reconcile that is under way."""

    __slots__ = ("memory", "met", "node", "request", "uuids")

    def __init__(self, request: Key, node: Node, memory: bytes, met: tuple[Met, ...], uuids: tuple[str, ...]) -> None:
        self.request = request
        self.node = node
        #: The controller's memory when the reconcile began.
        self.memory = memory
        self.met = met
        self.uuids = uuids


class Pilot:
    """One instance of a controller: its caches, its queue, its memory, and what it is doing."""

    __slots__ = (
        "_key",
        "_pending",
        "_resting",
        "_state",
        "flight",
        "memory",
        "own",
        "positions",
        "queue",
        "waiting",
    )

    def __init__(
        self,
        positions: tuple[int, ...],
        queue: frozenset[Key],
        waiting: frozenset[Key],
        flight: Flight | None,
        memory: bytes,
        own: tuple[Met, ...] = (),
    ) -> None:
        #: For each kind of the controller: the resourceVersion up to which its cache has seen everything.
        self.positions = positions
        self.queue = queue
        #: Requests that will be tried again.
        self.waiting = waiting
        self.flight = flight
        self.memory = memory
        #: Own writes that the cache has not seen yet.
        self.own = own
        # What was worked out for a state, as long as that is the state.
        self._state: State | None = None
        self._pending: dict[int, list[Change]] = {}
        self._key = b""
        self._resting = b""

    def but(self, **changes: object) -> Pilot:
        """This pilot with some attributes changed."""
        copy = object.__new__(Pilot)
        copy.positions = self.positions
        copy.queue = self.queue
        copy.waiting = self.waiting
        copy.flight = self.flight
        copy.memory = self.memory
        copy.own = self.own
        copy._state = None
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def undelivered(self, state: State, at: int, resource: str) -> list[Change]:
        """What the cache has not seen yet of a kind, oldest first."""
        position = self.positions[at]
        if position >= state.resource_version:
            return _NOTHING
        if self._state is not state:
            self.know(state)
        found = self._pending.get(at)
        if found is None:
            found = self._pending[at] = state.changes_since(position, resource)
        return found

    def key(self, state: State, kinds: tuple[str, ...]) -> bytes:
        """What stands for this pilot in the key of its world."""
        if self._state is not state:
            self.know(state)
        if not self._key:
            self._key = xxhash.xxh3_128_digest(repr(_pilot_parts(state, self, kinds)).encode())
        return self._key

    def resting_key(self, state: State, kinds: tuple[str, ...]) -> bytes:
        """The same where no reconcile is under way: generations count only as far as they differ."""
        if self._state is not state:
            self.know(state)
        if not self._resting:
            parts = repr(_pilot_parts(state, self, kinds, digest=relative_digest)).encode()
            self._resting = xxhash.xxh3_128_digest(parts)
        return self._resting

    def know(self, state: State, key: bytes = b"") -> None:
        """Begin to keep what is worked out for a state; ``key``, if that is known already."""
        self._state = state
        self._pending = {}
        self._key = key
        self._resting = b""


class World:
    """The cluster, the pilots, and what the user has still to do."""

    __slots__ = ("acted", "objects", "pilots", "relative", "state", "uuids")

    def __init__(
        self,
        state: State,
        pilots: tuple[Pilot, ...],
        acted: int,
        objects: int,
        relative: int,
        uuids: HashTrieMap[str, int],
    ) -> None:
        self.state = state
        self.pilots = pilots
        #: How many of the user's actions were taken.
        self.acted = acted
        #: The sum of the digests of all objects.
        self.objects = objects
        #: The same, but for generations: how far observed ones are behind.
        self.relative = relative
        #: In how many objects each uuid stands.
        self.uuids = uuids

    def but(self, **changes: object) -> World:
        """This world with some attributes changed."""
        copy = object.__new__(World)
        copy.state = self.state
        copy.pilots = self.pilots
        copy.acted = self.acted
        copy.objects = self.objects
        copy.relative = self.relative
        copy.uuids = self.uuids
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def with_pilot(self, index: int, pilot: Pilot) -> World:
        """This world with one pilot changed."""
        copy = object.__new__(World)
        copy.state = self.state
        copy.pilots = (*self.pilots[:index], pilot, *self.pilots[index + 1 :])
        copy.acted = self.acted
        copy.objects = self.objects
        copy.relative = self.relative
        copy.uuids = self.uuids
        return copy

    def undelivered(self, pilot: Pilot, at: int, resource: str) -> list[Change]:
        """What the cache of a pilot has not seen yet of a kind, oldest first."""
        return pilot.undelivered(self.state, at, resource)


def digest_of(resource: str, key: Key, digest: bytes) -> int:
    """What one object adds to the sum of a world."""
    return xxhash.xxh3_128_intdigest(b"%s\0%s\0%s\0" % (resource.encode(), key[0].encode(), key[1].encode()) + digest)


def absolute_digest(version: Version) -> bytes:
    """128 bits for all that an object holds."""
    return version.digest


_RELATIVE: Final[dict[bytes, bytes]] = {}


def relative_digest(version: Version) -> bytes:
    """128 bits for what an object holds, whatever its generation is: only how far observed ones are behind counts."""
    found = _RELATIVE.get(version.digest)
    if found is None:
        body = without_counts(version.body)
        found = version.digest
        if body is not version.body:
            found = xxhash.xxh3_128_digest(body + managed_fields.encode_json(version.managed))
        if len(_RELATIVE) > _REMEMBERED:
            _RELATIVE.clear()
        _RELATIVE[version.digest] = found
    return found


def sum_of(state: State, digest: Callable[[Version], bytes]) -> int:
    """The sum over all objects of a state."""
    total = 0
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            total += digest_of(resource, key, digest(version))
    return total & _MASK


def sum_after(objects: int, changes: list[Change], digest: Callable[[Version], bytes]) -> int:
    """The sum after some changes."""
    for change in changes:
        if change.old is not None:
            objects -= digest_of(change.resource, change.key, digest(change.old))
        if change.new is not None:
            objects += digest_of(change.resource, change.key, digest(change.new))
    return objects & _MASK


def key_of(world: World, groups: tuple[tuple[int, int, tuple[str, ...]], ...]) -> bytes:
    """128 bits for all that can change the future.

    Each group is a range of pilots and their kinds: within it, who is who does not matter.
    """
    state, pilots = world.state, world.pilots
    if not any(pilot.flight for pilot in pilots):
        # Nobody remembers a generation: what is written for ever comes round.
        parts = [b"resting", world.relative.to_bytes(16, "big"), world.acted.to_bytes(4, "big")]
        for first, end, kinds in groups:
            parts += sorted([pilot.resting_key(state, kinds) for pilot in pilots[first:end]])
        return xxhash.xxh3_128_digest(b"".join(parts))
    # All parts have a fixed length, so that no two worlds can be written the same way.
    parts = [world.objects.to_bytes(16, "big"), world.acted.to_bytes(4, "big")]
    for first, end, kinds in groups:
        if end - first == 1:
            parts.append(pilots[first].key(state, kinds))
        else:
            parts += sorted([pilot.key(state, kinds) for pilot in pilots[first:end]])
    return xxhash.xxh3_128_digest(b"".join(parts))


def _pilot_parts(
    state: State, pilot: Pilot, kinds: tuple[str, ...], digest: Callable[[Version], bytes] = absolute_digest
) -> list[object]:
    parts: list[object] = [sorted(pilot.queue), sorted(pilot.waiting), pilot.memory]
    newest = state.resource_version
    for at, resource in enumerate(kinds):
        if pilot.positions[at] < newest:
            pending = pilot.undelivered(state, at, resource)
            if pending:
                parts.append(at)
                parts += [
                    (
                        each.key,
                        digest(each.old) if each.old else b"",
                        digest(each.new) if each.new else b"",
                        # A generation that changed can be told, whatever it was.
                        each.old is not None and each.new is not None and generation(each.old) != generation(each.new),
                    )
                    for each in pending
                ]
    if pilot.own:
        parts.append([_which_write(state, pilot, kinds, met) for met in pilot.own])
    flight = pilot.flight
    if flight is not None:
        parts.append((flight.request, flight.node.id, flight.uuids, flight.memory))
        parts.append([which_version(state, pilot, kinds, met) for met in flight.met])
    return parts


def _which_write(state: State, pilot: Pilot, kinds: tuple[str, ...], own: Met) -> tuple[str, Key, int]:
    """A write of its own that a pilot waits for, as the n-th event still to come."""
    resource, key, number = own
    pending = pilot.undelivered(state, kinds.index(resource), resource) if resource in kinds else _NOTHING
    return resource, key, next((at for at, each in enumerate(pending) if each.resource_version == number), -1)


def which_version(state: State, pilot: Pilot, kinds: tuple[str, ...], met: Met) -> int:
    """What a version is to a pilot: -1 the current one, -2 past, else the one before the n-th event still to come."""
    resource, key, number = met
    version = state.find(resource, key)
    if version is not None and version.resource_version == number:
        return -1
    if resource in kinds:
        for at, change in enumerate(pilot.undelivered(state, kinds.index(resource), resource)):
            if change.key == key and change.old is not None and change.old.resource_version == number:
                return at
    return -2


def is_current(state: State, met: Met) -> bool:
    """Whether a version is the one that is there now."""
    version = state.find(met[0], met[1])
    return version is not None and version.resource_version == met[2]
