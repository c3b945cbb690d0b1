"""Holds of a run: resources whose events do not reach the primary instance for a while.

The holds of a plan begin with a phase, and end with one or after some writes. The events of a user action that the
process is not to see are held until it is idle.
"""

from __future__ import annotations

from typing import Final

from kontend.live.gate.gate import LiveGate
from kontend.live.gate.perturbation import Hold
from kontend.live.gate.plan import Plan

#: Writes under a hold after which it ends in any case, beyond those of the baseline.
_MOST_WRITES: Final = 10


class Holds:
    """The holds of a plan that have begun, and the resources of unseen actions."""

    def __init__(self, gate: LiveGate, plan: Plan, most_writes: int) -> None:
        """``most_writes`` is the number of writes that a phase of the baseline has at most."""
        self._gate = gate
        self._planned = [perturbation for perturbation in plan.perturbations if isinstance(perturbation, Hold)]
        self._most_writes = most_writes + _MOST_WRITES
        #: The writes of the primary instance during each hold.
        self.begun: dict[Hold, int] = {}
        self.unseen: set[str] = set()

    @property
    def are_over(self) -> bool:
        """Return whether no events are held back."""
        return not self.begun and not self.unseen

    def begin(self, number: int, *, including: bool = False) -> None:
        """Begin the holds of a phase; with ``including``, those that include the action with which it begins."""
        for hold in self._planned:
            if hold.first == number and hold.including == including:
                self._gate.hold(hold.resource)
                self.begun[hold] = 0

    def hide(self, resource: str) -> None:
        """Hold back the events of an action that is about to be taken."""
        self._gate.hold(resource)
        self.unseen.add(resource)

    def show(self) -> bool:
        """Let the events of unseen actions pass; return whether there were any."""
        return self._release(self._take_unseen())

    def end(self, hold: Hold) -> bool:
        """End a hold; return whether events were held back."""
        self.begun.pop(hold, None)
        return self._gate.release(hold.resource)

    def end_all(self) -> bool:
        """Let all events pass; return whether there were any."""
        resources = {*self._take_unseen(), *(hold.resource for hold in self.begun)}
        self.begun.clear()
        return self._release(resources)

    def count_write(self) -> None:
        """Count a write of the primary instance, and end the holds that have lasted for long enough."""
        for hold in list(self.begun):
            self.begun[hold] += 1
            if self.begun[hold] >= (hold.writes or self._most_writes):
                self.end(hold)

    def _take_unseen(self) -> set[str]:
        unseen, self.unseen = self.unseen, set()
        return unseen

    def _release(self, resources: set[str]) -> bool:
        released = [self._gate.release(resource) for resource in sorted(resources)]
        return any(released)
