"""The data of the oracle: a state of the whole system and its parts, all immutable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kontend.cluster.state import State
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one call: JSON, or the error that the server raised."""

    number: int
    body: bytes
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class InFlight:
    """A reconcile under way: enough to run it again from its start to where it waits now."""

    request: Key
    #: The memory with which it began, as JSON.
    memory: bytes
    #: The instance's own writes when it began.
    versions: tuple[tuple[tuple[str, Key], int], ...]
    deleted: tuple[str, ...]
    #: The kinds that the instance's cache followed when it began.
    followed: tuple[str, ...]
    #: The time that it sees.
    now: str = ""
    #: Answers in the order in which they came.
    answers: tuple[Answer, ...] = ()
    #: Uuids, and lookups of kinds, in the order in which the code asked for them.
    local: tuple[Any, ...] = ()
    #: Calls that wait for an answer; more than one when the reconcile makes calls at the same time.
    calls: tuple[tuple[int, Call], ...] = ()
    #: Versions of objects that it was shown: resource, key, resourceVersion.
    met: tuple[tuple[str, Key, int], ...] = ()
    #: The calls that were answered, each with how many versions it had been shown then.
    made: tuple[tuple[Call, int], ...] = ()
    #: True if it has asked for the time.
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """One running copy of a controller, with a queue and a memory of its own. All of a process have the same caches."""

    controller: int
    #: The number of the process that it runs in.
    process: int
    #: The resourceVersion up to which the cache of each kind has seen events.
    positions: tuple[tuple[str, int], ...]
    queue: frozenset[Key]
    #: Requests that wait for a retry.
    delayed: frozenset[Key]
    #: Declared memory, as JSON.
    memory: bytes
    versions: tuple[tuple[tuple[str, Key], int], ...] = ()
    deleted: tuple[str, ...] = ()
    #: The reconciles under way: of different requests, at most as many as the controller may run at once.
    running: tuple[InFlight, ...] = ()
    #: Requests that wait for ``requeue_after``, with its seconds; at most one for each request.
    timers: frozenset[tuple[float, Key]] = frozenset()

    def reconcile(self, request: Key) -> InFlight:
        """The reconcile of a request that is under way."""
        return next(reconcile for reconcile in self.running if reconcile.request == request)

    def going_on(self, in_flight: InFlight) -> Instance:
        """The instance with one of its reconciles further on."""
        return replace(
            self,
            running=tuple(
                in_flight if reconcile.request == in_flight.request else reconcile for reconcile in self.running
            ),
        )

    def without(self, request: Key) -> Instance:
        """The instance after the reconcile of a request has ended."""
        return replace(self, running=tuple(reconcile for reconcile in self.running if reconcile.request != request))


@dataclass(frozen=True, slots=True)
class FaultsLeft:
    """The number of faults that may still happen: in all, and of each kind."""

    total: int = 0
    crashes: int = 0
    failed: int = 0
    lost: int = 0
    handovers: int = 0

    def spent(self, kind: str) -> FaultsLeft:
        """The faults left after one more; none of any kind where the total is used up."""
        left = replace(self, total=self.total - 1, **{kind: getattr(self, kind) - 1})
        return left if left.total else FaultsLeft()


@dataclass(frozen=True, slots=True)
class LateWrite:
    """A write on its way to the server, of an instance that another process has replaced."""

    controller: int
    in_flight: InFlight
    call: Call


@dataclass(frozen=True, slots=True)
class World:
    """A state of the whole system."""

    state: State
    instances: tuple[Instance, ...]
    #: For each user, the number of actions that were taken.
    acted: tuple[int, ...] = ()
    #: The numbers that were used up for uids, uuids and generated names.
    issued: int = 0
    #: Suffixes of generated names so far.
    suffixes: tuple[str, ...] = ()
    faults: FaultsLeft = FaultsLeft()
    late: tuple[LateWrite, ...] = ()
    #: The seconds by which the clock of a controller and a request has advanced.
    clocks: tuple[tuple[tuple[int, Key], int], ...] = ()

    def with_instance(self, index: int, instance: Instance) -> World:
        """The state with another instance in a place."""
        instances = list(self.instances)
        instances[index] = instance
        return replace(self, instances=tuple(instances))

    def members(self, process: int) -> list[int]:
        """The numbers of the instances of a process."""
        return [index for index, instance in enumerate(self.instances) if instance.process == process]

    def advanced(self, controller: int, request: Key, seconds: int) -> World:
        """The state after a clock has advanced."""
        clocks = dict(self.clocks)
        clocks[controller, request] = clocks.get((controller, request), 0) + seconds
        return replace(self, clocks=tuple(sorted(clocks.items())))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened, and the state after it."""

    text: str
    world: World
    #: True if the cluster changed.
    wrote: bool = False
    #: True if a reconcile ended with an error.
    failed: bool = False
    #: True if it perturbs: a stale read, a start beside another reconcile, a user who acts during one, a fault …
    perturbs: bool = False
    #: True for a fault, which need not happen in a fair run.
    optional: bool = False
    #: True if a timer fires.
    fires: bool = False
    #: True if the user acts; and True if that perturbs only because the controllers have not settled since then.
    acts: bool = False
    hurries: bool = False
    #: Names of built-in properties that a write violates.
    wrong: tuple[str, ...] = ()
    #: The clusters before and after each write, in order.
    writes: tuple[tuple[State, State], ...] = ()

    def then(self, second: Step) -> Step:
        """This step and a second one as one."""
        return Step(
            self.text,
            second.world,
            wrote=self.wrote or second.wrote,
            failed=self.failed or second.failed,
            perturbs=self.perturbs or second.perturbs,
            wrong=(*self.wrong, *second.wrong),
            writes=(*self.writes, *second.writes),
        )
