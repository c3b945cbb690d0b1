"""A world: everything that can change the future, and the 128 bits that stand for it.

Two worlds with the same future have the same key: resourceVersions count only as far as they are the current ones,
positions of caches only as far as something is undelivered, queues as sets.
"""

from __future__ import annotations

from typing import Final

import xxhash
from rpds import HashTrieMap

from kontend.cluster.state import Change, State
from kontend.explore.behaviour import Node
from kontend.kube.names import Key

#: A version that a conversation has met: resource, object, resourceVersion.
Met = tuple[str, Key, int]
_MASK: Final = (1 << 128) - 1


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

    __slots__ = ("flight", "memory", "own", "positions", "queue", "waiting")

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

    def but(self, **changes: object) -> Pilot:
        """This pilot with some attributes changed."""
        copy = object.__new__(Pilot)
        for slot in Pilot.__slots__:
            setattr(copy, slot, changes.get(slot, getattr(self, slot)))
        return copy


class World:
    """The cluster, the pilots, and what the user has still to do."""

    __slots__ = ("acted", "born", "objects", "pilots", "state")

    def __init__(
        self,
        state: State,
        pilots: tuple[Pilot, ...],
        acted: int,
        born: HashTrieMap[tuple[str, Key], int],
        objects: int,
    ) -> None:
        self.state = state
        self.pilots = pilots
        #: How many of the user's actions were taken.
        self.acted = acted
        #: How often each object was created, which decides the uid of the next one.
        self.born = born
        #: The sum of the digests of all objects.
        self.objects = objects

    def but(self, **changes: object) -> World:
        """This world with some attributes changed."""
        copy = object.__new__(World)
        for slot in World.__slots__:
            setattr(copy, slot, changes.get(slot, getattr(self, slot)))
        return copy

    def with_pilot(self, index: int, pilot: Pilot) -> World:
        """This world with one pilot changed."""
        return self.but(pilots=(*self.pilots[:index], pilot, *self.pilots[index + 1 :]))

    def undelivered(self, pilot: Pilot, at: int, resource: str) -> list[Change]:
        """What the cache of a pilot has not seen yet of a kind, oldest first."""
        position = pilot.positions[at]
        if position >= self.state.resource_version:
            return []
        return [change for change in self.state.changes_since(position) if change.resource == resource]


def digest_of(resource: str, key: Key, digest: bytes) -> int:
    """What one object adds to the sum of a world."""
    return xxhash.xxh3_128_intdigest(b"%s\0%s\0%s\0" % (resource.encode(), key[0].encode(), key[1].encode()) + digest)


def sum_of(state: State) -> int:
    """The sum over all objects of a state."""
    total = 0
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            total += digest_of(resource, key, version.digest)
    return total & _MASK


def sum_after(objects: int, changes: list[Change]) -> int:
    """The sum after some changes."""
    for change in changes:
        if change.old is not None:
            objects -= digest_of(change.resource, change.key, change.old.digest)
        if change.new is not None:
            objects += digest_of(change.resource, change.key, change.new.digest)
    return objects & _MASK


def key_of(world: World, resources: tuple[tuple[str, ...], ...]) -> bytes:
    """128 bits for all that can change the future. ``resources`` are the kinds of each pilot's controller."""
    parts: list[object] = [world.objects, world.acted]
    state = world.state
    for pilot, kinds in zip(world.pilots, resources, strict=True):
        for at, resource in enumerate(kinds):
            pending = world.undelivered(pilot, at, resource)
            if pending:
                parts.append(
                    [
                        (each.key, each.old.digest if each.old else b"", each.new.digest if each.new else b"")
                        for each in pending
                    ]
                )
            parts.append(at)
        if pilot.own:
            parts.append([(met[0], met[1], state.resource_version - met[2]) for met in pilot.own])
        parts.append(sorted(pilot.queue))
        parts.append(sorted(pilot.waiting))
        parts.append(pilot.memory)
        flight = pilot.flight
        if flight is not None:
            parts.append((flight.request, flight.node.id, flight.uuids, flight.memory))
            parts.append([_is_current(state, met) for met in flight.met])
    if len(world.born):
        parts.append(sorted((resource, key, count) for (resource, key), count in world.born.items()))
    return xxhash.xxh3_128_digest(repr(parts).encode())


def _is_current(state: State, met: Met) -> bool:
    version = state.find(met[0], met[1])
    return version is not None and version.resource_version == met[2]
