"""Schedulers: they choose the next step of a walk.

Random numbers come from one generator, and only by its ``random()``, which gives the same numbers for a seed in every
version of Python.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.step import Step

#: The depth of the bugs that PCT looks for: one order by the priorities, the rest by changes of them.
_DEPTH: Final = 3
_T = TypeVar("_T")


class Scheduler(Protocol):
    """Chooses steps."""

    #: Names the walks in messages.
    name: str

    def begin(self, length: int) -> None:
        """Begin another walk, of about ``length`` steps."""

    def choose(self, steps: Sequence[Step]) -> Step:
        """One of the enabled steps."""

    def came_back(self) -> None:
        """The step that was chosen last led to a state in which the walk was before."""


def _any(generator: random.Random, among: Sequence[_T]) -> _T:
    return among[int(generator.random() * len(among))]


class RandomScheduler:
    """Chooses every enabled step with the same probability."""

    name = "random"

    def __init__(self, seed: int, instances: int) -> None:
        del instances
        self._generator = random.Random(seed)

    def begin(self, length: int) -> None:
        """Nothing to prepare."""

    def choose(self, steps: Sequence[Step]) -> Step:
        """One of the steps."""
        return _any(self._generator, steps)

    def came_back(self) -> None:
        """A random walk leaves every cycle by itself."""


class Pct:
    """Probabilistic concurrency testing (Burckhardt and others, 2010).

    Each instance, the delivery of its events, the user, and the faults are processes with random priorities; the
    highest that is enabled takes a step. At a few random steps the process that would have run falls below all others.
    A bug that needs few ordering constraints is found with a probability that has a lower bound.

    A process that runs in circles would keep all others waiting forever: it falls as well, as one that yields does in
    the original algorithm.
    """

    name = "PCT"

    def __init__(self, seed: int, instances: int) -> None:
        self._generator = random.Random(seed)
        self._instances = instances
        self._priorities: list[float] = []
        #: The new priority of the process that would take the step of this number.
        self._changes: dict[int, int] = {}
        self._taken = 0
        self._lowest = 0
        self._last = 0

    def begin(self, length: int) -> None:
        """Draw new priorities, and the steps at which they change."""
        self._priorities = [self._generator.random() for _ in range(2 * self._instances + 2)]
        self._changes = {int(self._generator.random() * length) + 1: -number for number in range(1, _DEPTH)}
        self._taken = 0
        self._lowest = -_DEPTH

    def choose(self, steps: Sequence[Step]) -> Step:
        """A step of the process with the highest priority."""
        self._taken += 1
        process = self._highest(steps)
        if self._taken in self._changes:
            self._priorities[process] = self._changes[self._taken]
            process = self._highest(steps)
        self._last = process
        return _any(self._generator, [step for step in steps if self._process(step) == process])

    def came_back(self) -> None:
        """Let the others go first."""
        self._lowest -= 1
        self._priorities[self._last] = self._lowest

    def _highest(self, steps: Sequence[Step]) -> int:
        return max((self._process(step) for step in steps), key=lambda process: self._priorities[process])

    def _process(self, step: Step) -> int:
        """Instances first, then the delivery of their events, then the user, then faults."""
        if step.action == "act":
            return 2 * self._instances
        if step.action in OPTIONAL:
            return 2 * self._instances + 1
        return step.instance + self._instances * (step.action in ("deliver", "relist"))
