"""Counterexamples pinned in a test."""

from __future__ import annotations

import pytest

from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend.explore import check

BLIND = double_plan(Widgets(), lag=0, concurrent=2)


def test_every_story_that_is_told_can_be_pinned() -> None:
    violations = check(BLIND).violations
    assert {each.property for each in violations} == {"lost update", "one_plan"}
    for each in violations:
        BLIND.assert_discovery(each.property, each.trace)


def test_a_bug_that_is_gone_is_told() -> None:
    (story,) = [each.trace for each in check(BLIND).violations if each.property == "one_plan"]
    with pytest.raises(AssertionError, match=r"move 6, 'widgets#2: patch .*', is not possible\. Possible here:\n"):
        double_plan(LockedWidgets(), lag=0, concurrent=2).assert_discovery("one_plan", story)


def test_moves_that_violate_nothing_are_told() -> None:
    (story,) = [each.trace for each in check(BLIND).violations if each.property == "one_plan"]
    with pytest.raises(AssertionError, match="the moves are possible, but one_plan holds: nothing is violated"):
        BLIND.assert_discovery("one_plan", story[:-1])
