"""Deepening: where everything holds within the bounds, a search goes on with one more fault in each run.

Two faults in one run are rare, and much is broken for a moment after them. So beyond the bounds only damage counts that
lasts: a wrong final state, a run that never ends, a delete of the wrong object, a programming error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.scenario import Scenario
from kontend.explore.verdict import Verdict, Violation

_LASTING: Final = frozenset(
    {
        BuiltIn.EXCEPTION,
        BuiltIn.WRONG_OBJECT,
        BuiltIn.WRONG_OWNER,
        BuiltIn.NEVER_SETTLES,
        BuiltIn.FAILS_FOREVER,
        BuiltIn.DIVERGED,
        BuiltIn.LEAK,
    }
)
#: The bounds that grow.
_FAULTS: Final = ("faults", "crashes", "failed", "lost", "handovers")


def deeper(scenario: Scenario, states: int) -> Scenario | None:
    """A scenario with two faults in a run, searched for so many states; None unless its bounds allow exactly one.

    >>> from kontend.explore import Bounds
    >>> found = deeper(Scenario(controllers=["deployment"], bounds=Bounds(lost=0)), 1_000)
    >>> found and (found.bounds.faults, found.bounds.crashes, found.bounds.lost)
    (2, 2, 0)
    """
    bounds = scenario.bounds
    if bounds.faults != 1 or not bounds.tried:
        return None
    more = {name: getattr(bounds, name) + 1 for name in _FAULTS if getattr(bounds, name)}
    return replace(scenario, bounds=replace(bounds, **more, states=min(states, bounds.states)))


def lasting(scenario: Scenario, verdict: Verdict) -> list[Violation]:
    """The violations of a verdict that do not pass."""
    names = {str(prop.name) for prop in scenario.properties if prop.mode == "eventually"} | set(map(str, _LASTING))
    return [violation for violation in verdict.violations if violation.property in names]


def deepened(scenario: Scenario, verdict: Verdict, beyond: Verdict) -> Verdict:
    """The verdict on a scenario that holds within its bounds, and on the same ``beyond`` them."""
    violations = lasting(scenario, beyond)
    if violations:
        beyond.violations = violations
        beyond.notes.append(f"it takes two faults: with one, everything holds in all {verdict.states:,} states")
        return beyond
    where = f"all {beyond.states:,} states" if beyond.exhausted else f"the first {beyond.states:,} states, not in all"
    verdict.notes.append(f"no lasting damage found with two faults per run, in {where}")
    return verdict
