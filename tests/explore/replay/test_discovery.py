"""Counterexamples pinned in a test by the text of their traces."""

from __future__ import annotations

import pytest

from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend.explore import assert_discovery, check

BLIND = double_plan(Widgets(), lag=0, concurrent=2)


def _trace() -> tuple[str, ...]:
    (trace,) = [violation.trace for violation in check(BLIND).violations if violation.property == "one_plan"]
    return trace


def test_every_reported_trace_can_be_pinned() -> None:
    violations = check(BLIND).violations
    assert {violation.property for violation in violations} == {"lost update", "one_plan"}
    for violation in violations:
        assert_discovery(BLIND, violation.property, violation.trace)


def test_a_step_that_is_not_enabled_any_more_fails_with_those_that_are() -> None:
    locked = double_plan(LockedWidgets(), lag=0, concurrent=2)
    with pytest.raises(AssertionError, match=r"step 6, 'widgets#2: patch .*', is not enabled\. Enabled here:\n"):
        assert_discovery(locked, "one_plan", _trace())


def test_steps_that_violate_nothing_fail() -> None:
    with pytest.raises(AssertionError, match="the steps are enabled, but one_plan holds: nothing is violated"):
        assert_discovery(BLIND, "one_plan", _trace()[:-1])


def test_steps_that_violate_another_property_name_it() -> None:
    with pytest.raises(AssertionError, match="but planned holds: they violate lost update, one_plan"):
        assert_discovery(BLIND, "planned", _trace())
