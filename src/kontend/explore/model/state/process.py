"""Processes: copies of a manager with its controllers. What they share, and what each controller has of its own.

A process is a manager: its controllers share one cache, so an event reaches all of them at once, and they crash
together. An :class:`Instance` is one controller within it. Processes are immutable values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kontend.cluster.state import Change, State
from kontend.explore.program.driven import Start
from kontend.explore.program.tree import Node, versions_before_work
from kontend.kube.meta.names import Key

#: A version that a run has met: resource, object, resourceVersion.
MetVersion = tuple[str, Key, int]
#: The seconds after which a request is reconciled again, and the request.
Timer = tuple[float, Key]
#: The position of a view that was not started: an informer starts at the first read of its kind.
NOT_STARTED: Final = -1
#: A request whose reconcile raises the same programming error so often in a row is not tried again.
ENOUGH_BUGS: Final = 2
_NOTHING: Final[list[Change]] = []


@dataclass(frozen=True, slots=True)
class ProcessLayout:
    """The part of a process that never changes."""

    name: str
    #: The numbers of its instances.
    indexes: range
    #: The kinds of its views and the resources that serve them: declared kinds first; those read later are appended.
    kinds: list[str]
    resources: list[str]
    #: The number of kinds that its controllers declare.
    declared: int


class InFlight:
    """A reconcile that is under way."""

    __slots__ = ("node", "start", "uuids", "versions")

    def __init__(self, start: Start, node: Node, versions: tuple[MetVersion, ...], uuids: tuple[str, ...]) -> None:
        self.start = start
        self.node = node
        #: The versions that the run has met, by the number of their token.
        self.versions = versions
        #: The uuids that the run has generated and handed on, likewise.
        self.uuids = uuids

    @property
    def request(self) -> Key:
        """The request that is reconciled."""
        return self.start.request

    def before_work(self, key: Key) -> int | None:
        """The number of versions that it had met when it last wrote another object than it writes now, None for all."""
        return versions_before_work(self.node, key, self.versions)


class OwnWrite:
    """A write of a process that one of its views has not seen yet."""

    __slots__ = ("key", "kind", "uid", "version")

    def __init__(self, kind: str, key: Key, version: int, uid: str = "") -> None:
        self.kind = kind
        self.key = key
        #: The resourceVersion of the write.
        self.version = version
        #: For a delete: the uid of the object, which reads do not show any more.
        self.uid = uid


class Instance:
    """One instance of a controller, with a queue and a memory of its own."""

    __slots__ = ("bugs", "delayed", "memory", "queue", "running", "timers")

    def __init__(
        self,
        queue: frozenset[Key],
        delayed: frozenset[Key],
        running: tuple[InFlight, ...],
        memory: bytes,
        bugs: frozenset[tuple[Key, str, int]] = frozenset(),
        timers: frozenset[Timer] = frozenset(),
    ) -> None:
        self.queue = queue
        #: Requests that will be reconciled again soon, after a backoff.
        self.delayed = delayed
        #: Requests that will be reconciled again after some time, unless something else enqueues them before.
        self.timers = timers
        #: The in-flight reconciles, in the order in which they started.
        self.running = running
        self.memory = memory
        #: Requests whose last reconcile raised a programming error: the error, and how often in a row.
        self.bugs = bugs

    def changed(
        self,
        *,
        queue: frozenset[Key] | None = None,
        delayed: frozenset[Key] | None = None,
        running: tuple[InFlight, ...] | None = None,
        memory: bytes | None = None,
        bugs: frozenset[tuple[Key, str, int]] | None = None,
        timers: frozenset[Timer] | None = None,
    ) -> Instance:
        """This instance with some attributes changed."""
        return Instance(
            self.queue if queue is None else queue,
            self.delayed if delayed is None else delayed,
            self.running if running is None else running,
            self.memory if memory is None else memory,
            self.bugs if bugs is None else bugs,
            self.timers if timers is None else timers,
        )

    def replaced(self, at: int, in_flight: InFlight) -> Instance:
        """This instance with one of its in-flight reconciles changed."""
        return self.changed(running=(*self.running[:at], in_flight, *self.running[at + 1 :]))

    @property
    def is_waiting(self) -> bool:
        """Something is in flight, or will be reconciled without a further event."""
        return bool(self.running or self.queue or self.delayed or self.timers)

    @property
    def content(self) -> tuple[object, ...]:
        """Equal for instances that are equal in everything."""
        running = tuple([(run.start, run.node.id, run.versions, run.uuids) for run in self.running])
        return self.queue, self.delayed, self.timers, running, self.memory, self.bugs


class Process:
    """One copy of a process: its views, its own writes, and an instance of each of its controllers."""

    __slots__ = ("_changes", "_followers", "_key", "_similarity", "_state", "instances", "own", "views")

    def __init__(self, views: tuple[int, ...], instances: tuple[Instance, ...], own: tuple[OwnWrite, ...] = ()) -> None:
        #: For each kind: the resourceVersion up to which its view has seen everything, or NOT_STARTED.
        self.views = views
        self.instances = instances
        self.own = own
        # Derived from a cluster state, for as long as that is the state.
        self._state: State | None = None
        self._changes: dict[int, list[Change]] | None = None
        self._followers: dict[object, Process] | None = None
        self._key = b""
        self._similarity = b""

    def changed(
        self,
        *,
        views: tuple[int, ...] | None = None,
        instances: tuple[Instance, ...] | None = None,
        own: tuple[OwnWrite, ...] | None = None,
    ) -> Process:
        """This process with some attributes changed."""
        return Process(
            self.views if views is None else views,
            self.instances if instances is None else instances,
            self.own if own is None else own,
        )

    def with_instance(self, position: int, instance: Instance) -> Process:
        """This process with one instance changed."""
        instances = self.instances
        if len(instances) == 1:
            return Process(self.views, (instance,), self.own)
        return Process(self.views, (*instances[:position], instance, *instances[position + 1 :]), self.own)

    @property
    def is_resting(self) -> bool:
        """No reconcile is in flight."""
        for instance in self.instances:  # noqa: SIM110 - a generator costs twice as much, and this runs for every step
            if instance.running:
                return False
        return True

    @property
    def content(self) -> tuple[object, ...]:
        """Equal for processes that are equal in everything."""
        own = tuple([(write.kind, write.key, write.version, write.uid) for write in self.own])
        return self.views, own, tuple([instance.content for instance in self.instances])

    def view(self, at: int) -> int:
        """The position of a view."""
        return self.views[at] if at < len(self.views) else NOT_STARTED

    def undelivered(self, state: State, at: int, resource: str) -> list[Change]:
        """The changes that a view has not seen yet, oldest first."""
        position = self.views[at] if at < len(self.views) else NOT_STARTED
        if position >= state.resource_version or position == NOT_STARTED:
            return _NOTHING
        if self._state is not state:
            self.attach(state)
        known = self._changes
        if known is None:
            known = self._changes = {}
        elif at in known:
            return known[at]
        changes = known[at] = state.changes_since(position, resource)
        return changes

    def attach(self, state: State, key: bytes = b"", similarity: bytes = b"") -> None:
        """Start to cache what is derived from a cluster state, among it two keys of this process in it, if known."""
        self._state = state
        self._changes = None
        self._followers = None
        self._key = key
        self._similarity = similarity

    def followers(self, state: State) -> dict[object, Process]:
        """The known results of local steps of this process in a cluster state, by the steps. The caller adds more."""
        if self._state is not state:
            self.attach(state)
        if self._followers is None:
            self._followers = {}
        return self._followers

    def cached_key(self, state: State) -> bytes:
        """The key of this process in a cluster state, if it was computed before; else empty."""
        if self._state is not state:
            self.attach(state)
        return self._key

    def keep_key(self, key: bytes) -> None:
        """Cache the key of this process in the attached cluster state."""
        self._key = key

    def cached_similarity(self, state: State) -> bytes:
        """The key of this process without counters, likewise."""
        if self._state is not state:
            self.attach(state)
        return self._similarity

    def keep_similarity(self, key: bytes) -> None:
        """Cache the key of this process without counters."""
        self._similarity = key
