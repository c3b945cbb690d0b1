"""Compares the explorer with the oracle: the properties that are violated, and the states in which everything rests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

from explore.oracle.brute_force import BruteForce, Findings
from explore.oracle.fair_run import keeps_writing
from kontend.explore import Reductions, Scenario, Verdict, check
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.search import breadth_first

OFF: Final = Reductions.none()
#: Where states grow without end, each takes longer than the one before: the explorer then stops undecided.
SECONDS: Final = 20
#: The effort that a proof is worth here, two seconds: where it takes longer, it says nothing in most cases.
EFFORT: Final = 40_000
#: The ways in which the explorer can be asked, by name.
WAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {},
    "reductions off": {"reductions": OFF},
    "depth": {"search": "depth"},
    "two processes": {"jobs": 2},
    "walks": {"search": "random", "walks": 20},
    "sets of states": {"reductions": Reductions(parts=False), "prove_after": ((0, EFFORT),)},
}


@dataclass(frozen=True, slots=True)
class Expected:
    """The answer of the oracle to a scenario."""

    findings: Findings
    #: True if an unperturbed fair run writes forever; only asked where the space is not finite.
    endless: bool = False

    @property
    def decided(self) -> bool:
        """The explorer can be compared with it."""
        return self.findings.exhausted or self.endless


def expected(scenario: Scenario, *, limit: int = 30_000) -> Expected:
    """Ask the oracle."""
    search = BruteForce(scenario, limit=limit)
    findings = search.run()
    if findings.exhausted and not search.model.asked_for_time:
        return Expected(findings)
    endless = keeps_writing(scenario)
    if not endless and keeps_writing(scenario, ticks=True):
        return Expected(Findings(exhausted=False), endless=True)
    return Expected(findings, endless=not findings.exhausted and endless)


def explored(scenario: Scenario, way: str = "default", *, states: int = 200_000, seconds: int = SECONDS) -> Verdict:
    """Ask the explorer, in one of the ways."""
    options = dict(WAYS[way])
    reductions = options.pop("reductions", scenario.reductions)
    prove_after = options.pop("prove_after", breadth_first.PROVE_AFTER)
    bounds = replace(scenario.bounds, states=min(states, scenario.bounds.states), seconds=seconds)
    with (
        patch.object(breadth_first, "PROVE_AFTER", prove_after),
        patch.object(breadth_first, "PROVE_ALONE_AFTER", prove_after),
        patch.object(breadth_first, "LOOK_AGAIN_AFTER", 1),
    ):
        return check(replace(scenario, reductions=reductions, bounds=bounds), **options)


def differences(wanted: Expected, verdict: Verdict) -> list[str]:
    """The points in which the explorer contradicts the oracle, a sentence each."""
    found = []
    # The oracle has no opinion on fights: they are judged by single writes, like nothing else that it decides.
    names = {violation.property for violation in verdict.violations} - {BuiltIn.FIGHT}
    if not wanted.findings.exhausted:
        if wanted.endless and verdict.ok:
            found.append("the explorer says that all holds; a fair run never stops writing")
        return found
    if not verdict.exhausted:  # undecided is not wrong, but what it found must be true
        wrong = sorted(names - wanted.findings.violations)
        return [f"false alarm: {name} holds; the explorer says: {_sentence(verdict, name)}" for name in wrong]
    for name in sorted(wanted.findings.violations - names):
        found.append(f"missed: {name} is violated, by {wanted.findings.ways.get(name)}")
    for name in sorted(names - wanted.findings.violations):
        found.append(f"false alarm: {name} holds; the explorer says: {_sentence(verdict, name)}")
    ends = wanted.findings.ends
    lost = [end for end in ends if not any(end.matches(state) for state in verdict.final_states)]
    invented = [state for state in verdict.final_states if not any(end.matches(state) for end in ends)]
    if lost:
        found.append(f"{len(lost)} of {len(ends)} final states missed, such as {_last_lines(lost[0].objects)}")
    if invented:
        found.append(f"{len(invented)} of {len(verdict.final_states)} final states do not exist")
    return found


def _sentence(verdict: Verdict, name: str) -> str:
    return next(
        f"{violation.sentence} {list(violation.trace)}"
        for violation in verdict.violations
        if violation.property == name
    )


def _last_lines(objects: tuple[str, ...]) -> list[str]:
    return [line for line in objects if not line.startswith(("namespaces ", "customresourcedefinitions"))]
