"""One part of a search: it owns states, expands them, and sends their successors to the search in batches."""

from __future__ import annotations

import sys
from typing import NamedTuple

from kontend.executors.results import portable
from kontend.explore.search.expander import Expander, Successor
from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.ways import Walker, Way
from kontend.explore.shards.learnt import Learnt, Lessons
from kontend.explore.shards.packing import Packed, Packer


class Expansion(NamedTuple):
    """The successors of some states."""

    packed: Packed
    #: The ids of the reconcile runs that a state is the first of this shard to lead to.
    runs: dict[int, set[bytes]]
    #: Raised by the state after the last one of these. Another one may have stopped the search before.
    error: Exception | None = None


class Shard:
    """Owns a part of the states of one search."""

    def __init__(self, expander: Expander) -> None:
        self._expander = expander
        expander.drop(set(expander.frontier()))
        self._packer = Packer()
        self._walker = Walker(expander.model)
        self._lessons = Lessons(expander.model)
        expander.take_runs()

    def adopt(self, ways: list[Way]) -> None:
        """Own some states from now on: they are made again by taking the steps that lead to them."""
        for number, world in self._walker.followed(ways):
            self._expander.own(number, world)

    def forget(self) -> None:
        """Forget what can be computed again, and remember less from now on: memory is limited."""
        self._expander.limit(sys.maxsize)  # the search says which states are dropped
        self._expander.forget()
        self._walker.forget()

    def memory(self) -> int:
        """The bytes that this process has in memory."""
        return memory_in_use()

    def drop(self, numbers: list[int]) -> None:
        """Own some states no longer."""
        self._expander.drop(set(numbers))

    def expand(self, numbers: list[int]) -> Expansion:
        """Expand some states. Their successors stay available until :meth:`end_layer`."""
        batch: list[tuple[int, list[Successor]]] = []
        runs: dict[int, set[bytes]] = {}
        error: Exception | None = None
        try:
            for number, successors in self._expander.expand_and_hold(numbers):
                batch.append((number, successors))
                ids = self._expander.take_runs()
                if ids:
                    runs[number] = ids
        except Exception as raised:
            error = portable(raised)
        return Expansion(self._packer.pack(batch), runs, error)

    def end_layer(self, keep: list[tuple[int, int, int]], drop: list[int]) -> Learnt:
        """Own some of the successors, by number, parent and place among its successors; and some states no longer.

        Returns all that was learnt since the last time.
        """
        self._expander.keep_all(keep, drop)
        return self._lessons.fresh()

    def learn(self, learnt: list[Learnt]) -> None:
        """Take over what other shards have learnt."""
        for lesson in learnt:
            self._lessons.take(lesson)
        self._expander.take_runs()
