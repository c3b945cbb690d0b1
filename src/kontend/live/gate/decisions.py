"""Decisions of the gate: which perturbation applies to a call. Pure bookkeeping, without I/O.

A perturbation at a point applies once, to the primary instance only; a failure may apply several times in a row. Points
count the writes that have changed something: a perturbation on arrival applies to the first attempt at the nth one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import AtPoint, Fail, Perturbation


class Decisions:
    """The perturbations of a plan that wait for a call.

    >>> from kontend.live.gate.perturbation import Crash
    >>> call = Call("create", "configmaps", "default", "c")
    >>> decisions = Decisions([Crash(Point(call, 2))])
    >>> [len(decisions.after_commit(call)) for _ in range(3)]
    [0, 1, 0]
    """

    def __init__(self, perturbations: Iterable[Perturbation]) -> None:
        self._arrivals: dict[Point, AtPoint] = {}
        self._commits: dict[Point, list[AtPoint]] = {}
        for perturbation in perturbations:
            if not isinstance(perturbation, AtPoint):
                continue
            if perturbation.on_arrival:
                self._arrivals[perturbation.at] = perturbation
            else:
                self._commits.setdefault(perturbation.at, []).append(perturbation)
        self._committed: Counter[Call] = Counter()
        #: A failure that has begun, and how often it applies yet.
        self._repeated: dict[Point, tuple[Fail, int]] = {}

    @property
    def waiting(self) -> list[Perturbation]:
        """The perturbations whose point has not been reached."""
        return [*self._arrivals.values(), *(commit for many in self._commits.values() for commit in many)]

    def at_arrival(self, call: Call) -> AtPoint | None:
        """Return the perturbation that applies to a call that has arrived."""
        point = Point(call, self._committed[call] + 1)
        perturbation: AtPoint | None = None
        perturbation, left = self._repeated.pop(point, (None, 0))
        if perturbation is None:
            perturbation = self._arrivals.pop(point, None)
            left = perturbation.times if isinstance(perturbation, Fail) else 0
        if isinstance(perturbation, Fail) and left > 1:
            self._repeated[point] = perturbation, left - 1
        return perturbation

    def end_repetitions(self) -> None:
        """Let calls succeed that have failed before: the process is idle."""
        self._repeated.clear()

    def after_commit(self, call: Call) -> list[AtPoint]:
        """Count a write that has changed something, and return the perturbations that apply to it."""
        self._committed[call] += 1
        return self._commits.pop(Point(call, self._committed[call]), [])
