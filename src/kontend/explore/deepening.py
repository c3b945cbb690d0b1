"""Deepening: where everything holds within the bounds, a search goes on with older lists, and with one more fault.

Lists that are several changes old after a restart and two faults in one run are rare, and much is broken for a moment
after them. So beyond the bounds only damage counts that lasts: a wrong final state, a run that never ends, a delete of
the wrong object, a programming error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

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
#: The changes that lists may lack after a restart.
_OLDER: Final = 3
#: The bounds that grow.
_FAULTS: Final = ("faults", "crashes", "failed", "lost", "handovers")


class Further(NamedTuple):
    """A scenario beyond its bounds, and words for what is beyond them."""

    scenario: Scenario
    needed: str
    tried: str


def deeper(scenario: Scenario, states: int) -> list[Further]:
    """A scenario with older lists, and with two faults in a run, each searched up to a number of states.

    None of them unless its bounds allow exactly one fault.

    >>> from kontend.explore import Bounds
    >>> from kontend import Guards
    >>> scenario = Scenario(["deployment"], bounds=Bounds(lost=0), guards=Guards.off())
    >>> found = [further.scenario.bounds for further in deeper(scenario, 1_000)]
    >>> [(bounds.rewind, bounds.faults, bounds.crashes, bounds.lost) for bounds in found]
    [(3, 1, 1, 0), (1, 2, 2, 0)]
    """
    bounds = scenario.within_guards().bounds
    if bounds.faults != 1 or not bounds.tried:
        return []
    found = []
    states = min(states, bounds.states)
    if bounds.crashes and 0 < bounds.rewind < _OLDER:
        older = replace(scenario, bounds=replace(bounds, rewind=_OLDER, states=states))
        lists = f"lists that are up to {_OLDER} changes old after a restart"
        found.append(Further(older, f"{lists}: with lists up to {bounds.rewind} old", lists))
    more = {name: getattr(bounds, name) + 1 for name in _FAULTS if getattr(bounds, name)}
    twice = replace(scenario, bounds=replace(bounds, **more, states=states))
    return [*found, Further(twice, "two faults: with one", "two faults per run")]


def lasting(scenario: Scenario, verdict: Verdict) -> list[Violation]:
    """The violations of a verdict that do not pass."""
    names = {str(prop.name) for prop in scenario.properties if prop.mode == "eventually"} | set(map(str, _LASTING))
    return [violation for violation in verdict.violations if violation.property in names]


def deepened(further: Further, verdict: Verdict, beyond: Verdict) -> Verdict:
    """The verdict on a scenario that holds within its bounds, and on the same ``beyond`` them."""
    violations = lasting(further.scenario, beyond)
    if violations:
        beyond.violations = violations
        beyond.notes.append(f"it takes {further.needed}, everything holds in all {verdict.states:,} states")
        return beyond
    where = f"all {beyond.states:,} states" if beyond.exhausted else f"the first {beyond.states:,} states, not in all"
    verdict.notes.append(f"no lasting damage found with {further.tried}, in {where}")
    return verdict
