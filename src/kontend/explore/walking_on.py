"""Walking on: where a search stops at a limit, random walks look into the part of the space that it has not reached.

A search by layers never gets to the end of long runs before it has seen all shorter ones. Walks do. They get what time
is left of the limit, a fifth of it being kept for them, or a fifth of the steps that the search has taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kontend.explore.scenario import Scenario
from kontend.explore.verdict import Verdict

#: The share of time or steps that walks get.
_SHARE: Final = 5
#: The number of steps that they get at least.
_FEWEST: Final = 2_000


def to_search(scenario: Scenario) -> Scenario:
    """The scenario with the time that a search gets, where it has a limit.

    >>> from kontend.explore import Bounds
    >>> to_search(Scenario(controllers=["deployment"], bounds=Bounds(seconds=60))).bounds.seconds
    48
    """
    bounds = scenario.bounds
    if bounds.seconds is None or bounds.seconds < _SHARE:
        return scenario
    return replace(scenario, bounds=replace(bounds, seconds=bounds.seconds - bounds.seconds // _SHARE))


def to_walk(scenario: Scenario, verdict: Verdict) -> Scenario | None:
    """The scenario with the limits of the walks that follow a search; None where they are not called for."""
    bounds = scenario.bounds
    if not verdict.limit or bounds.perturbations is not None:  # walks do not count perturbations
        return None
    left = None
    if bounds.seconds is not None:
        left = int(bounds.seconds - verdict.seconds)
        if left < 1:
            return None
    steps = max(_FEWEST, verdict.steps // _SHARE)
    return replace(scenario, bounds=replace(bounds, seconds=left, steps=steps, states=steps))


def walked_on(scenario: Scenario, verdict: Verdict, walks: Verdict) -> Verdict:
    """The verdict of a search of a scenario, and of the walks that followed it."""
    shorter = to_search(scenario).bounds.seconds
    if shorter != scenario.bounds.seconds:
        before = f"the limit of {shorter} seconds was reached"
        verdict.stopped = verdict.stopped.replace(before, f"{before}, of {scenario.bounds.seconds}")
    known = {violation.property for violation in verdict.violations}
    violations = [violation for violation in walks.violations if violation.property not in known]
    verdict.violations += violations
    names = ", ".join(violation.property for violation in violations)
    more = f"found {names}" if violations else "found nothing more"
    verdict.notes.append(f"where the search stopped, walks went on and {more}: {walks.walks}")
    return verdict
