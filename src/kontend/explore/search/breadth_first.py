"""Breadth-first search: every state within the bounds, the least perturbed first.

States are expanded in the order of the number of perturbations that lead to them (stale reads, relists, overlapping
reconciles, users who interrupt, faults), then of steps. So the unperturbed runs come first and show how everything
should end, and the first counterexample is the simplest one.
"""

from __future__ import annotations

import heapq
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from kontend.explore.factored.local_states import Effort
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import Breach
from kontend.explore.search.expander import Expander
from kontend.explore.search.exploration import Exploration
from kontend.explore.search.graph import Graph
from kontend.explore.search.hurried import HurriedSteps
from kontend.explore.search.limits import Limits
from kontend.explore.search.memory_limit import MemoryLimit
from kontend.explore.search.snapshot import Progress
from kontend.explore.search.store.files import NoRoom
from kontend.explore.search.successor import StateRecord, Successor
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.verdict import Verdict, Violation
from kontend.runtime.source_location import SourceLocation

#: After how many states progress is reported and time is measured. Where user code is slow, a state takes milliseconds.
OFTEN: Final = 25
#: After a violation the search goes on for others. A space that a bug makes infinite must not keep it from reporting.
ENOUGH: Final = 5_000
#: The same where already the unperturbed runs never end.
ENOUGH_RESTLESS: Final = 2_000
#: The states in which nothing is violated after which sets of states may show that nothing is: the number of states,
#: and the effort that this is worth. What was done before is not done again. A unit takes 50 us or so.
PROVE_AFTER: Final = ((500, 40_000), (1_000, 100_000), (2_000, 200_000), (4_000, 600_000), (50_000, 1_000_000))
#: The same for one of several parts in which a controller has several instances: they multiply soon.
PROVE_PART_AFTER: Final = ((100, 10_000), *PROVE_AFTER)
#: The same for a single instance: not at all, as there are as many sets as states.
PROVE_ALONE_AFTER: Final[tuple[tuple[int, int], ...]] = ()
#: After how many more states a proof is looked at again.
LOOK_AGAIN_AFTER: Final = 1_000
INTERRUPTED: Final = "it was interrupted"
FIRST_FOUND: Final = "it stops at the first violation"
#: States of a layer that are expanded at a time where memory is limited.
_TOGETHER: Final = 1 << 14


class StateExpander(Protocol):
    """Expands states, in this process or in others."""

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""

    def initial(self) -> tuple[StateRecord, tuple[Breach, ...]]:
        """The initial state, and violations in it."""

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; ``ahead`` are those that certainly come next, before any others."""

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor of a state a number."""

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, if it is in this process."""

    def end_layer(self) -> None:
        """All states of a layer were expanded and their successors numbered."""

    def close(self) -> None:
        """Release processes."""

    def adopt(self, numbers: list[int]) -> None:
        """Own just these states, which were found before."""

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""

    @property
    def processes(self) -> int:
        """The number of processes that expand states."""

    @property
    def memory(self) -> int:
        """The bytes that other processes have in memory."""

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states, and make the others again when they are expanded."""

    def forget(self) -> None:
        """Forget what can be computed again."""

    def run_ids(self) -> set[bytes]:
        """The ids of the different reconcile runs."""

    def take_runs(self) -> set[bytes]:
        """The ids of those that are new since the last time."""

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""


