"""Verdicts as parts of reports: final states, depths, outcomes of properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explore import check
from kontend.explore.explain.results import exploration_of, scenario_result
from kontend.explore.scenario_files import scenarios_in

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("search", ["breadth", "depth", "random"])
def test_final_states_come_with_their_frequency_and_their_difference(search: str) -> None:
    scenario = scenarios_in(str(ROOT / "zoo" / "capi_245.py"))["buggy"]
    verdict = check(scenario, search=search, walks=200)  # type: ignore[arg-type]
    states = exploration_of(verdict).final_states
    assert [state.unperturbed for state in states] == [True, False]
    assert all(state.count >= 1 for state in states)
    assert states[0].difference == ()
    (extra,) = states[1].difference
    assert extra.object.startswith("Machine.cluster.k8s.io/v1 default/m-")
    assert extra.expected is None


def test_every_state_has_a_depth() -> None:
    scenario = scenarios_in(str(ROOT / "examples" / "double_plan.py"))["locked"]
    verdict = check(scenario)
    assert verdict.depths[0] == 1
    assert sum(verdict.depths) == verdict.states


def test_properties_of_a_search_that_was_cut_short_are_undecided() -> None:
    scenario = scenarios_in(str(ROOT / "examples" / "double_plan.py"))["locked"]
    verdict = check(scenario, search="random", walks=2)
    result = scenario_result("locked", scenario, verdict, ())
    assert result.verdict == "undecided"
    assert {prop.state for prop in result.properties} <= {"undecided", "untested"}
