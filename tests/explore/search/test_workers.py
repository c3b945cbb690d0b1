"""Several processes find the same as one."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from explore.programs import scenarios
from kontend.explore import Scenario, Verdict, check
from kontend.explore.model.canonical import canonical_cluster


@settings(max_examples=10, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(scenario=scenarios())
def test_several_processes_find_the_same(scenario: Scenario) -> None:
    if not sys.platform.startswith(("linux", "darwin")):
        pytest.skip("processes are forked")
    assert _without_time(check(scenario)) == _without_time(check(scenario, jobs=2))


def _without_time(verdict: Verdict) -> object:
    """All of a verdict but the seconds it took."""
    final = [canonical_cluster(state) for state in verdict.final_states]
    return replace(verdict, seconds=0.0, final_states=[]), final
