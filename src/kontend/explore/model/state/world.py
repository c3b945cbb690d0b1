"""States of the model: the cluster, the processes with their controllers, the users' remaining actions, the faults.

The class is called :class:`World` because the cluster's own :class:`~kontend.cluster.state.State` is one part of it.
Worlds are immutable values. :mod:`kontend.explore.model.state.key` says when two of them are the same state.
"""

from __future__ import annotations

from typing import NamedTuple

from rpds import HashTrieMap

from kontend.cluster.state import Change, State
from kontend.explore.model.state.budget import SPENT, Budget
from kontend.explore.model.state.process import InFlight, Instance, Process

#: For each instance, the number of its process and its position there. Instances are numbered process by process.
Places = tuple[tuple[int, int], ...]


class LateWrite(NamedTuple):
    """A write that is still on its way to the server after its instance was replaced."""

    instance: int
    in_flight: InFlight
    #: The position among the pending calls of the reconcile.
    at: int


class World:
    """A state of the model."""

    __slots__ = (
        "_instances",
        "acted",
        "budget",
        "counts",
        "issued",
        "issued_sum",
        "late",
        "masked",
        "objects",
        "places",
        "processes",
        "state",
    )

    def __init__(
        self,
        state: State,
        processes: tuple[Process, ...],
        places: Places,
        acted: tuple[int, ...],
        objects: int,
        masked: int,
        issued: HashTrieMap[str, int],
        issued_sum: int,
        budget: Budget = SPENT,
        late: tuple[LateWrite, ...] = (),
        counts: tuple[int, ...] = (),
    ) -> None:
        self.state = state
        self.processes = processes
        self.places = places
        self._instances: tuple[Instance, ...] | None = None
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
        #: What a plan counts (:mod:`kontend.explore.planned`); empty elsewhere.
        self.counts = counts

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The instances of all processes, by their numbers."""
        if self._instances is None:
            self._instances = tuple([instance for process in self.processes for instance in process.instances])
        return self._instances

    def process(self, index: int) -> Process:
        """The process that an instance belongs to."""
        return self.processes[self.places[index][0]]

    def with_instance(self, index: int, instance: Instance) -> World:
        """This state with one instance changed."""
        number, position = self.places[index]
        return self.with_process(number, self.processes[number].with_instance(position, instance))

    def with_process(self, number: int, process: Process) -> World:
        """This state with one process changed."""
        return self.with_processes((*self.processes[:number], process, *self.processes[number + 1 :]))

    def with_processes(self, processes: tuple[Process, ...]) -> World:
        """This state with other processes."""
        return World(
            self.state,
            processes,
            self.places,
            self.acted,
            self.objects,
            self.masked,
            self.issued,
            self.issued_sum,
            self.budget,
            self.late,
            self.counts,
        )

    def with_layout(self, processes: tuple[Process, ...], places: Places) -> World:
        """This state with instances in other processes."""
        return World(
            self.state,
            processes,
            places,
            self.acted,
            self.objects,
            self.masked,
            self.issued,
            self.issued_sum,
            self.budget,
            self.late,
            self.counts,
        )

    def within(self, other: World, state: State) -> World:
        """The processes of this state in a cluster that ``other`` describes up to its history, which is ``state``."""
        return World(
            state,
            self.processes,
            self.places,
            other.acted,
            other.objects,
            other.masked,
            other.issued,
            other.issued_sum,
            other.budget,
            other.late,
            other.counts,
        )

    def written(self, state: State, objects: int, masked: int, issued: HashTrieMap[str, int], issued_sum: int) -> World:
        """This state after writes to the cluster: the sums over its objects, and the identities handed out by then."""
        return World(
            state,
            self.processes,
            self.places,
            self.acted,
            objects,
            masked,
            issued,
            issued_sum,
            self.budget,
            self.late,
            self.counts,
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

    def with_counts(self, counts: tuple[int, ...]) -> World:
        """This state with other counts."""
        return self._with(counts=counts)

    def _with(
        self,
        *,
        acted: tuple[int, ...] | None = None,
        issued: HashTrieMap[str, int] | None = None,
        issued_sum: int | None = None,
        budget: Budget | None = None,
        late: tuple[LateWrite, ...] | None = None,
        counts: tuple[int, ...] | None = None,
    ) -> World:
        return World(
            self.state,
            self.processes,
            self.places,
            self.acted if acted is None else acted,
            self.objects,
            self.masked,
            self.issued if issued is None else issued,
            self.issued_sum if issued_sum is None else issued_sum,
            self.budget if budget is None else budget,
            self.late if late is None else late,
            self.counts if counts is None else counts,
        )

    @property
    def size(self) -> int:
        """The number of objects in the cluster."""
        return sum(len(self.state.objects(resource)) for resource in self.state.kinds)

    @property
    def is_resting(self) -> bool:
        """No reconcile is in flight."""
        for process in self.processes:  # noqa: SIM110 - a generator costs twice as much, and this runs for every step
            if not process.is_resting:
                return False
        return True

    def undelivered(self, index: int, at: int, resource: str) -> list[Change]:
        """The changes that a view of an instance's process has not seen yet, oldest first."""
        return self.process(index).undelivered(self.state, at, resource)
