"""Faults left in a state: one with more of them stands for one with fewer, if it is not further away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kontend.explore import Bounds
from kontend.explore.model.state.budget import NO_RESERVE, Budget, Reserve
from kontend.explore.model.step import Step
from kontend.explore.search.graph import Graph

STEP = (Step("act"),)
ONE = Reserve(Budget.of(Bounds()))
TWO = Reserve(Budget.of(Bounds(faults=2)))
FEW = st.integers(0, 3)
BUDGETS = st.builds(
    lambda faults, crashes, failed, lost: Budget.of(Bounds(faults=faults, crashes=crashes, failed=failed, lost=lost)),
    FEW,
    FEW,
    FEW,
    FEW,
)


@given(BUDGETS)
def test_no_kind_allows_more_than_the_total_nor_the_total_more_than_all_kinds(budget: Budget) -> None:
    assert all(kind <= budget.total for kind in budget[1:])
    assert budget.total <= sum(budget[1:])


@given(BUDGETS)
def test_every_fault_uses_up_one_of_its_kind_and_of_the_total(budget: Budget) -> None:
    for kind in ("crashes", "failed", "lost"):
        if getattr(budget, kind):
            after = budget.without(kind)
            assert after.total <= budget.total - 1
            assert getattr(after, kind) == min(getattr(budget, kind) - 1, after.total)
            assert budget.covers(after)
            assert not after.covers(budget)


@given(BUDGETS, BUDGETS)
def test_a_budget_covers_another_exactly_when_it_allows_all_its_runs(one: Budget, two: Budget) -> None:
    assert one.covers(two) == (_runs(two) <= _runs(one))


def _runs(budget: Budget) -> set[tuple[str, ...]]:
    """All sequences of faults that a budget allows."""
    runs: set[tuple[str, ...]] = {()}
    for kind in ("crashes", "failed", "lost"):
        if getattr(budget, kind):
            runs |= {(kind, *rest) for rest in _runs(budget.without(kind))}
    return runs


def _graph(cost: int, depth: int, reserve: Reserve) -> Graph:
    """An initial state, and one with a key, a cost and a depth."""
    graph = Graph()
    graph.add(b"initial", -1, (), 0, 0, (), TWO)
    graph.add(b"a", 0, STEP * depth, cost, 0, (), reserve)
    return graph


def test_a_state_with_more_faults_left_stands_for_one_with_fewer_at_no_lower_cost() -> None:
    graph = _graph(1, 3, TWO)
    assert graph.find(b"a", ONE, 1, 3) == 1
    assert graph.find(b"a", NO_RESERVE, 2, 1) == 1
    assert graph.find(b"a", ONE, 0, 9) is None
    assert graph.find(b"a", ONE, 1, 2) is None


def test_a_state_with_fewer_faults_left_does_not_stand_for_one_with_more() -> None:
    graph = _graph(0, 1, ONE)
    assert graph.find(b"a", TWO, 5, 5) is None
    assert graph.find(b"b", ONE, 5, 5) is None


def test_the_state_with_the_same_faults_left_is_the_same_at_any_cost() -> None:
    graph = _graph(3, 3, ONE)
    assert graph.find(b"a", ONE, 0, 1) == 1
    further = graph.add(b"a", 0, STEP, 0, 0, (), TWO)
    assert graph.find(b"a", TWO, 9, 9) == further
    assert graph.find(b"a", ONE, 0, 0) == 1
    assert graph.find(b"a", NO_RESERVE, 0, 1) == further


def test_a_state_with_other_recent_changes_stands_only_for_one_that_cannot_crash() -> None:
    recent = Reserve(TWO.budget, b"one")
    graph = _graph(0, 1, recent)
    assert graph.find(b"a", Reserve(ONE.budget, b"two"), 1, 1) is None
    assert graph.find(b"a", Reserve(ONE.budget, b"one"), 1, 1) == 1
    assert graph.find(b"a", Reserve(ONE.budget.without("crashes")), 1, 1) == 1


def test_a_run_need_not_take_an_optional_edge() -> None:
    """A state that only a fault leaves is closed, and so are states that lead to each other."""
    graph = Graph()
    for number in range(3):
        graph.add(b"%d" % number, number - 1, STEP, 0, 0, ())
    graph.expand(0, [1, 2], [True, False], [False, True])
    graph.expand(1, [0], [True])
    graph.expand(2, [0], [False], [True])
    assert sorted(sorted(component) for component in graph.closed_components().closed) == [[0, 1], [2]]
    assert list(graph.edges(2)) == []


def test_a_cycle_that_writes_only_when_a_timer_fires_is_told_from_one_that_writes_by_itself() -> None:
    graph = Graph()
    for number in range(3):
        graph.add(b"%d" % number, number - 1, STEP, 0, 0, ())
    graph.expand(0, [1], [True], fires=[True])
    graph.expand(1, [0, 2], [False, False])
    graph.expand(2, [1], [False])
    assert not graph.writes_without_timers({0, 1, 2})
    assert [graph.waits_for_timers(number) for number in range(3)] == [True, False, False]
    graph.expand(2, [1], [True])
    assert graph.writes_without_timers({0, 1, 2})
