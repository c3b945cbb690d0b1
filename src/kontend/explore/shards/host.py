"""The host of a shard's states: it expands them, and holds their successors until the search has numbered these.

The search numbers the successors of many states at once, when it has recorded all that other shards have found before.
So the host keeps the macro-steps of every state whose successors have no numbers yet, the oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from kontend.explore.model.state.world import World
from kontend.explore.reduction.macro_step import MacroStep
from kontend.explore.search.expander import Expander
from kontend.explore.search.successor import Successor


class ShardHost:
    """The states of one shard."""

    def __init__(self, expander: Expander) -> None:
        self._expander = expander
        self._frontier = expander.frontier
        #: The macro-steps of states whose successors are numbered later.
        self._held: dict[int, list[MacroStep]] = {}

    def expand(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; they stay available until :meth:`release`."""
        for number, successors in self._expander.expand(numbers):
            self._held[number] = self._expander.last
            yield number, successors

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give the successor ``at`` of ``parent``, which is held, a number."""
        self._frontier.own(number, self._held[parent][at].world)

    def release(self, count: int) -> None:
        """Hold the successors of the first ``count`` states no longer: all that are kept have numbers."""
        for number in list(islice(self._held, count)):
            del self._held[number]

    def own(self, states: Iterable[tuple[int, World]]) -> None:
        """Take over states that were found elsewhere."""
        for number, world in states:
            self._frontier.own(number, world)

    def drop(self, number: int) -> None:
        """Forget a state that another shard owns now."""
        self._frontier.drop([number])
