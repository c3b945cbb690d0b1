"""The graph of worlds."""

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
        graph.expand(number, targets)
    return graph


@st.composite
def _edges(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 8))
    return [draw(st.lists(st.integers(0, size - 1), max_size=3)) for _ in range(size)]


@given(_edges())
def test_worlds_that_lead_only_to_each_other_are_found(edges: list[list[int]]) -> None:
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
    assert {frozenset(component) for component in _graph(edges).closed_components()} == wanted


def test_a_path_is_the_moves_of_all_leaps_on_the_way() -> None:
    graph = Graph()
    one, two = Step("start", 0), Step("call", 0)
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, (one, two), 0, 0, ())
    graph.add(b"c", 1, (two,), 1, 0, ())
    assert graph.path(2) == [one, two, two]
    assert list(graph.depths) == [0, 2, 3]


def test_the_cheaper_way_is_kept_and_then_the_shorter_one() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP * 2, 1, 0, ())
    assert not graph.improve(1, 0, STEP * 3, 1)
    assert graph.improve(1, 0, STEP, 1)
    assert graph.improve(1, 0, STEP * 5, 0)
    assert (graph.costs[1], graph.depths[1]) == (0, 5)


def test_a_world_that_was_not_looked_at_is_cut() -> None:
    graph = Graph()
    graph.add(b"a", -1, (), 0, 0, ())
    graph.add(b"b", 0, STEP, 0, 0, ())
    graph.expand(0, [1])
    assert graph.cut == 1
    assert list(graph.targets(1)) == []
