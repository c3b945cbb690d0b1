"""Decisions of the gate: which perturbation applies to a call. Pure bookkeeping, without I/O.

A perturbation at a point applies once, to the primary instance only. Failures and delays count the calls as they
arrive; crashes, lost responses and actions count the writes that have changed something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Act, Crash, Delay, Fail, HandOver, LoseResponse, Perturbation

AtArrival = Fail | Delay | HandOver
AfterCommit = Crash | LoseResponse | Fail | Act


class Decisions:
    """The perturbations of a plan that wait for a call.

    >>> call = Call("create", "configmaps", "default", "c")
    >>> decisions = Decisions([Crash(Point(call, 2))])
    >>> [len(decisions.after_commit(call)) for _ in range(3)]
    [0, 1, 0]
    """

    def __init__(self, perturbations: Iterable[Perturbation]) -> None:
        self._arrivals: dict[Point, AtArrival] = {}
        self._commits: dict[Point, list[AfterCommit]] = {}
        for each in perturbations:
            if isinstance(each, Delay | HandOver) or (isinstance(each, Fail) and each.error != "timeout"):
                self._arrivals[each.at] = each
            elif isinstance(each, Crash | LoseResponse | Fail | Act):
                self._commits.setdefault(each.at, []).append(each)
        self._arrived: Counter[Call] = Counter()
        self._committed: Counter[Call] = Counter()
        #: Calls to which a perturbation applies while it has not applied yet.
        self.applied = 0

    @property
    def waiting(self) -> list[Perturbation]:
        """The perturbations whose point has not been reached."""
        return [*self._arrivals.values(), *(each for many in self._commits.values() for each in many)]

    def at_arrival(self, call: Call) -> AtArrival | None:
        """Count a call that has arrived, and return the perturbation that applies to it."""
        self._arrived[call] += 1
        decision = self._arrivals.pop(Point(call, self._arrived[call]), None)
        self.applied += decision is not None
        return decision

    def after_commit(self, call: Call) -> list[AfterCommit]:
        """Count a write that has changed something, and return the perturbations that apply to it."""
        self._committed[call] += 1
        decisions = self._commits.pop(Point(call, self._committed[call]), [])
        self.applied += len(decisions)
        return decisions
