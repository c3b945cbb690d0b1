"""Exploration by hand: paths, choices, violations along a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.explore import check
from kontend.explore.explain.explanation import Origin
from kontend.explore.model.model import Model
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.session import NotEnabled, Session

ROOT = Path(__file__).parents[2]


def session(file: str, name: str) -> Session:
    """A session of a scenario."""
    path = ROOT / file
    return Session(scenarios_in(str(path))[name], Origin(path, name))


def path_of_violation(file: str, name: str, property_name: str) -> list[int]:
    """The choices that lead along a counterexample."""
    scenario = scenarios_in(str(ROOT / file))[name]
    (violation,) = [violation for violation in check(scenario).violations if violation.property == property_name]
    model = Model(scenario)
    world, path = model.initial(), []
    for step in violation.schedule:
        path.append(model.steps(world).index(step))
        world = model.next(world, step).world
    return path


@pytest.mark.parametrize(
    ("file", "name", "property_name"),
    [
        ("examples/double_plan.py", "blind", "lost update"),
        ("examples/double_plan.py", "blind", "one_plan"),
        ("zoo/capi_245.py", "buggy", "diverged"),
        ("zoo/kubermatic_6759.py", "buggy", "vanished element"),
    ],
)
def test_the_path_of_a_counterexample_shows_its_violation(file: str, name: str, property_name: str) -> None:
    path = path_of_violation(file, name, property_name)
    by_hand = session(file, name)
    state = by_hand.at(path)
    assert property_name in state.violations
    assert property_name not in by_hand.at(path[:-2]).violations
    assert len(state.document.steps) == len(path)
    assert state.document.violation.sentence


def test_a_choice_says_what_it_violates_and_what_it_costs() -> None:
    path = path_of_violation("examples/double_plan.py", "blind", "lost update")
    by_hand = session("examples/double_plan.py", "blind")
    assert "lost update" in by_hand.at(path[:-1]).choices[path[-1]].violates
    assert by_hand.at(path[:-2]).choices[path[-2]].cost == 1
    assert by_hand.at(()).choices[0].violates == ()


def test_a_run_to_its_end_is_quiescent_and_violates_nothing_without_perturbations() -> None:
    by_hand = session("examples/double_plan.py", "locked")
    path: list[int] = []
    for _ in range(60):
        state = by_hand.at(path)
        if state.quiescent:
            break
        free = [at for at, choice in enumerate(state.choices) if not choice.cost and choice.returns_to is None]
        path.append(free[0])
    assert state.quiescent
    assert state.violations == {}
    assert state.document.violation.property == ""


@pytest.mark.parametrize("path", [[5], [0, 0, 99], [-1]])
def test_a_step_that_is_not_enabled_is_refused(path: list[int]) -> None:
    with pytest.raises(NotEnabled, match="there is no choice"):
        session("examples/double_plan.py", "blind").at(path)
