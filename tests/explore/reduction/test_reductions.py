"""Reductions change the number of states, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from effort import effort
from explore.programs import by_brute_force, scenarios
from explore.widgets import WIDGET, LockedWidgets, Widgets, double_plan
from kontend.explore import Reductions, Scenario, Verdict, check, update
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.explore.scenario_files import scenarios_in
from kontend.runtime.controller import Controller

EXAMPLES = Path(__file__).parents[3] / "examples"


def _same(reduced: Verdict, full: Verdict) -> None:
    assert (reduced.exhausted or reduced.stuck > 0, full.exhausted or full.stuck > 0) == (True, True)
    assert reduced.stopped == full.stopped
    assert set(map(canonical_cluster, reduced.final_states)) == set(map(canonical_cluster, full.final_states))
    assert {violation.property for violation in reduced.violations} == {
        violation.property for violation in full.violations
    }
    assert reduced.baseline_states == full.baseline_states


@settings(max_examples=effort(30, 80), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_final_states_and_violations_are_those_of_brute_force(scenario: Scenario) -> None:
    full = check(by_brute_force(scenario))
    assume(full.exhausted)
    reduced = check(scenario)
    _same(reduced, full)
    assert reduced.states <= full.states


@settings(max_examples=effort(8, 20), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_each_reduction_can_be_switched_off(scenario: Scenario) -> None:
    full = check(scenario)
    assume(full.exhausted and full.states < 300)
    for reduction in fields(Reductions):
        without = check(replace(scenario, reductions=replace(Reductions(), **{reduction.name: False})))
        assume(without.exhausted)
        _same(full, without)


def _examples() -> Iterator[Any]:
    for file in sorted(EXAMPLES.glob("*.py")):
        for name, scenario in scenarios_in(file).items():
            # By brute force a retry on a stale view has another uuid each time, and costs a perturbation, without end.
            few = replace(scenario.bounds, perturbations=4)
            small = replace(scenario, bounds=replace(few, lag=0, concurrent=1))
            yield pytest.param(small, id=f"{file.stem}.{name}")
            if file.stem == "double_plan":
                lagging = replace(scenario, bounds=replace(few, faults=0))
                yield pytest.param(lagging, id=f"{file.stem}.{name} with lag")


@pytest.mark.parametrize("scenario", list(_examples()))
def test_the_examples_have_the_verdict_of_brute_force(scenario: Scenario) -> None:
    _same(check(scenario), check(by_brute_force(scenario)))


@pytest.mark.parametrize("controller", [Widgets, LockedWidgets])
def test_three_instances_have_fifty_times_fewer_states(controller: type[Controller]) -> None:
    scenario = double_plan(controller(), lag=0, concurrent=3)
    reduced, full = check(scenario), check(by_brute_force(scenario))
    _same(reduced, full)
    assert full.states > 50 * reduced.states


def test_traces_are_as_short_as_by_brute_force() -> None:
    scenario = double_plan(Widgets(), lag=1, concurrent=2)
    scenario = replace(scenario, actions=[update(WIDGET, spec={"size": 3})])
    reduced, full = check(scenario), check(by_brute_force(scenario))
    assert [
        (violation.property, len(violation.trace), violation.perturbations) for violation in reduced.violations
    ] == [(violation.property, len(violation.trace), violation.perturbations) for violation in full.violations]
