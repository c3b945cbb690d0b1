"""The order of plans: those first from which most is expected, by the write that they hit and what others have shown.

All plans of one kind in a row would spend an hour on crashes before the first stale cache. So kinds take turns, and
within a kind a write that names no version comes before a locked one, the last write of an object before earlier ones
that later work repairs, and a write of a kind of object that no plan has hit yet before its look-alikes. A kind that
has shown something goes on; one that has shown nothing ten times waits longer for its turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kontend.live.baseline import Baseline
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import AtPoint, Perturbation, Rewind
from kontend.live.gate.plan import Plan
from kontend.live.runs.setting import PRIMARY


class Ranking:
    """The order of plans, by what is known so far."""

    def __init__(self, baseline: Baseline) -> None:
        writes = [request for request in baseline.runs[0].log.writes() if request.process == PRIMARY]
        #: The calls that carry a version, so that a conflict is noticed.
        self._locked = {request.call for request in writes if request.locked}
        self._times = Counter(request.call for request in writes)
        #: The number of plans of a kind that were taken, and of those that have shown something.
        self._taken: Counter[str] = Counter()
        self._shown: Counter[str] = Counter()
        self._hit: Counter[tuple[str, ...]] = Counter()

    def sorted(self, plans: Iterable[Plan]) -> list[Plan]:
        """Return plans in the order in which they would be taken if none of them showed anything."""
        waiting, order = list(plans), []
        while waiting:
            order.append(self.take(waiting))
        return order

    def take(self, waiting: list[Plan]) -> Plan:
        """Remove the plan from which most is expected, and return it; of equals the first."""
        best = min(waiting, key=self._rank)
        waiting.remove(best)
        self._taken[_kind(best)] += 1
        self._hit[_target(best)] += 1
        return best

    def learn(self, plan: Plan, *, found: bool) -> None:
        """Take notice of what a plan has shown."""
        self._shown[_kind(plan)] += found

    def _rank(self, plan: Plan) -> tuple[float, ...]:
        kind = _kind(plan)
        turn = (1 + self._taken[kind]) / (1 + self._shown[kind])
        locks = [not self._is_locked(each.at.call) for each in plan.perturbations if isinstance(each, AtPoint)]
        last = [each.at.nth == self._times[each.at.call] for each in plan.perturbations if isinstance(each, AtPoint)]
        return len(plan.perturbations), turn, self._hit[_target(plan)], -sum(locks), -sum(last)

    def _is_locked(self, call: Call) -> bool:
        return call in self._locked


def _kind(plan: Plan) -> str:
    return "+".join(type(each).__name__ + getattr(each, "error", "") for each in plan.perturbations)


def _target(plan: Plan) -> tuple[str, ...]:
    return tuple(part for each in plan.perturbations for part in (_kind(plan), *_place(each)))


def _place(perturbation: Perturbation) -> tuple[str, ...]:
    """Return the kind of call, or the resource, that a perturbation is about: objects of one kind look alike."""
    if isinstance(perturbation, AtPoint):
        call = perturbation.at.call
        return call.verb, call.resource, call.subresource
    # Older lists are in order already: one kind of object matters more than another.
    return () if isinstance(perturbation, Rewind) else (str(getattr(perturbation, "resource", "")),)
