"""Pins a counterexample in a test by the text of its trace."""

from __future__ import annotations

from collections.abc import Sequence

from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.restarts import restarted
from kontend.explore.scenario import Scenario
from kontend.explore.search.walks.walk import Walk
from kontend.runtime.source_location import caller


def assert_discovery(scenario: Scenario, name: str, trace: Sequence[str]) -> None:
    """Fail unless the steps of a trace are enabled one after the other and violate the property ``name``.

    This pins a counterexample: it fails when the bug is fixed, and when the way to it has changed.
    """
    if name not in scenario.property_names():
        raise BadScenario(not_among("property", name, scenario.property_names()), caller())
    violated = restarted(scenario, lambda model: _violated_along(model, trace))
    if name not in violated:
        others = f"they violate {', '.join(sorted(violated))}" if violated else "nothing is violated"
        raise AssertionError(f"the steps are enabled, but {name} holds: {others}")


def _violated_along(model: Model, trace: Sequence[str]) -> set[str]:
    walk = Walk(model)
    for number, text in enumerate(trace, 1):
        steps: dict[str, Step] = {}
        for step in model.steps(walk.world):
            steps.setdefault(model.next(walk.world, step).line, step)
        if text not in steps:
            enabled = "".join(f"\n  {text}" for text in steps) or " nothing"
            raise AssertionError(f"step {number}, {text!r}, is not enabled. Enabled here:{enabled}")
        walk.take(steps[text])
    walk.end()
    return set(walk.violations)
