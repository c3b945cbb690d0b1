"""Levels of perturbations: what is certain where a search stops, and the bound on perturbations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend.explore import BadScenario, Bounds, Reductions, Scenario, check, sometimes, update
from kontend.explore.search.levels import counted, expected
from kontend.explore.verdict import Verdict

BY_STATES = Reductions(factored=False, parts=False)


def locked(**bounds: int) -> Scenario:
    scenario = double_plan(LockedWidgets(), concurrent=2)
    actions = [update(scenario.objects[0], spec={"size": 2})]
    bounds_given = replace(Bounds(concurrent=2), **bounds)  # type: ignore[arg-type]
    return replace(scenario, actions=actions, reductions=BY_STATES, bounds=bounds_given)


WHOLE = check(locked())


def at_limit(states: int) -> Verdict:
    return check(locked(states=states))


def test_the_whole_space_is_the_sum_of_its_levels() -> None:
    assert WHOLE.ok
    assert sum(WHOLE.levels) == WHOLE.states
    assert WHOLE.certain == len(WHOLE.levels) - 1 >= 2
    assert not WHOLE.suggestions


def test_a_search_that_meets_its_limit_says_up_to_how_many_perturbations_everything_holds() -> None:
    verdict = at_limit(sum(WHOLE.levels[:2]) + 5)
    assert not verdict.ok
    assert verdict.certain == 0
    assert f"undecided: holds in all runs without perturbations ({WHOLE.levels[0]} states)" in verdict.summary
    assert "seen, not all, because the limit of" in verdict.summary
    later = at_limit(WHOLE.states - 1)
    assert later.certain >= 1
    assert later.levels[: later.certain + 1] == WHOLE.levels[: later.certain + 1]
    assert f"holds in all runs with up to {later.certain} perturbation" in later.summary
    assert "undecided: holds in all runs" in repr(later)


def test_a_search_that_does_not_get_through_the_unperturbed_runs_is_certain_of_nothing() -> None:
    verdict = at_limit(3)
    assert verdict.certain == -1
    assert "undecided: the space was not exhausted, because" in verdict.summary


@pytest.mark.parametrize("most", range(3))
def test_the_bound_on_perturbations_covers_exactly_these_levels(most: int) -> None:
    """Without faults: a state with fewer of them left is not kept where one with more is known in time."""
    verdict = check(locked(faults=0, perturbations=most))
    assert verdict.ok
    assert verdict.levels == check(locked(faults=0)).levels[: most + 1]
    assert f"perturbations ≤ {most}" in verdict.summary


def test_a_bug_that_takes_more_perturbations_is_beyond_the_bound() -> None:
    racy = double_plan(Widgets(), concurrent=2)
    found = check(racy).violations[0].perturbations
    assert found > 0
    assert check(replace(racy, bounds=replace(racy.bounds, perturbations=found - 1))).ok
    assert check(replace(racy, bounds=replace(racy.bounds, perturbations=found))).violations


def test_a_sometimes_that_was_not_seen_is_not_certain() -> None:
    scenario = locked(states=WHOLE.states - 1)
    verdict = check(replace(scenario, properties=[sometimes(lambda _: False, name="never seen")]))
    assert verdict.certain == -1


@pytest.mark.parametrize("search", ["depth", "random"])
def test_only_a_search_by_perturbations_takes_the_bound(search: str) -> None:
    with pytest.raises(BadScenario, match="only search='breadth' goes by perturbations"):
        check(locked(perturbations=1), search=search)  # type: ignore[arg-type]


def test_suggestions_name_bounds_that_decide_more() -> None:
    verdict = at_limit(WHOLE.states - 1)
    bounds = [suggestion.bound for suggestion in verdict.suggestions]
    assert "concurrent" in bounds
    assert "faults" in bounds
    assert bounds[-1] == "perturbations"
    text = str(verdict)
    assert "to decide more: --" in text
    assert f"--perturbations {verdict.certain} accepts this" in text
    assert check(locked(perturbations=verdict.certain)).ok


def test_an_estimate_of_a_tighter_bound_is_near_the_states_that_it_takes() -> None:
    verdict = at_limit(WHOLE.states - 1)
    estimated = {suggestion.bound: suggestion.states for suggestion in verdict.suggestions}
    measured = check(locked(faults=0)).states
    assert 0.5 * measured <= estimated["faults"] <= 2 * measured


def test_levels_that_end_are_all_and_those_that_grow_ever_faster_tell_nothing() -> None:
    assert counted([0, 1, 1, 0, 2]) == (2, 2, 1)
    assert expected([10, 20, 0]) == 30
    assert expected([10, 20, 40]) == 0
    assert expected([10, 20, 30, 30]) > 90
    assert expected([10, 20]) == 0
