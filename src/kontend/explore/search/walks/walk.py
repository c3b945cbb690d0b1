"""One run through a scenario, step by step, and the violations along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.step import UNPERTURBED, Step, Transition
from kontend.explore.properties import built_in
from kontend.explore.properties.built_in import Breach
from kontend.explore.properties.judge import Judge
from kontend.explore.properties.leaks import Leaks
from kontend.kube.meta.names import Key


class Walk:
    """Takes steps and judges each of them."""

    def __init__(self, model: Model, *, judge: Judge | None = None, baseline: frozenset[bytes] | None = None) -> None:
        """Start in the initial state. Without the final states of the ``baseline`` none is compared with them."""
        self.model = model
        self.judge = judge or Judge(model)
        self.world = model.initial()
        self.schedule: list[Step] = []
        #: The number of perturbations.
        self.cost = 0
        #: Violations by property: the sentence, and the number of steps after which it showed first.
        self.violations: dict[str, tuple[str, int]] = {}
        #: The properties of clusters that held at some time.
        self.held: set[str] = set()
        self._baseline = baseline
        self._note(self.judge.of_initial(self.world))
        self._note_held()

    def take(self, step: Step) -> Transition:
        """Take a step."""
        transition = self.model.next(self.world, step)
        self.schedule.append(step)
        self.cost += transition.cost
        for before, part in transition.calls or ((self.world, transition),):
            if part.changes:
                self._note(self.judge.of_write(before, part, step.instance))
                self.world = part.world
                self._note_held()
        if transition.failure is not None and isinstance(step.subject, Key):
            self._note(self.judge.of_failure(transition.failure, step.instance, step.subject))
        self.world = transition.world
        return transition

    def follow(self, schedule: Sequence[Step], *, until: str = "", goal: bytes | None = None) -> None:
        """Take the steps that are enabled and leave out the others; stop when ``until`` is violated.

        Or stop in the state with the key ``goal``.
        """
        for step in schedule:
            if until in self.violations or (goal is not None and self.model.key(self.world) == goal):
                return
            if step in self.model.steps(self.world):
                self.take(step)
        if until not in self.violations:
            self.end()

    def settle(self, most: int, *, until: str = "") -> None:
        """Continue unperturbed until everything has settled or ``until`` is violated, for at most ``most`` steps.

        No instance waits forever: retries come last, and in turn.
        """
        times: Counter[Step] = Counter()
        for _ in range(most):
            if until in self.violations:
                return
            steps = self.model.steps(self.world)
            if is_quiescent(self.model, self.world, steps):
                break
            free = [step for step in steps if not self.model.next(self.world, step).cost]
            if not free:
                return
            step = min(free, key=lambda candidate: (UNPERTURBED.index(candidate.action), times[candidate]))
            times[step] += 1
            self.take(step)
        self.end()

    def end(self) -> None:
        """Judge the final state, if everything has settled."""
        if not is_quiescent(self.model, self.world, self.model.steps(self.world)):
            return
        self._note(Leaks(self.model.initial().state).of(self.world.state))
        holds = self.judge.holds(self.world)
        for prop in self.model.scenario.properties:
            if prop.mode == "eventually" and not holds[self.judge.positions[prop.name]]:
                self._note([built_in.not_eventually(prop.name)])
        if self._baseline is None or not self.cost:
            return
        if final_form(self.world, self.model.ignored) not in self._baseline:
            self._note([built_in.diverged()])

    def _note(self, findings: Iterable[Breach]) -> None:
        for finding in findings:
            self.violations.setdefault(finding.property, (finding.sentence, len(self.schedule)))

    def _note_held(self) -> None:
        holds = self.judge.holds(self.world)
        self.held.update(name for name, at in self.judge.positions.items() if holds[at])
