"""Ways to states: the steps from the initial state, by which another process can make a state again.

A state refers to program trees and to the history of its cluster, which belong to one process. Its steps are plain data
and mean the same everywhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.search.graph import Graph

#: States on the way to others that are kept for the next ones.
_KEPT: Final = 4_096


class Way(NamedTuple):
    """A state by its number, the state before it (-1 for none) and the steps from there."""

    number: int
    parent: int
    steps: tuple[Step, ...]
    #: The state itself is asked for; the others are only on the way.
    is_wanted: bool


def ways_to(graph: Graph, numbers: Iterable[int]) -> list[Way]:
    """The ways from the initial state to some states, each state once, those before others first."""
    wanted = set(numbers)
    ways: list[Way] = []
    seen: set[int] = set()
    for number in sorted(wanted):
        chain = []
        while number >= 0 and number not in seen:
            seen.add(number)
            chain.append(number)
            number = graph.parents[number]
        ways += [Way(node, graph.parents[node], graph.steps[node], node in wanted) for node in reversed(chain)]
    return ways


class Walker:
    """Follows ways in one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._visited: OrderedDict[int, World] = OrderedDict()

    def forget(self) -> None:
        """Forget the states that are kept for the next ways."""
        self._visited.clear()

    def know(self, worlds: dict[int, World]) -> None:
        """Keep states that were made before, by number."""
        self._visited.update(worlds)

    def followed(self, ways: Iterable[Way]) -> Iterator[tuple[int, World]]:
        """The states at the ends of some ways, by number."""
        known: dict[int, Way] = {}
        for way in ways:
            known[way.number] = way
            if way.is_wanted:
                yield way.number, self._reached(way.number, known)
        visited = self._visited
        while len(visited) > _KEPT:
            visited.popitem(last=False)

    def _reached(self, number: int, ways: dict[int, Way]) -> World:
        """The state at the end of a way: made from the nearest state before it that is kept."""
        visited, missing = self._visited, []
        while number >= 0 and number not in visited:
            missing.append(ways[number])
            number = ways[number].parent
        if number >= 0:
            visited.move_to_end(number)
            world = visited[number]
        else:
            world = self._model.initial()
        for way in reversed(missing):
            for step in way.steps:
                world = self._model.next(world, step).world
            visited[way.number] = world
        return world
