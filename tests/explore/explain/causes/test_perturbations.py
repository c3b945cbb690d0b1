"""Perturbations are counted as the bounds count them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kontend.explore import check
from kontend.explore.explain.explanation import explained, origin_of
from kontend.explore.scenario_files import scenarios_in
from kontend.report.text import heading

ROOT = Path(__file__).parents[4]


def test_the_number_in_a_heading_is_the_bound_that_finds_the_violation() -> None:
    scenario = scenarios_in(str(ROOT / "zoo" / "sei_r4.py"))["buggy"]
    violation = check(scenario).violations[0]
    document = explained(scenario, violation, origin_of(scenario), strict=True)
    # A crash, old lists after it, and a read of them.
    assert [step.cost for step in document.steps if step.cost] == [2, 1]
    assert "3 perturbations" in heading(document)
    for most, found in ((2, False), (3, True)):
        bounds = replace(scenario.bounds, perturbations=most)
        assert bool(check(replace(scenario, bounds=bounds), deepen=0).violations) == found
