"""The baseline: the final states of unperturbed runs, with which those of all other runs are compared.

In an unperturbed run one reconcile runs at a time, views are up to date, and users act between reconciles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kontend.explore.model.model import Model
from kontend.explore.scenario import Scenario
from kontend.explore.search.breadth_first import INTERRUPTED, BreadthFirst
from kontend.explore.search.expander import Expander
from kontend.explore.search.successors import UnperturbedSteps

#: The number of states for those who want the baseline soon: a matter of seconds.
SOON: Final = 20_000


class Baseline:
    """A search of the unperturbed runs of a scenario."""

    def __init__(self, model: Model, *, most: int | None = None) -> None:
        """Prepare a search of at most ``most`` states."""
        bounds = model.scenario.bounds
        states = min(most, bounds.states) if most is not None else bounds.states
        limited = _limited(model, states)
        self._search = BreadthFirst(limited, expander=Expander(limited, UnperturbedSteps(limited)), unperturbed=True)
        #: The canonical forms of the final states; None where they are not known, or there are none.
        self.final_states: frozenset[bytes] | None = None
        #: The number of steps to the furthest state.
        self.depth = 0
        self.exploration = self._search.exploration
        self.verdict = self.exploration.verdict

    def run(self) -> Baseline:
        """Search. Raises ``KeyboardInterrupt``, unlike other searches: half a baseline is of no use."""
        verdict = self._search.run()
        if verdict.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if not verdict.stopped and not self.exploration.is_held_up:
            self.final_states = self._search.exploration.quiescent.unperturbed() or None
        self.depth = max(self._search.exploration.graph.depths)
        return self


def _limited(model: Model, states: int) -> Model:
    scenario: Scenario = replace(model.scenario, bounds=replace(model.scenario.bounds, states=states, faults=0))
    limited = Model(scenario, model.knowledge)
    return limited if model.part is None else limited.restricted(model.part)
