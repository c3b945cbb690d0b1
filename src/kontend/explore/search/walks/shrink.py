"""Shrinks counterexamples: first the perturbations, then all steps that are not needed.

A candidate is a schedule with something left out or put off. It is followed as far as its steps are enabled, and taken
if it violates the same property with fewer perturbations, or with as many and fewer steps, until nothing helps. The
result is simple, not always the simplest.

A violation that shows only in a final state gets the chance to: the rest of such a candidate runs unperturbed. One that
no walk can show, because it concerns everything that can happen from a state on, is kept by reaching that state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.judge import Judge
from kontend.explore.search.walks.walk import Walk
from kontend.explore.trace.counterexample import counterexample
from kontend.explore.verdict import Violation

Schedule = tuple[Step, ...]


def shrink(
    model: Model, name: str, schedule: Schedule, *, judge: Judge | None = None, baseline: frozenset[bytes] | None = None
) -> Schedule:
    """The simplest schedule found that violates the property ``name`` as ``schedule`` does."""
    return _Shrinking(model, name, schedule, judge or Judge(model), baseline).run()


def shrunk(
    model: Model,
    name: str,
    sentence: str,
    schedule: Schedule,
    *,
    judge: Judge | None = None,
    baseline: frozenset[bytes] | None = None,
) -> Violation:
    """A violation with a shrunk trace; ``sentence`` is for one that no walk can show."""
    short = shrink(model, name, schedule, judge=judge, baseline=baseline)
    walk = Walk(model, judge=judge, baseline=baseline)
    walk.follow(short, until=name)
    # Another write may violate it now: the sentence describes that one.
    sentence, _ = walk.violations.get(name, (sentence, 0))
    return counterexample(model, name, sentence, short, how="shrunk")


class _Candidate(NamedTuple):
    """Candidates are compared by perturbations, then by length."""

    cost: int
    length: int
    schedule: Schedule


class _Shrinking:
    """One schedule on its way to become shorter."""

    def __init__(
        self, model: Model, name: str, schedule: Schedule, judge: Judge, baseline: frozenset[bytes] | None
    ) -> None:
        self._model = model
        self._name = name
        self._judge = judge
        self._baseline = baseline
        settling = {prop.name for prop in model.scenario.properties if prop.mode == "eventually"}
        self._shows_at_the_end = name in (BuiltIn.DIVERGED, BuiltIn.LEAK) or name in settling
        self._most = 2 * len(schedule)
        self._goal: bytes | None = None
        best = self._tried(schedule)
        if best is None:
            self._goal = model.key(_after(model, schedule))
            best = self._tried(schedule)
            assert best is not None
        self._best = best

    def run(self) -> Schedule:
        """Try everything that may help, until nothing does."""
        before = None
        while before != self._best:
            before = self._best
            self._perturb_less()
            self._leave_out_pieces()
        return self._best.schedule

    def _tried(self, candidate: Schedule, *, settle: bool = False) -> _Candidate | None:
        """The result of a candidate, if the property is violated; with ``settle`` the rest runs unperturbed."""
        walk = Walk(self._model, judge=self._judge, baseline=self._baseline)
        walk.follow(candidate, until=self._name, goal=self._goal)
        if self._goal is not None:
            succeeded = self._model.key(walk.world) == self._goal
        else:
            if settle or self._shows_at_the_end:
                walk.settle(self._most, until=self._name)
            succeeded = self._name in walk.violations
        return _Candidate(walk.cost, len(walk.schedule), tuple(walk.schedule)) if succeeded else None

    def _is_taken(self, candidate: Schedule, *, settle: bool = False) -> bool:
        tried = self._tried(candidate, settle=settle)
        if tried is None or tried[:2] >= self._best[:2]:
            return False
        self._best = tried
        return True

    # The ways to shrink

    def _perturb_less(self) -> None:
        """Try each perturbation without it."""
        number = 0
        while number < len(self._best.schedule):
            schedule = self._best.schedule
            world = _after(self._model, schedule[:number])
            if not self._model.next(world, schedule[number]).cost:
                number += 1
            elif self._is_taken(schedule[:number], settle=True):
                return
            # After one that helped, another step has this number.
            elif not any(self._is_taken(candidate) for candidate in self._milder(world, schedule, number)):
                number += 1

    def _milder(self, world: World, schedule: Schedule, number: int) -> Iterator[Schedule]:
        """Leave the step out, let it wait until the others are done, or let its views catch up before it."""
        model, step = self._model, schedule[number]
        before, after = schedule[:number], schedule[number + 1 :]
        yield before + after
        own = tuple(other for other in schedule[number:] if other.instance == step.instance)
        others = tuple(other for other in after if other.instance != step.instance)
        yield before + others + own
        if step.instance < 0:
            return
        caught_up = tuple(
            Step("deliver", step.instance, model.layout.kinds[step.instance][at])
            for at in range(len(world.process(step.instance).views))
            for _ in world.undelivered(step.instance, at, model.layout.resources[step.instance][at])
        )
        if caught_up:
            yield before + caught_up + schedule[number:]

    def _leave_out_pieces(self) -> None:
        """Leave out everything, a half, a quarter, … one step."""
        size = len(self._best.schedule)
        while size:
            begin = 0
            while begin < len(self._best.schedule):
                schedule = self._best.schedule
                if not self._is_taken(schedule[:begin] + schedule[begin + size :]):
                    begin += size
            size //= 2


def _after(model: Model, schedule: Sequence[Step]) -> World:
    """The state after some steps."""
    world = model.initial()
    for step in schedule:
        world = model.next(world, step).world
    return world
