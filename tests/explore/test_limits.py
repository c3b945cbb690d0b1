"""Where a search stops, and what it says then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import WIDGET, LockedWidgets, double_plan
from kontend.explore import Bounds, Scenario, check, limits, search, update


def _scenario(**bounds: Any) -> Scenario:
    scenario = double_plan(LockedWidgets(), lag=2, concurrent=3)
    scenario = replace(scenario, actions=[update(WIDGET, spec={"size": 3})])
    return replace(scenario, bounds=replace(scenario.bounds, **bounds))


@pytest.mark.parametrize(
    ("bounds", "stopped"),
    [
        ({"worlds": 40}, "the limit of 40 worlds was reached"),
        ({"moves": 100}, "the limit of 100 moves was reached"),
        ({"seconds": 1}, "the limit of 1 seconds was reached"),
        ({"memory": 1}, "the limit of 1 MiB of memory was reached"),
    ],
)
def test_a_limit_stops_the_search_and_is_told(
    bounds: dict[str, int], stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(10_000))
    monkeypatch.setattr("kontend.explore.limits.time.monotonic", lambda: next(times))
    monkeypatch.setattr(search, "_OFTEN", 10)
    verdict = check(_scenario(**bounds))
    assert (verdict.exhausted, verdict.ok, verdict.stopped) == (False, False, stopped)
    assert verdict.cut > 0
    assert f"not decided: the space did not close, because {stopped}" in str(verdict)


def test_what_was_found_before_an_interruption_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(worlds: int, _: int) -> None:
        if worlds > 200:
            raise KeyboardInterrupt

    monkeypatch.setattr(search, "_OFTEN", 10)
    verdict = check(_scenario(), progress=interrupt)
    assert verdict.stopped == "it was interrupted"
    assert verdict.states > 200
    assert verdict.final_states


def test_the_memory_in_use_is_known() -> None:
    assert limits.memory_in_use() > 10 * 1024 * 1024


def test_without_limits_nothing_stops() -> None:
    assert limits.Limits(Bounds()).reached(1_000_000, 1, look=True) == ""
