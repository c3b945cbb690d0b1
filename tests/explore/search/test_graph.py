"""The graph of states: ways, closed components, unexpanded states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kontend.explore.model.step import Step
from kontend.explore.search.graph import Graph

STEP = (Step("act"),)


def _graph(edges: list[list[int]]) -> Graph:
    graph = Graph()
    for number in range(len(edges)):
        graph.add(b"%d" % number, number - 1, STEP, 0, 0, ())
    for number, targets in enumerate(edges):
        graph.expand(number, targets, [False] * len(targets))
    return graph


@st.composite
def _edges(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 8))
    return [draw(st.lists(st.integers(0, size - 1), max_size=3)) for _ in range(size)]


@given(_edges())
def test_closed_components_are_those_without_an_edge_out(edges: list[list[int]]) -> None:
    reached = [{number} for number in range(len(edges))]
    for _ in edges:
        for number, targets in enumerate(edges):
            for target in targets:
                reached[number] |= reached[target]
    wanted = {
        frozenset(reached[number])
        for number in range(len(edges))
        if all(number in reached[other] for other in reached[number])
    }
    assert {frozenset(component) for component in _graph(edges).closed_components().closed} == wanted


def test_a_schedule_is_the_steps_of_all_macro_steps_on_the_way() -> None:
    graph = Graph()
    one, two = Step("start", 0), Step("call", 0)
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, (one, two), 0, 0, ())
    graph.add(b"c", 1, (two,), 1, 0, ())
    assert graph.schedule(2) == [one, two, two]
    assert list(graph.depths) == [0, 2, 3]


def test_the_cheaper_way_is_kept_and_then_the_shorter_one() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP * 2, 1, 0, ())
    assert not graph.improve(1, 0, STEP * 3, 1)
    assert graph.improve(1, 0, STEP, 1)
    assert graph.improve(1, 0, STEP * 5, 0)
    assert (graph.costs[1], graph.depths[1]) == (0, 5)


def test_a_state_without_edges_recorded_is_unexpanded() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP, 0, 0, ())
    graph.expand(0, [1], [True])
    assert graph.unexpanded == 1
    assert (graph.is_unexpanded(0), graph.is_unexpanded(1)) == (False, True)
    assert list(graph.edges(0)) == [(1, True)]
    assert list(graph.edges(1)) == []


def test_unperturbed_components_ignore_perturbed_states() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP, 0, 0, ())
    graph.add(b"c", 1, STEP, 1, 0, ())
    graph.expand(0, [1], [True])
    graph.expand(1, [0, 2], [True, True])
    graph.expand(2, [], [])
    assert graph.closed_components().closed == [[2]]
    assert [sorted(component) for component in graph.closed_components(most=0).closed] == [[0, 1]]


def test_ancestors_are_listed_from_the_nearest() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP, 0, 0, ())
    graph.add(b"c", 1, STEP, 0, 0, ())
    assert list(graph.ancestors(2)) == [1, 0]


def _chain(size: int) -> Graph:
    graph = Graph()
    for number in range(size):
        graph.add(b"%d" % number, number - 1, STEP, 0, 0, ())
    return graph


def test_a_state_waits_for_users_where_an_edge_is_theirs() -> None:
    graph = _chain(3)
    graph.expand(0, [1, 2], [True, True], acts=[True, False])
    graph.expand(1, [2], [True])
    assert [graph.waits_for_users(number) for number in range(3)] == [True, False, False]


def test_a_state_waits_for_timers_where_nothing_else_must_happen() -> None:
    graph = _chain(4)
    graph.expand(0, [1, 2], [True, True], optional=[True, False], fires=[False, True])
    graph.expand(1, [2, 3], [True, True], fires=[True, False])
    graph.expand(2, [3], [True], optional=[True])
    graph.expand(3, [0], [True])
    assert [graph.waits_for_timers(number) for number in range(4)] == [True, False, True, False]


def test_edges_that_need_not_be_taken_are_not_listed() -> None:
    graph = _chain(3)
    graph.expand(0, [1, 2], [True, False], optional=[True, False])
    assert list(graph.edges(0)) == [(2, False)]


def test_a_cycle_writes_where_a_write_leads_back() -> None:
    graph = _chain(3)
    graph.expand(0, [1, 2], [False, True])  # what writes does not lead back
    graph.expand(1, [0], [False])
    graph.expand(2, [], [])
    assert not graph.writes_without_timers({0, 1, 2})
    graph = _chain(3)
    graph.expand(0, [1], [True])
    graph.expand(1, [2], [False])
    graph.expand(2, [0], [False])
    assert graph.writes_without_timers({0, 1, 2})
    assert not graph.writes_without_timers({0, 1})


def test_a_cycle_with_a_timer_a_user_or_a_fault_does_not_count() -> None:
    for marks in ({"fires": [True]}, {"acts": [True]}, {"optional": [True]}):
        graph = _chain(2)
        graph.expand(0, [1], [True])
        graph.expand(1, [0], [True], **marks)
        assert not graph.writes_without_timers({0, 1})


def test_components_without_users_leave_out_what_users_do() -> None:
    graph = _chain(2)
    graph.expand(0, [0, 1], [True, True], acts=[False, True])
    graph.expand(1, [], [])
    assert graph.closed_components().closed == [[1]]
    assert sorted(graph.closed_components(without_users=True).closed) == [[0], [1]]


def test_a_cycle_that_only_users_leave_waits_for_them() -> None:
    graph = _chain(2)
    graph.expand(0, [0, 1], [True, True], acts=[False, True])
    graph.expand(1, [], [])
    assert graph.closed_components().waits_for_users


def test_a_cycle_waits_for_users_also_where_they_lead_to_a_perturbed_state() -> None:
    graph = _chain(1)
    graph.add(b"perturbed", 0, (), 1, 0, ())
    graph.expand(0, [0, 1], [True, True], acts=[False, True])
    graph.expand(1, [], [])
    components = graph.closed_components(most=0)
    assert components.closed == [[0]]
    assert components.waits_for_users


def test_a_state_without_a_cycle_or_with_another_way_out_does_not_wait_for_users() -> None:
    for edges, acts in (([1], [True]), ([0, 1], [False, False]), ([0, 1, 1], [False, True, False])):
        graph = _chain(2)
        graph.expand(0, edges, [True] * len(edges), acts=acts)
        graph.expand(1, [], [])
        assert not graph.closed_components().waits_for_users
