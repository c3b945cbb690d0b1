"""The faults that a state still allows."""

from __future__ import annotations

from typing import NamedTuple

from kontend.explore.scenario import Bounds


class Budget(NamedTuple):
    """The number of faults that can still happen. No kind allows more than the total, so that equal futures are equal.

    >>> Budget.of(Bounds(faults=1)).without("crashes").total
    0
    """

    total: int = 0
    crashes: int = 0
    failed: int = 0
    lost: int = 0
    handovers: int = 0

    @classmethod
    def of(cls, bounds: Bounds) -> Budget:
        """All that the bounds allow."""
        return cls(bounds.faults, bounds.crashes, bounds.failed, bounds.lost, bounds.handovers)._limited()

    def without(self, kind: str) -> Budget:
        """The budget after one fault of a kind."""
        return self._replace(total=self.total - 1, **{kind: getattr(self, kind) - 1})._limited()

    def covers(self, other: Budget) -> bool:
        """Everything that another budget allows is allowed."""
        return all(mine >= others for mine, others in zip(self, other, strict=True))

    def _limited(self) -> Budget:
        most = min(self.total, sum(self[1:]))
        return Budget(most, *(min(kind, most) for kind in self[1:]))


#: The budget of a state in which no fault can happen any more.
SPENT = Budget()


class Reserve(NamedTuple):
    """A budget, and the recent changes that a restart could go back to: two states with one future have one reserve."""

    budget: Budget = SPENT
    recent: bytes = b""

    def covers(self, other: Reserve) -> bool:
        """Everything that can happen because of faults with another reserve can happen with this one."""
        return self.budget.covers(other.budget) and (not other.recent or other.recent == self.recent)


NO_RESERVE = Reserve()
