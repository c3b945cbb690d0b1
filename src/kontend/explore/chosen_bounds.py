"""Bounds that a command line chooses for scenarios, as data that other processes can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kontend.explore.planned.perturbations import only, unperturbed
from kontend.explore.scenario import Bounds


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """The bounds that replace those of a scenario.

    >>> str(ChosenBounds({"lag": 2}, only=("staleness",)).applied(Bounds()))
    'lag ≤ 2, 1 instance'
    """

    #: By their names.
    given: Mapping[str, Any] = field(default_factory=dict)
    #: The perturbations that are tried; all within the bounds where it is empty.
    only: tuple[str, ...] = ()
    unperturbed: bool = False

    def applied(self, bounds: Bounds) -> Bounds:
        """Return bounds with those that were chosen. Raises :class:`BadScenario`."""
        changed = replace(bounds, **self.given) if self.given else bounds
        if self.unperturbed:
            changed = unperturbed(changed)
        return only(changed, self.only) if self.only else changed
