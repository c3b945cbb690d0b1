"""Walks: some runs through a scenario, chosen at random, where there are too many states to search them all.

A walk takes one step after the other until everything has settled. Steps are judged as in an exhaustive search, and
the final state is compared with the baseline, which is searched first. Counterexamples are shrunk. Walks can show that
something is violated, never that nothing is. They cannot show that something never settles either, for a walk that
comes back to a state could have left it by another step.

One seed gives the same walks, and so the same verdict, everywhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from kontend.cluster.state import State
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.judge import Judge
from kontend.explore.search.baseline import SOON, Baseline
from kontend.explore.search.breadth_first import FIRST_FOUND, INTERRUPTED
from kontend.explore.search.limits import Limits
from kontend.explore.search.snapshot import Progress, Snapshot
from kontend.explore.search.walks.schedulers import Pct, RandomScheduler, Scheduler
from kontend.explore.search.walks.shrink import shrunk
from kontend.explore.search.walks.walk import Walk
from kontend.explore.verdict import Reached, Verdict

#: The steps after which a walk is cut off, or a multiple of those of an unperturbed run if that is more.
_LONGEST: Final = 1_000
_TIMES: Final = 10
#: The schedulers, by the names of the strategies.
SCHEDULERS: Final[dict[str, Callable[[int, int], Scheduler]]] = {"random": RandomScheduler, "pct": Pct}
#: After how many steps progress is reported and limits are measured.
OFTEN: Final = 500


class Walks:
    """Some walks through one scenario."""

    def __init__(
        self,
        model: Model,
        *,
        strategy: str = "random",
        seed: int = 0,
        walks: int = 1_000,
        until_first: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Prepare to make a number of ``walks``."""
        self.model = model
        bounds, guards = model.scenario.bounds, model.scenario.guards
        self.verdict = Verdict(bounds=str(bounds), not_tried=bounds.not_tried, guards=guards.on)
        self._limits = Limits(model.scenario.bounds, with_memory=True)
        self._baseline = Baseline(model, most=SOON)
        self._judge = Judge(model)
        self._scheduler = SCHEDULERS[strategy](seed, len(model.names))
        self._seed = seed
        self._walks = walks
        self._until_first = until_first
        self._progress = progress
        self._made = 0
        self._states: set[bytes] = set()
        self._final: dict[bytes, State] = {}
        self._ends: Counter[bytes] = Counter()
        #: The shortest way to a violation of each property, and its sentence.
        self._violations: dict[str, tuple[str, tuple[Step, ...]]] = {}
        self._wrote = False
        #: Properties of clusters that held in some state.
        self._held: set[str] = set()

    def run(self) -> Verdict:
        """Make the walks, or as many as the limits allow."""
        started = time.perf_counter()
        verdict = self.verdict
        try:
            baseline = self._baseline.run()
        except KeyboardInterrupt:
            verdict.stopped = INTERRUPTED
            return verdict
        try:
            for violation in baseline.verdict.violations:
                # Unperturbed runs can violate something, too. A cycle does not show along one, and is left out.
                walk = self._walk()
                walk.follow(violation.schedule)
                self._note(walk)
            stopped = self._make()
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        self._conclude(stopped)
        verdict.violations = [
            shrunk(self.model, name, sentence, schedule, judge=self._judge, baseline=baseline.final_states)
            for name, (sentence, schedule) in sorted(
                self._violations.items(), key=lambda item: item[0] != BuiltIn.EXCEPTION
            )
        ]
        verdict.seconds = time.perf_counter() - started
        return verdict

    def _walk(self) -> Walk:
        return Walk(self.model, judge=self._judge, baseline=self._baseline.final_states)

    def _make(self) -> str:
        """Make the walks; returns why it stopped before the end, if it did."""
        # The length of a walk, as far as it is known, and the length at which it is cut off.
        length = max(1, self._baseline.depth)
        longest = max(_LONGEST, _TIMES * length)
        while self._made < self._walks:
            if self._until_first and self._violations:
                return FIRST_FOUND
            walk = self._walk()
            self._scheduler.begin(length)
            try:
                stopped = self._go(walk, longest)
            finally:
                self._note(walk)
            if stopped:
                return stopped
            self._made += 1
            if len(walk.schedule) < longest:
                length = max(length, len(walk.schedule))
        return ""

    def _go(self, walk: Walk, longest: int) -> str:
        """Make one walk; returns the limit that was reached, if one was."""
        model, scheduler, verdict = self.model, self._scheduler, self.verdict
        key = model.key(walk.world)
        visited = {key}
        self._states.add(key)
        while True:
            steps = model.steps(walk.world)
            if is_quiescent(model, walk.world, steps):
                walk.end()
                form = final_form(walk.world, model.ignored)
                self._final.setdefault(form, walk.world.state)
                self._ends[form] += 1
                return ""
            if not steps or len(walk.schedule) == longest:
                verdict.cut += 1
                return ""
            if self._until_first and walk.violations:
                return ""
            transition = walk.take(scheduler.choose(steps))
            verdict.steps += 1
            self._wrote = self._wrote or bool(transition.changes)
            key = model.key(walk.world)
            if key in visited:
                scheduler.came_back()
            visited.add(key)
            self._states.add(key)
            measure = verdict.steps % OFTEN == 0
            stopped = self._limits.reached(len(self._states), verdict.steps, measure=measure)
            if stopped:
                return stopped
            if measure and self._progress is not None:
                left = self._walks - self._made
                violations = len({*self._violations, *walk.violations})
                state = (left, len(walk.schedule), walk.cost, violations)
                self._progress(Snapshot(len(self._states), verdict.steps, *state))

    def _note(self, walk: Walk) -> None:
        """Keep the violations, by the shortest walk."""
        self._held |= walk.held
        for name, (sentence, length) in walk.violations.items():
            known = self._violations.get(name)
            if known is None or length < len(known[1]):
                self._violations[name] = (sentence, tuple(walk.schedule[:length]))

    def _conclude(self, stopped: str) -> None:
        baseline, verdict = self._baseline, self.verdict
        many = f"{self._made:,} {self._scheduler.name} walk{'s' * (self._made != 1)} (seed {self._seed})"
        verdict.walks = f"{many}, until {stopped}" if stopped else many
        verdict.stopped = stopped or f"{many} {'were' if self._made != 1 else 'was'} made, not all there are"
        verdict.states = len(self._states)
        verdict.final_states = list(self._final.values())
        good = baseline.final_states or frozenset()
        verdict.baseline_states = len(self._final.keys() & good)
        verdict.reached = [Reached(self._ends[form], form in good) for form in self._final]
        verdict.runs = sum(program.runs for program in set(self.model.programs))
        properties = self.model.scenario.properties
        verdict.untested = [
            prop.name
            for prop in properties
            if (prop.mode == "sometimes" and prop.name not in self._held and prop.name in baseline.verdict.untested)
            or (prop.arity == 2 and not self._wrote)
        ]
        if baseline.verdict.stopped:
            why = baseline.verdict.stopped
            verdict.notes.append(f"diverged: not compared; in the search of the unperturbed runs {why}")
