"""Walks that follow a search which stops at a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend.explore import Bounds, check
from kontend.explore.exploring import Strategy
from kontend.explore.verdict import Verdict
from kontend.explore.walking_on import to_search, to_walk


@pytest.mark.parametrize("search", ["breadth", "depth"])
def test_walks_find_what_a_search_does_not_reach(search: Strategy) -> None:
    scenario = double_plan(Widgets(), concurrent=2, states=3)
    alone = check(scenario, search=search)
    assert not alone.violations
    verdict = check(scenario, search=search, walk_on=True)
    assert "lost update" in {violation.property for violation in verdict.violations}
    assert not verdict.exhausted
    assert verdict.stopped == alone.stopped
    assert "where the search stopped, walks went on and found " in str(verdict)
    assert "seed 0" in verdict.notes[0]
    assert str(verdict).split("s\n")[:-1] == str(check(scenario, search=search, walk_on=True)).split("s\n")[:-1]


def test_walks_that_find_nothing_leave_the_verdict_undecided() -> None:
    verdict = check(double_plan(LockedWidgets(), concurrent=2, states=5), walk_on=True)
    assert not verdict.violations
    assert not verdict.ok
    assert "walks went on and found nothing more" in verdict.notes[0]


def test_a_search_that_is_exhausted_or_has_stopped_otherwise_needs_no_walks() -> None:
    scenario = double_plan(LockedWidgets())
    verdict = check(scenario, walk_on=True)
    assert verdict.ok
    assert not verdict.notes
    assert to_walk(scenario, Verdict(stopped="it was interrupted")) is None


def test_walks_get_a_fifth_of_the_time() -> None:
    scenario = replace(double_plan(Widgets()), bounds=Bounds(seconds=50))
    assert to_search(scenario).bounds.seconds == 40
    stopped = Verdict(stopped="the limit of 40 seconds was reached", limit="seconds", seconds=40.2, steps=100_000)
    left = to_walk(scenario, stopped)
    assert left is not None
    assert (left.bounds.seconds, left.bounds.steps) == (9, 20_000)
    assert to_walk(scenario, replace(stopped, seconds=49.9)) is None
