"""Verdicts: truth, coverage, violations as errors, and the text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explore.samples import SIGNED
from explore.widgets import LockedWidgets, Widgets, double_plan
from kontend import Guards
from kontend.explore import Bounds, Verdict, Violation, check

BLIND = double_plan(Widgets(), lag=1, concurrent=2)
LOCKED = double_plan(LockedWidgets(), lag=1, concurrent=2)


def test_the_bounds_say_how_old_views_may_be() -> None:
    assert "(crashes, restarts onto older views, failed calls, " in str(Bounds())
    assert "(crashes, restarts onto views up to 2 changes old, failed calls, " in str(Bounds(rewind=2))


def test_a_verdict_is_true_exactly_when_everything_holds_in_the_whole_space() -> None:
    assert bool(check(LOCKED)) is True
    assert bool(check(BLIND)) is False
    assert bool(check(double_plan(LockedWidgets(), lag=1, concurrent=2, states=10))) is False
    assert not Verdict()
    assert Verdict(exhausted=True)
    assert not Verdict(exhausted=True, violations=[Violation("p", "it is broken", ())])


def test_raise_for_violations_raises_with_the_traces() -> None:
    check(LOCKED).raise_for_violations()
    with pytest.raises(AssertionError) as caught:
        check(BLIND).raise_for_violations()
    message = str(caught.value)
    assert "lost update, one_plan: violated after 6 steps (shortest, 1 perturbation, 2 violations with one" in message
    assert "\n    1  widgets#1  starts default/w\n" in message
    assert "\n  Fix at tests/explore/widgets.py:" in message


def test_a_failed_assert_shows_the_cause() -> None:
    verdict = check(BLIND)
    assert not verdict
    assert repr(verdict).startswith("<Verdict: violated: lost update, one_plan: widgets#2 wrote status.plan.id = ")
    assert "\n" not in repr(verdict)
    assert repr(check(LOCKED)) == f"<Verdict: holds in all {check(LOCKED).states} states>"


def test_raise_for_violations_raises_when_the_search_is_undecided() -> None:
    with pytest.raises(AssertionError, match="undecided: the space was not exhausted"):
        check(double_plan(LockedWidgets(), lag=1, concurrent=2, states=10)).raise_for_violations()


def test_the_text_names_the_bounds_and_what_was_not_tried() -> None:
    verdict = check(LOCKED)
    nothing = "no crashes, no restarts onto older views, no failed calls, no lost responses, no hand-overs"
    assert verdict.coverage == f"lag ≤ 1, 2 instances, {nothing}"
    assert f"holds in all {verdict.states:,} states ({verdict.coverage})\n" in str(verdict)
    alone = check(double_plan(LockedWidgets(), lag=0))
    assert alone.coverage == f"lag ≤ 0, 1 instance, {nothing}"


def test_the_text_names_the_guards_that_were_on() -> None:
    plain = replace(LOCKED, guards=Guards.off())
    assert "\nguards on: none\n" in str(check(plain))
    guarded = replace(LOCKED, guards=replace(Guards.off(), read_your_writes=True, locked_status=True))
    verdict = check(guarded)
    assert verdict.guards == ("read_your_writes", "locked_status")
    assert "\nguards on: read_your_writes, locked_status\n" in str(verdict)
    assert check(guarded, search="random", walks=1).guards == verdict.guards


def test_a_search_that_was_exhausted_says_so_with_its_violations() -> None:
    verdict = check(BLIND)
    assert f"searched all {verdict.states:,} states ({verdict.coverage})\n" in str(verdict)
    assert "holds" not in str(verdict)


def test_a_search_that_stopped_at_a_limit_says_so_also_when_something_is_violated() -> None:
    verdict = check(double_plan(Widgets(), lag=1, concurrent=3, states=100))
    assert verdict.violations
    assert "the search is incomplete, because the limit of 100 states was reached (" in str(verdict)
    assert " of them not expanded)" in str(verdict)


def test_the_first_violation_can_end_the_search() -> None:
    verdict = check(BLIND, until_first=True)
    assert len(verdict.violations) >= 1
    assert "the search is incomplete, because it stops at the first violation" in str(verdict)


def test_final_states_are_counted() -> None:
    verdict = check(SIGNED)
    assert (len(verdict.final_states), verdict.baseline_states) == (4, 2)
    assert ", 4 final states, " in str(verdict)


def test_a_violation_without_a_trace_has_no_number_of_steps() -> None:
    assert str(Violation("so", "it holds in no state at all", ())) == "so: violated\n  it holds in no state at all"


def test_the_text_of_a_violation_numbers_its_steps() -> None:
    assert (
        str(Violation("p", "one\ntwo", ("a", "b")))
        == "p: violated after 2 steps (shortest)\n  one\n  two\n  1 a\n  2 b"
    )
