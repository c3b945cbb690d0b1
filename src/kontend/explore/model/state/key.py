"""Keys of states: 128 bits that are equal for two states exactly when their futures are.

resourceVersions count only as far as they are current, views only as far as something is undelivered, queues as sets.
Where user code can tell versions apart by more than equality (:class:`Assumption.OPAQUE_VERSIONS` is refuted), the
versions themselves count. Generations and uids always count as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import xxhash

from kontend.cluster.state import Change, State, Version
from kontend.explore.model.state.process import (
    NOT_STARTED,
    InFlight,
    Instance,
    MetVersion,
    OwnWrite,
    Process,
    ProcessLayout,
)
from kontend.explore.model.state.world import LateWrite, World
from kontend.kube.encoding.plain_data import plain_bytes
from kontend.kube.meta.names import Key

_MASK: Final = (1 << 128) - 1
#: Digest of a version of an object.
Digest = Callable[[Version], bytes]


def content_digest(version: Version) -> bytes:
    """128 bits for all that an object holds, whatever its resourceVersion."""
    return version.digest


def exact_digest(version: Version) -> bytes:
    """The same with its resourceVersion."""
    return version.digest + version.resource_version.to_bytes(8, "big")


def summand(resource: str, key: Key, digest: bytes) -> int:
    """The contribution of one object to the sum of a state."""
    return xxhash.xxh3_128_intdigest(b"%s\0%s\0%s\0" % (resource.encode(), key[0].encode(), key[1].encode()) + digest)


def sum_of(state: State, digest: Digest) -> int:
    """The sum over all objects of a cluster."""
    total = 0
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            total += summand(resource, key, digest(version))
    return total & _MASK


def sum_after(total: int, changes: Sequence[Change], digest: Digest) -> int:
    """The sum after some changes."""
    for change in changes:
        if change.old is not None:
            total -= summand(change.resource, change.key, digest(change.old))
        if change.new is not None:
            total += summand(change.resource, change.key, digest(change.new))
    return total & _MASK


def issued_after(total: int, label: str, before: int, after: int) -> int:
    """The sum of issued identities after some were issued for a label."""
    if before:
        total -= xxhash.xxh3_128_intdigest(f"{label}\0{before}".encode())
    if after:
        total += xxhash.xxh3_128_intdigest(f"{label}\0{after}".encode())
    return total & _MASK


@dataclass(frozen=True, slots=True)
class Group:
    """Copies of one process, from ``first`` up to ``end``, that are interchangeable."""

    first: int
    end: int


class Keys:
    """Computes the keys of the states of one model."""

    def __init__(self, groups: Sequence[Group], processes: Sequence[ProcessLayout], *, exact: bool) -> None:
        """``exact`` counts versions as they are."""
        self._groups = groups
        self._processes = processes
        #: For each instance, the first of those that may change places with it.
        self._controllers = {
            index: processes[group.first].indexes[position]
            for group in groups
            for number in range(group.first, group.end)
            for position, index in enumerate(processes[number].indexes)
        }
        self._exact = exact
        #: For each process with its copies, their numbers.
        self.copies = [range(group.first, group.end) for group in groups]
        self._has_symmetry = any(group.end - group.first > 1 for group in groups)
        self.digest: Digest = exact_digest if exact else content_digest

    def of(self, world: World) -> bytes:
        """The key of a state."""
        return self.joined(self.shared_part(world), self.of_processes(world))

    def of_processes(self, world: World) -> list[bytes]:
        """The keys of all processes within a state."""
        return [self.of_process(world, number) for number in range(len(world.processes))]

    def different_processes(self, world: World) -> Iterable[int]:
        """All processes but those of which an interchangeable one is in the same situation: they can do the same."""
        if not self._has_symmetry or world.late:  # a late write belongs to one of them
            return range(len(world.processes))
        different: list[int] = []
        for group in self._groups:
            if group.end - group.first == 1:
                different.append(group.first)
            else:
                first_with = {
                    self.of_process(world, number): number for number in reversed(range(group.first, group.end))
                }
                different += sorted(first_with.values())
        return different

    def shared_part(self, world: World) -> bytes:
        """The part of a state's key that does not depend on the processes."""
        # All parts have a fixed length, so that no two states can be written the same way.
        parts = [
            world.objects.to_bytes(16, "big"),
            world.issued_sum.to_bytes(16, "big"),
            b"".join([count.to_bytes(4, "big") for count in world.acted]),
        ]
        if self._exact:
            parts.append(world.state.resource_version.to_bytes(8, "big"))
        if world.counts:
            parts.append(b"".join([count.to_bytes(4, "big") for count in world.counts]))
        if world.late:
            parts.append(xxhash.xxh3_128_digest(repr([self._late(world, late) for late in world.late]).encode()))
        return b"".join(parts)

    def joined(self, shared: bytes, processes: list[bytes]) -> bytes:
        """The key of a state from its parts. Processes that are interchangeable may change places."""
        parts = [shared]
        for group in self._groups:
            if group.end - group.first == 1:
                parts.append(processes[group.first])
            else:
                parts += sorted(processes[group.first : group.end])
        return xxhash.xxh3_128_digest(b"".join(parts))

    def _late(self, world: World, late: LateWrite) -> tuple[object, ...]:
        in_flight = late.in_flight
        versions = [version[2] if self._exact else is_current(world.state, version) for version in in_flight.versions]
        return self._controllers[late.instance], in_flight.node.id, late.at, in_flight.uuids, versions

    def of_process(self, world: World, number: int) -> bytes:
        """The key of one process within a state."""
        process, state = world.processes[number], world.state
        key = process.cached_key(state)
        if not key:
            key = xxhash.xxh3_128_digest(plain_bytes(self._parts(state, number, process)))
            process.keep_key(key)
        return key

    def _parts(self, state: State, number: int, process: Process) -> list[object]:
        """Plain data that tells processes apart."""
        digest = self.digest
        newest = state.resource_version
        layout = self._processes[number]
        views: list[tuple[object, ...]] = []
        for at, position in enumerate(process.views):
            if position == NOT_STARTED:
                continue
            if position < newest:
                pending = process.undelivered(state, at, layout.resources[at])
                if pending:
                    events: list[object] = []
                    for change in pending:
                        events += change.key
                        events.append(digest(change.old) if change.old else b"")
                        events.append(digest(change.new) if change.new else b"")
                    views.append((layout.kinds[at], events))
                    continue
            views.append((layout.kinds[at],))
        if len(views) > layout.declared:
            # Views of kinds that are not declared are numbered in the order of their discovery, which must not count.
            views.sort(key=lambda view: str(view[0]))
        parts: list[object] = [views]
        if process.own:
            parts.append([self.own_write(state, number, process, write) for write in process.own])
        for instance in process.instances:
            parts.append(self._parts_of_instance(state, number, process, instance))
        return parts

    def _parts_of_instance(self, state: State, number: int, process: Process, instance: Instance) -> list[object]:
        parts: list[object] = [flat(instance.queue), flat(instance.delayed), instance.memory]
        if instance.timers:
            parts.append(("timers", [(seconds, *request) for seconds, request in sorted(instance.timers)]))
        if instance.bugs:
            parts.append([(*request, text, count) for request, text, count in sorted(instance.bugs)])
        for in_flight in instance.running:
            parts.append((in_flight.node.id, in_flight.uuids, self._versions(state, number, process, in_flight)))
        return parts

    def _versions(self, state: State, number: int, process: Process, in_flight: InFlight) -> object:
        if self._exact:
            return [version[2] for version in in_flight.versions]
        return [self.which_version(state, number, process, version) for version in in_flight.versions]

    def own_write(self, state: State, number: int, process: Process, write: OwnWrite) -> tuple[object, ...]:
        """An own write as the number of events that are still to come up to it."""
        layout = self._processes[number]
        at = layout.kinds.index(write.kind)
        pending = process.undelivered(state, at, layout.resources[at])
        return write.kind, *write.key, write.uid, sum(change.resource_version <= write.version for change in pending)

    def which_version(self, state: State, number: int, process: Process, met: MetVersion) -> int:
        """A version in relation to a state: -1 current, -2 past, else the one before the n-th undelivered event.

        The events are those of the first view of its resource that has it.
        """
        resource, key, resource_version = met
        version = state.find(resource, key)
        if version is not None and version.resource_version == resource_version:
            return -1
        offset = 0
        for at, other in enumerate(self._processes[number].resources):
            if other == resource:
                pending = process.undelivered(state, at, resource)
                for position, change in enumerate(pending):
                    if change.key == key and change.old is not None and change.old.resource_version == resource_version:
                        return offset + position
                offset += len(pending)
        return -2

    def version_at(self, state: State, number: int, process: Process, met: MetVersion) -> MetVersion:
        """The version that :meth:`which_version` described as ``met[2]``."""
        resource, key, which = met
        if which < 0:
            version = state.find(resource, key)
        else:
            pending = [
                change
                for at, other in enumerate(self._processes[number].resources)
                if other == resource
                for change in process.undelivered(state, at, resource)
            ]
            version = pending[which].old
        assert version is not None  # it was read
        return resource, key, version.resource_version


def flat(requests: Iterable[Key]) -> list[str]:
    """Some requests as plain data, in a fixed order."""
    return [text for request in sorted(requests) for text in request]


def is_current(state: State, met: MetVersion) -> bool:
    """A version is the one that is stored now."""
    version = state.find(met[0], met[1])
    return version is not None and version.resource_version == met[2]
