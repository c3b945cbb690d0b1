"""The quiescent states of a search, and the final states of the cluster in them.

Final states are compared by their canonical form. Once those of all unperturbed runs are known, the baseline, every
other final state has diverged from them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kontend.cluster.state import State
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.properties import built_in
from kontend.explore.properties.leaks import leaks_in
from kontend.explore.search.graph import Graph
from kontend.explore.search.hurried import harmless
from kontend.explore.search.store.columns import Column, spilled
from kontend.explore.search.violations import Violations


class QuiescentStates:
    """Records and judges quiescent states."""

    def __init__(self, model: Model, graph: Graph, violations: Violations, positions: dict[str, int]) -> None:
        """``positions`` says where the values of a property are among those that the graph has for a state."""
        self._model = model
        self._graph = graph
        self._violations = violations
        self._eventually = [
            (prop.name, positions[prop.name]) for prop in model.scenario.properties if prop.mode == "eventually"
        ]
        self.leaks = leaks_in(model)
        self._numbers: Column = array("I")
        #: Final states by canonical form: the cheapest state, and its cluster.
        self._final: dict[bytes, tuple[int, State]] = {}
        #: The canonical forms of clusters, by their objects.
        self._canonical: dict[int, bytes] = {}
        #: The canonical forms of the final states of unperturbed runs, once all of these are known.
        self.baseline: frozenset[bytes] | None = None
        #: The final states of runs with users who do not wait.
        self._hurried: dict[bytes, State] = {}

    def add(self, number: int) -> None:
        """Record a quiescent state."""
        self._numbers.append(number)
        objects = self._graph.objects[number]
        form = self._canonical.get(objects)
        if form is None:
            world = self.world(number)
            form = self._canonical[objects] = final_form(world, self._model.ignored)
            if form not in self._final:
                self._final[form] = (number, world.state)
                for leak in self.leaks.of(world.state):
                    self._violations.add(leak, number)
        known = self._final[form]
        if self._graph.costs[number] < self._graph.costs[known[0]]:
            self._final[form] = (number, known[1])
        if self.baseline:
            if form not in self.baseline:
                self._violations.add(built_in.diverged(), number)
            self._judge_eventually(number)

    def must_go_on(self, number: int) -> bool:
        """Something else can happen in a state than faults, and deliveries that enqueue nothing."""
        world = self.world(number)
        steps = [step for step in self._model.steps(world) if step.action not in OPTIONAL]
        if all(step.action in ("deliver", "relist") for step in steps):
            return not self._model.mechanics.delivery.is_settled(world)
        return True

    def know_baseline(self, baseline: QuiescentStates) -> None:
        """All unperturbed runs are known, here or in a search of their own: runs are compared with them from now on."""
        self.baseline = baseline.unperturbed() or None

    def know_hurried(self, hurried: QuiescentStates) -> None:
        """The runs with users who do not wait are known."""
        self._hurried = hurried.clusters()

    def unperturbed(self) -> frozenset[bytes]:
        """The canonical forms of the final states that unperturbed runs reach, or that count as such."""
        unperturbed = {form: state for form, (number, state) in self._final.items() if self._graph.costs[number] == 0}
        return harmless(self._hurried, unperturbed.values(), self._model.ignored).union(unperturbed)

    def clusters(self) -> dict[bytes, State]:
        """The final states by canonical form."""
        return {form: state for form, (_, state) in self._final.items()}

    def counts(self) -> Counter[bytes]:
        """The numbers of quiescent states by canonical form."""
        return Counter(self._canonical[self._graph.objects[number]] for number in self._once())

    def schedules(self) -> list[tuple[Step, ...]]:
        """The cheapest way to each final state, in the order of the verdict."""
        return [tuple(self._graph.schedule(number)) for number, _ in self._final.values()]

    def judge(self) -> None:
        """Judge what has to hold in every quiescent state."""
        for number in self._numbers:
            self._judge_eventually(number)

    def judge_diverged(self, baseline: frozenset[bytes]) -> None:
        """Compare the final states with those of unperturbed runs."""
        for form, (number, _) in self._final.items():
            if form not in baseline:
                self._violations.add(built_in.diverged(), number)

    def spill(self, directory: Path) -> None:
        """Move what grows with the number of states to a file in a directory. Raises ``NoRoom``."""
        self._numbers = spilled(self._numbers, directory)

    def _judge_eventually(self, number: int) -> None:
        for name, position in self._eventually:
            if not self._graph.holds[number][position]:
                self._violations.add(built_in.not_eventually(name), number)

    def _once(self) -> Iterator[int]:
        """The quiescent states, each once."""
        seen = bytearray(len(self._graph))
        for number in self._numbers:
            if not seen[number]:
                seen[number] = 1
                yield number

    def world(self, number: int) -> World:
        """A state of the graph, reached by its schedule once more."""
        transitions = replay(self._model, self._graph.schedule(number))
        return transitions[-1].world if transitions else self._model.initial()
