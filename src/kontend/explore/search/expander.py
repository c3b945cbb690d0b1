"""Expands the states of a search in this process: the frontier, and the successors of each state in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.properties.built_in import Breach
from kontend.explore.reduction.macro_step import MacroStep
from kontend.explore.search.frontier import Frontier
from kontend.explore.search.graph import Graph
from kontend.explore.search.successor import StateRecord, Successor
from kontend.explore.search.successors import MacroStepSource, Successors

#: States that are looked at together: those that are not kept are made again.
_TOGETHER: Final = 256


class Numbering(Protocol):
    """Numbers the successors of the state that was expanded last."""

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor of a state a number."""

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, if it is in this process."""


class Expander:
    """Expands states one after the other."""

    def __init__(self, model: Model, source: MacroStepSource | None = None) -> None:
        self.model = model
        self.frontier = Frontier(model)
        self._successors = Successors(model, source)
        #: The macro-steps of the state that was expanded last.
        self.last: list[MacroStep] = []
        #: The ids of reconcile runs that were taken; and the number of nodes of all program trees then.
        self._taken: set[bytes] = set()
        self._counted = 0

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self.frontier.follow(graph)

    def adopt(self, numbers: list[int]) -> None:
        """Own just these states, which were found before."""
        self.frontier.adopt(numbers)

    def initial(self) -> tuple[StateRecord, tuple[Breach, ...]]:
        """The initial state, and violations in it."""
        world = self.model.initial()
        self.frontier.own(0, world)
        return self._successors.reached(world), self._successors.of_initial(world)

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; one process has no use for those that come next."""
        del ahead
        for begin in range(0, len(numbers), _TOGETHER):
            some = numbers[begin : begin + _TOGETHER]
            worlds = self.frontier.take(some)
            for number in some:
                successors, self.last = self._successors.of(worlds.pop(number))
                yield number, successors

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give the successor ``at`` of ``parent``, which was expanded last, a number."""
        del parent
        self.frontier.keep(number, self.last[at].world)

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last."""
        return self.last[at].world

    def end_layer(self) -> None:
        """Nothing to exchange."""

    def close(self) -> None:
        """Nothing to stop."""

    # Its size

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""
        return len(self.frontier)

    @property
    def processes(self) -> int:
        """The number of processes that expand states: this one."""
        return 1

    @property
    def memory(self) -> int:
        """The bytes that other processes have in memory: there are none."""
        return 0

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states, and make the others again when they are expanded."""
        self.frontier.limit(most)
        self._successors.limit()

    def forget(self) -> None:
        """Forget what can be computed again: outcomes of requests, macro-steps, answers of properties."""
        self.frontier.forget()
        self._successors.forget()

    # The runs of user code

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self.run_ids())

    def take_runs(self) -> set[bytes]:
        """The ids of the reconcile runs that are new since the last time."""
        count = sum(len(program.ids) for program in self.model.programs)
        if count == self._counted:
            return set()
        before, self._taken, self._counted = self._taken, self.run_ids(), count
        return self._taken - before

    def run_ids(self) -> set[bytes]:
        """The ids of the nodes of all program trees."""
        return set().union(*(program.ids for program in self.model.programs))
