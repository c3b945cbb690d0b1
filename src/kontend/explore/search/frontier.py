"""The frontier of a search in one process: the states that were found and not expanded yet.

Where memory is limited only some of them are kept. The others are made again when they are expanded, by the steps that
lead to them.
"""

from __future__ import annotations

from collections.abc import Iterable

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.search.graph import Graph
from kontend.explore.search.ways import Walker, ways_to


class Frontier:
    """States by number."""

    def __init__(self, model: Model) -> None:
        self._walker = Walker(model)
        self._graph: Graph | None = None
        self._worlds: dict[int, World] = {}
        #: The most states that are kept.
        self._most: int | None = None

    def __len__(self) -> int:
        return len(self._worlds)

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self._graph = graph

    def numbers(self) -> list[int]:
        """The states that are kept."""
        return sorted(self._worlds)

    def keep(self, number: int, world: World) -> None:
        """Add a state, unless there are too many."""
        if self._most is None or len(self._worlds) < self._most:
            self._worlds[number] = world
        else:
            self._worlds.pop(number, None)  # it was reached in another way before

    def own(self, number: int, world: World) -> None:
        """Add a state in any case."""
        self._worlds[number] = world

    def adopt(self, numbers: list[int]) -> None:
        """Keep just these states, which were found before: they are made again."""
        most = len(numbers) if self._most is None else self._most
        self._worlds = self._made(sorted(numbers)[:most])

    def take(self, numbers: list[int]) -> dict[int, World]:
        """Take some states out. It is done at once: a limit on the number that are kept may come in between."""
        worlds = {number: self._worlds.pop(number) for number in numbers if number in self._worlds}
        if len(worlds) < len(numbers):
            worlds.update(self._made([number for number in numbers if number not in worlds]))
        return worlds

    def drop(self, numbers: Iterable[int]) -> None:
        """Take some states out, if they are kept."""
        for number in numbers:
            self._worlds.pop(number, None)

    def drain(self) -> dict[int, World]:
        """Take all states out that are kept."""
        drained, self._worlds = self._worlds, {}
        return drained

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states."""
        self._most = most
        while len(self._worlds) > most:
            self._worlds.popitem()

    def forget(self) -> None:
        """Forget the states that are kept on the way to others."""
        self._walker.forget()

    def _made(self, numbers: list[int]) -> dict[int, World]:
        assert self._graph is not None
        return dict(self._walker.followed(ways_to(self._graph, numbers)))
