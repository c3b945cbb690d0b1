"""Decisions of the gate: which perturbation applies to a call. Pure bookkeeping, without I/O.

A perturbation at a point applies once, to the primary instance only. Failures and delays count the calls as they
arrive; crashes, lost responses and actions count the writes that have changed something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import AtPoint, Perturbation


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
        self._arrived: Counter[Call] = Counter()
        self._committed: Counter[Call] = Counter()

    @property
    def waiting(self) -> list[Perturbation]:
        """The perturbations whose point has not been reached."""
        return [*self._arrivals.values(), *(commit for many in self._commits.values() for commit in many)]

    def at_arrival(self, call: Call) -> AtPoint | None:
        """Count a call that has arrived, and return the perturbation that applies to it."""
        self._arrived[call] += 1
        return self._arrivals.pop(Point(call, self._arrived[call]), None)

    def after_commit(self, call: Call) -> list[AtPoint]:
        """Count a write that has changed something, and return the perturbations that apply to it."""
        self._committed[call] += 1
        return self._commits.pop(Point(call, self._committed[call]), [])
