"""Limits stop a search, and the verdict names the one that was reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import WIDGET, LockedWidgets, double_plan
from kontend.explore import Bounds, Scenario, check, update
from kontend.explore.search import breadth_first, limits
from kontend.explore.search.snapshot import Snapshot


def _scenario(**bounds: Any) -> Scenario:
    scenario = double_plan(LockedWidgets(), lag=2, concurrent=3)
    scenario = replace(scenario, actions=[update(WIDGET, spec={"size": 3})])
    return replace(scenario, bounds=replace(scenario.bounds, **bounds))


@pytest.mark.parametrize(
    ("bounds", "stopped"),
    [
        ({"states": 40}, "the limit of 40 states was reached"),
        ({"steps": 100}, "the limit of 100 steps was reached"),
        ({"seconds": 1}, "the limit of 1 seconds was reached"),
        ({"memory": 1}, "the limit of 1 MiB of memory was reached, with all states on disk"),
    ],
)
def test_a_limit_stops_the_search_and_is_named(
    bounds: dict[str, int], stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(10_000))
    monkeypatch.setattr("kontend.explore.search.limits.time.monotonic", lambda: next(times))
    monkeypatch.setattr(breadth_first, "OFTEN", 10)
    verdict = check(_scenario(**bounds))
    assert (verdict.exhausted, verdict.ok, verdict.stopped) == (False, False, stopped)
    assert verdict.cut > 0
    assert f"undecided: the space was not exhausted, because {stopped}" in str(verdict)


def test_findings_before_an_interruption_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(snapshot: Snapshot) -> None:
        if snapshot.states > 200:
            raise KeyboardInterrupt

    monkeypatch.setattr(breadth_first, "OFTEN", 10)
    verdict = check(_scenario(), progress=interrupt)
    assert verdict.stopped == "it was interrupted"
    assert verdict.states > 200
    assert verdict.final_states


def test_memory_in_use_is_measured() -> None:
    assert limits.memory_in_use() > 10 * 1024 * 1024


def test_without_limits_nothing_stops_a_search() -> None:
    assert limits.Limits(Bounds(faults=0)).reached(1_000_000, 1, measure=True) == ""
