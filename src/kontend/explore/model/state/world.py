"""States of the model: the cluster, the controller instances, the user's remaining actions, the faults left.

The class is called :class:`World` because the cluster's own :class:`~kontend.cluster.state.State` is one part of it.
Worlds are immutable values. :mod:`kontend.explore.model.state.key` says when two of them are the same state.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rpds import HashTrieMap

from kontend.cluster.state import Change, State
from kontend.explore.model.state.budget import SPENT, Budget
from kontend.explore.program.driven import Start
from kontend.explore.program.tree import Node, versions_before_work
from kontend.kube.meta.names import Key

#: A version that a run has met: resource, object, resourceVersion.
MetVersion = tuple[str, Key, int]
#: A request that is reconciled again after so many seconds.
Timer = tuple[float, Key]
#: The position of a view that was not started: an informer starts at the first read of its kind.
NOT_STARTED: Final = -1
_NOTHING: Final[list[Change]] = []


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
    """A write of an instance that one of its views has not seen yet."""

    __slots__ = ("key", "kind", "uid", "version")

    def __init__(self, kind: str, key: Key, version: int, uid: str = "") -> None:
        self.kind = kind
        self.key = key
        #: The resourceVersion of the write.
        self.version = version
        #: For a delete: the uid of the object, which reads do not show any more.
        self.uid = uid


class Instance:
    """One instance of a controller: a process with its own views, queue and memory."""

    __slots__ = (
        "_changes",
        "_followers",
        "_key",
        "_similarity",
        "_state",
        "bugs",
        "delayed",
        "memory",
        "own",
        "queue",
        "running",
        "timers",
        "views",
    )

    def __init__(
        self,
        views: tuple[int, ...],
        queue: frozenset[Key],
        delayed: frozenset[Key],
        running: tuple[InFlight, ...],
        memory: bytes,
        own: tuple[OwnWrite, ...] = (),
        bugs: frozenset[tuple[Key, str, int]] = frozenset(),
        timers: frozenset[Timer] = frozenset(),
    ) -> None:
        #: For each kind: the resourceVersion up to which its view has seen everything, or NOT_STARTED.
        self.views = views
        self.queue = queue
        #: Requests that will be reconciled again soon, after a backoff.
        self.delayed = delayed
        #: Requests that will be reconciled again after some time, unless something else enqueues them before.
        self.timers = timers
        #: The in-flight reconciles, in the order in which they started.
        self.running = running
        self.memory = memory
        self.own = own
        #: Requests whose last reconcile raised a programming error: the error, and how often in a row.
        self.bugs = bugs
        # Derived from a cluster state, for as long as that is the state.
        self._state: State | None = None
        self._changes: dict[int, list[Change]] | None = None
        self._followers: dict[object, Instance] | None = None
        self._key = b""
        self._similarity = b""

    def changed(
        self,
        *,
        views: tuple[int, ...] | None = None,
        queue: frozenset[Key] | None = None,
        delayed: frozenset[Key] | None = None,
        running: tuple[InFlight, ...] | None = None,
        memory: bytes | None = None,
        own: tuple[OwnWrite, ...] | None = None,
        bugs: frozenset[tuple[Key, str, int]] | None = None,
        timers: frozenset[Timer] | None = None,
    ) -> Instance:
        """This instance with some attributes changed."""
        return Instance(
            self.views if views is None else views,
            self.queue if queue is None else queue,
            self.delayed if delayed is None else delayed,
            self.running if running is None else running,
            self.memory if memory is None else memory,
            self.own if own is None else own,
            self.bugs if bugs is None else bugs,
            self.timers if timers is None else timers,
        )

    def replaced(self, at: int, in_flight: InFlight) -> Instance:
        """This instance with one of its in-flight reconciles changed."""
        return self.changed(running=(*self.running[:at], in_flight, *self.running[at + 1 :]))

    @property
    def content(self) -> tuple[object, ...]:
        """Equal for instances that are equal in everything."""
        running = tuple([(run.start, run.node.id, run.versions, run.uuids) for run in self.running])
        own = tuple([(write.kind, write.key, write.version, write.uid) for write in self.own])
        return self.views, self.queue, self.delayed, self.timers, running, self.memory, own, self.bugs

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
        """Start to cache what is derived from a cluster state, among it two keys of this instance in it, if known."""
        self._state = state
        self._changes = None
        self._followers = None
        self._key = key
        self._similarity = similarity

    def followers(self, state: State) -> dict[object, Instance]:
        """The known results of local steps of this instance in a cluster state, by the steps. The caller adds more."""
        if self._state is not state:
            self.attach(state)
        if self._followers is None:
            self._followers = {}
        return self._followers

    def cached_key(self, state: State) -> bytes:
        """The key of this instance in a cluster state, if it was computed before; else empty."""
        if self._state is not state:
            self.attach(state)
        return self._key

    def keep_key(self, key: bytes) -> None:
        """Cache the key of this instance in the attached cluster state."""
        self._key = key

    def cached_similarity(self, state: State) -> bytes:
        """The key of this instance without counters, likewise."""
        if self._state is not state:
            self.attach(state)
        return self._similarity

    def keep_similarity(self, key: bytes) -> None:
        """Cache the key of this instance without counters."""
        self._similarity = key


class LateWrite(NamedTuple):
    """A write that is still on its way to the server after its instance was replaced."""

    instance: int
    in_flight: InFlight
    #: The position among the pending calls of the reconcile.
    at: int


class World:
    """A state of the model."""

    __slots__ = ("acted", "budget", "instances", "issued", "issued_sum", "late", "masked", "objects", "state")

    def __init__(
        self,
        state: State,
        instances: tuple[Instance, ...],
        acted: tuple[int, ...],
        objects: int,
        masked: int,
        issued: HashTrieMap[str, int],
        issued_sum: int,
        budget: Budget = SPENT,
        late: tuple[LateWrite, ...] = (),
    ) -> None:
        self.state = state
        self.instances = instances
        #: For each user, the number of actions that were taken.
        self.acted = acted
        #: The sum of the digests of all objects.
        self.objects = objects
        #: The same without generations and identities.
        self.masked = masked
        #: The number of identities that were handed out, by their purpose; and the sum of the digests of these.
        self.issued = issued
        self.issued_sum = issued_sum
        #: The faults that can still happen.
        self.budget = budget
        #: Writes of instances that were replaced since.
        self.late = late

    def with_instance(self, index: int, instance: Instance) -> World:
        """This state with one instance changed."""
        return self.with_instances((*self.instances[:index], instance, *self.instances[index + 1 :]))

    def with_instances(self, instances: tuple[Instance, ...]) -> World:
        """This state with other instances."""
        return World(
            self.state,
            instances,
            self.acted,
            self.objects,
            self.masked,
            self.issued,
            self.issued_sum,
            self.budget,
            self.late,
        )

    def with_action_taken(self, user: int) -> World:
        """This state after the next action of a user."""
        acted = (*self.acted[:user], self.acted[user] + 1, *self.acted[user + 1 :])
        return self._with(acted=acted)

    def with_issued(self, issued: HashTrieMap[str, int], issued_sum: int) -> World:
        """This state with other identities handed out."""
        return self._with(issued=issued, issued_sum=issued_sum)

    def with_budget(self, budget: Budget) -> World:
        """This state with other faults left."""
        return self._with(budget=budget)

    def with_late(self, late: tuple[LateWrite, ...]) -> World:
        """This state with other writes on their way."""
        return self._with(late=late)

    def _with(
        self,
        *,
        acted: tuple[int, ...] | None = None,
        issued: HashTrieMap[str, int] | None = None,
        issued_sum: int | None = None,
        budget: Budget | None = None,
        late: tuple[LateWrite, ...] | None = None,
    ) -> World:
        return World(
            self.state,
            self.instances,
            self.acted if acted is None else acted,
            self.objects,
            self.masked,
            self.issued if issued is None else issued,
            self.issued_sum if issued_sum is None else issued_sum,
            self.budget if budget is None else budget,
            self.late if late is None else late,
        )

    @property
    def size(self) -> int:
        """The number of objects in the cluster."""
        return sum(len(self.state.objects(resource)) for resource in self.state.kinds)

    @property
    def is_resting(self) -> bool:
        """No reconcile is in flight."""
        for instance in self.instances:  # noqa: SIM110 - a generator costs twice as much, and this runs for every step
            if instance.running:
                return False
        return True

    def undelivered(self, index: int, at: int, resource: str) -> list[Change]:
        """The changes that a view of an instance has not seen yet, oldest first."""
        return self.instances[index].undelivered(self.state, at, resource)
