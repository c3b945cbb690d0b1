"""Depth-first search comes to the same verdict as breadth first."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

from effort import effort
from explore.programs import scenarios
from explore.samples import Fails, Toggles
from explore.widgets import CRD, UNGUARDED, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.explore import Bounds, Scenario, Verdict, check
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.kube.errors import AlreadyExists
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request


def _names(verdict: Verdict) -> set[str]:
    return {violation.property for violation in verdict.violations}


def _same_depth_first(scenario: Scenario) -> Verdict:
    breadth, depth = check(scenario), check(scenario, search="depth")
    assert (breadth.exhausted, depth.exhausted) == (True, True)
    assert set(map(canonical_cluster, depth.final_states)) == set(map(canonical_cluster, breadth.final_states))
    assert _names(depth) == _names(breadth)
    assert depth.untested == breadth.untested
    return depth


@settings(max_examples=effort(8, 20), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_depth_first_comes_to_the_same_verdict(scenario: Scenario) -> None:
    breadth = check(scenario)
    assume(breadth.exhausted)
    depth = _same_depth_first(scenario)
    # Repetition depends on the way to a state, and depth first comes by other ways.
    assert depth.states == breadth.states or breadth.repeated


@settings(max_examples=effort(5, 10), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_depth_first_comes_to_the_same_verdict_with_atomic_reconciles(scenario: Scenario) -> None:
    scenario = replace(scenario, bounds=replace(scenario.bounds, atomic=True))
    assume(check(scenario).exhausted)
    _same_depth_first(scenario)


@pytest.mark.parametrize("controller", [Widgets, LockedWidgets, Toggles, Fails])
def test_depth_first_visits_the_same_states_with_three_instances(controller: type[Controller]) -> None:
    scenario = double_plan(controller(), lag=1, concurrent=3)
    depth = _same_depth_first(scenario)
    assert depth.states == check(scenario).states
    assert all("(shrunk)" in str(violation) for violation in depth.violations)


def test_counterexamples_of_livelocks_are_shrunk() -> None:
    scenario = Scenario(
        [Toggles()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0, concurrent=2), guards=UNGUARDED
    )
    shortest, shrunk = (
        next(
            violation
            for violation in check(scenario, search=search).violations
            if violation.property == "never settles"
        )
        for search in ("breadth", "depth")
    )
    assert len(shrunk.trace) <= len(shortest.trace) + 2


def test_a_depth_first_search_stops_at_a_limit() -> None:
    verdict = check(double_plan(LockedWidgets(), lag=1, concurrent=3, states=20), search="depth")
    assert (verdict.exhausted, verdict.stopped) == (False, "the limit of 20 states was reached")


def test_a_depth_first_search_can_stop_at_the_first_violation() -> None:
    verdict = check(double_plan(Widgets(), lag=1, concurrent=3), search="depth", until_first=True)
    assert verdict.stopped == "it stops at the first violation"
    assert verdict.violations


class MakesSix(Controller):
    """Makes six config maps."""

    kind = "Widget.example.com/v1"
    name = "makes"

    async def reconcile(self, request: Request, api: Api) -> None:
        """One after the other."""
        for number in range(6):
            metadata = {"name": f"c{number}", "namespace": request.namespace}
            with contextlib.suppress(AlreadyExists):
                await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def test_objects_that_unperturbed_runs_make_are_no_growth() -> None:
    scenario = Scenario([MakesSix()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0))
    assert _same_depth_first(scenario).ok
