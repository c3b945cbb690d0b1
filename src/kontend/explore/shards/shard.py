"""One part of a search: it owns states, expands them, and sends their successors to the search in batches."""

from __future__ import annotations

import gc
import sys
from typing import Final, NamedTuple

from kontend.executors.results import portable
from kontend.explore.search.expander import Expander
from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.successor import Successor
from kontend.explore.search.ways import Walker, Way
from kontend.explore.shards.host import ShardHost
from kontend.explore.shards.learnt import Learnt, Lessons
from kontend.explore.shards.packing import Packed, Packer

#: The number of new containers after which a process with a shard looks for garbage in cycles. A shard holds states
#: until they are recorded, and there are hardly any cycles among them: with Python's own 700 it spends a sixth of its
#: time on looking, five times as often as one process, which lets go of successors at once.
_COLLECT_AFTER: Final = 100_000


def collect_seldom() -> None:
    """Look for garbage in cycles seldom, in a process that has nothing but a shard."""
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])


class Numbered(NamedTuple):
    """A successor that has got a number. Without a parent (-1): a state that the shard owns no longer."""

    number: int
    parent: int = -1
    #: Its place among the successors of the parent.
    at: int = -1


class Order(NamedTuple):
    """Everything that the search asks of a shard at one time, in the order in which the shard does it."""

    #: News of other shards.
    news: tuple[Learnt, ...] = ()
    #: States to own from now on, and states to own no longer.
    numbered: tuple[Numbered, ...] = ()
    #: The number of expanded states, the oldest ones, whose successors all have their numbers.
    recorded: int = 0
    #: Ways to states of other shards, to own from now on.
    ways: tuple[Way, ...] = ()
    #: Memory is limited: forget what can be computed again; and measure the memory in use.
    forgets: bool = False
    measures: bool = False
    #: The states to expand, in the order in which the search records them.
    numbers: tuple[int, ...] = ()


class Expansion(NamedTuple):
    """The successors of some states."""

    packed: Packed
    #: The ids of the reconcile runs that a state is the first of this shard to lead to.
    runs: dict[int, set[bytes]]
    #: News from these states.
    learnt: Learnt | None
    #: The bytes that the process has in memory, if they were asked for.
    memory: int
    #: Raised by the state after the last one of these. Another one may have stopped the search before.
    error: Exception | None = None


class Shard:
    """Owns a part of the states of one search."""

    def __init__(self, expander: Expander) -> None:
        self._expander = expander
        self._host = ShardHost(expander)
        self._packer = Packer()
        model = expander.model
        self._walker = Walker(model)
        self._walker.know(expander.frontier.drain())  # a forked process has the states of the first layers
        self._lessons = Lessons(model.programs, model.mechanics.server, model.knowledge, model.layout.noticed)
        expander.take_runs()

    def carry_out(self, order: Order) -> Expansion:
        """Carry out an order; returns the successors of its states, which stay available until they are recorded."""
        batch: list[tuple[int, list[Successor]]] = []
        runs: dict[int, set[bytes]] = {}
        error: Exception | None = None
        try:
            self._prepare(order)
            for number, successors in self._host.expand(list(order.numbers)):
                batch.append((number, successors))
                ids = self._expander.take_runs()
                if ids:
                    runs[number] = ids
        except Exception as raised:
            error = portable(raised)
        memory = memory_in_use() if order.measures else 0
        return Expansion(self._packer.pack(batch), runs, self._lessons.fresh(), memory, error)

    def _prepare(self, order: Order) -> None:
        expander, host = self._expander, self._host
        for learnt in order.news:
            self._lessons.take(learnt)
        for number, parent, at in order.numbered:
            if parent < 0:
                host.drop(number)
            else:
                host.keep(number, parent, at)
        host.release(order.recorded)
        host.own(self._walker.followed(order.ways))
        if order.forgets:
            expander.limit(sys.maxsize)  # the search says which states are dropped
            expander.forget()
            self._walker.forget()
            gc.collect()
        if order.news or order.ways:
            expander.take_runs()  # others have reported them