class BreadthFirst:
    """One breadth-first search of one scenario."""

    def __init__(
        self,
        model: Model,
        *,
        expander: StateExpander | None = None,
        until_first: bool = False,
        progress: Progress | None = None,
        unperturbed: bool = False,
        reference: frozenset[bytes] | None = None,
        hurries: bool = True,
        spill: Path | None = None,
        proves: bool = False,
    ) -> None:
        """Search a model; ``until_first`` stops at the first violation.

        ``unperturbed`` says that the expander lists only unperturbed steps. ``reference`` are the final states that all
        others are compared with, where the unperturbed runs were searched apart. ``hurries`` says that runs with users
        who do not wait are searched apart, to be compared with. ``spill`` is a directory for what does not fit into
        memory. ``proves`` says that sets of states may show that nothing is violated.
        """
        self._hurries = hurries
        self._reference = reference
        self.model = model
        self.exploration = Exploration(model, partial=unperturbed)
        self._expander = expander or Expander(model)
        self._until_first = until_first
        self._progress = progress
        self._unperturbed = unperturbed
        self._limits = Limits(model.scenario.bounds)
        self._spill = spill
        self._memory = MemoryLimit(model.scenario.bounds.memory, self.exploration, self._expander, spill)
        self._knows_baseline = False
        #: All states with fewer perturbations were expanded.
        self._complete = 0
        #: It stopped because a violation was found long ago, and no other one since.
        self.had_enough = False
        #: The number of states that were expanded, and the layer of the next one.
        self._position = (0, (0, 0))
        self._attempts = list(_attempts(model)) if proves else []
        self._prove_at = self._attempts[0][0] if self._attempts else sys.maxsize
        self._effort = Effort(self._is_over)

    def run(self) -> Verdict:
        """Search until the space is exhausted, a limit is reached, or (``until_first``) something is violated."""
        started = time.perf_counter()
        try:
            stopped = self._explored()
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        except NoRoom as error:
            stopped = f"the search does not fit into memory, and there is no room on disk: {error}"
        finally:
            self.exploration.verdict.runs = self._expander.runs
            self.exploration.verdict.processes = self._expander.processes
            self._expander.close()
        verdict = self.exploration.finish(
            stopped,
            baseline=self._reference,
            knows_baseline=self._knows_baseline,
            explain=self._explain,
            complete=self._complete,
        )
        verdict.limit = self._limits.bound
        verdict.seconds = time.perf_counter() - started
        return verdict

    @property
    def losses(self) -> dict[SourceLocation, Violation]:
        """The shortest trace for each line of code that can lose an update."""
        return self.exploration.losses(self._explain)

    def _explain(self, name: str, sentence: str, schedule: Sequence[Step]) -> Violation:
        return counterexample(self.model, name, sentence, schedule)

    def _explored(self) -> str:
        """Expand all states; returns why it stopped before the end, if it did."""
        exploration, graph = self.exploration, self.exploration.graph
        self._expander.follow(graph)
        exploration.start(*self._expander.initial())
        layers: dict[tuple[int, int], array[int]] = {(0, 0): array("I", [0])}
        order = [(0, 0)]
        expanded = 0
        while order:
            layer = heapq.heappop(order)
            self._complete = layer[0]
            if layer[0] > 0 and not self._knows_baseline:
                self._know_baseline()
                if exploration.has_proof:  # its final states can be compared now
                    self._prove_at = 0
                exploration.judge_actions(baseline_only=True)
                if self._until_first:
                    exploration.judge_baseline()
                    if exploration.has_violations:
                        return FIRST_FOUND
            numbers = _current(graph, layer, layers.pop(layer))
            # No cheaper way to these can be found any more: all steps from this layer lead at least as far.
            following = (layer[0], layer[1] + 1)
            ahead = _current(graph, following, layers.get(following, ()))
            for number, successors in self._expand(numbers, ahead):
                for new in exploration.record(number, successors, self._expander):
                    at = (graph.costs[new], graph.depths[new])
                    if at not in layers:
                        layers[at] = array("I")
                        heapq.heappush(order, at)
                    layers[at].append(new)
                expanded += 1
                measure = expanded % OFTEN == 0
                stopped = self._limits.reached(len(graph), exploration.verdict.steps, measure=measure)
                if measure and not stopped:
                    stopped = self._memory.relieve()
                if stopped:
                    return stopped
                if exploration.has_violations:
                    if self._until_first:
                        return FIRST_FOUND
                    enough = ENOUGH_RESTLESS if exploration.is_restless else ENOUGH
                    if len(graph) > exploration.last_news + enough:
                        self.had_enough = True
                        return f"a violation was found, and {enough:,} more states showed no other one"
                self._position = (expanded, layer)
                if measure:
                    self._report()
                if len(graph) >= self._prove_at and self._prove():
                    exploration.judge_actions(baseline_only=False)
                    return ""
            self._expander.end_layer()
        if not self._knows_baseline:
            self._know_baseline()
        exploration.judge_actions(baseline_only=self._unperturbed)
        return ""

    def _prove(self) -> bool:
        """Show by sets of states that nothing is violated, or say when to go on with it."""
        exploration = self.exploration
        if not exploration.has_proof:
            self._effort.add(self._attempts.pop(0)[1])
            can_go_on = exploration.look_for_proof(self._effort) and self._attempts
            if not exploration.has_proof:
                self._prove_at = self._attempts[0][0] if can_go_on else sys.maxsize
                return False
        # A proof may lack something that a run is yet to show.
        self._prove_at = len(exploration.graph) + LOOK_AGAIN_AFTER
        return exploration.is_proven()

    def _expand(self, numbers: array[int], ahead: array[int]) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of the states of a layer; of some states at a time, once memory is limited."""
        begin = 0
        while begin < len(numbers):
            if begin:
                self._expander.end_layer()
            end = begin + _TOGETHER if self._memory.is_spilled else len(numbers)
            yield from self._expander.expand(
                numbers[begin:end].tolist(), [] if self._memory.is_spilled else ahead.tolist()
            )
            begin = end

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self.exploration.snapshot(*self._position))

    def _is_over(self) -> bool:
        """A limit was reached."""
        self._report()  # a search of sets can take longer than that of all states before it
        graph, steps = self.exploration.graph, self.exploration.verdict.steps
        return bool(self._limits.reached(len(graph), steps, measure=True))

    def _know_baseline(self) -> None:
        """All unperturbed runs are in the graph."""
        self._knows_baseline = True
        model = self.model
        if self._reference is None and self._hurries and model.mechanics.users.can_hurry:
            expander = Expander(model, HurriedSteps(model))
            search = BreadthFirst(model, expander=expander, unperturbed=True, hurries=False, spill=self._spill)
            search.run()
            self.exploration.quiescent.know_hurried(search.exploration.quiescent)
        self.exploration.know_baseline()


def _current(graph: Graph, layer: tuple[int, int], reached: Iterable[int]) -> array[int]:
    """The states of a layer, each once, in the order in which they were reached.

    A state to which a cheaper way was found meanwhile is in that way's layer, too, and is expanded there.
    """
    costs, depths = graph.costs, graph.depths
    return array("I", dict.fromkeys(number for number in reached if (costs[number], depths[number]) == layer))


def _attempts(model: Model) -> tuple[tuple[int, int], ...]:
    """The numbers of states after which sets of states are tried, with the effort."""
    if len(model.programs) == 1:
        return PROVE_ALONE_AFTER
    several = len(model.programs) > len(model.scenario.controllers)
    return PROVE_PART_AFTER if model.part is not None and several else PROVE_AFTER
