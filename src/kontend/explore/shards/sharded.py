"""Expands states in shards, for the same search in less time.

A state belongs to the shard that found it, until the shards differ too much in their work: then states move. Only
keys, findings and numbers travel; a shard that takes over a state makes it again from the steps that lead there. The
search records successors in the order in which one process would have found them, so that numbers, traces and verdict
are the same whatever the number of shards, and whichever of them are lost on the way.

Most states of the next layer are known before a layer begins. Shards go on with these, and do not wait for each other.
Each shard expands its own states in the order in which the search records them, and learns from others only what comes
before them in that order: so a search that ends early has learnt the same as one process.

The first states are expanded in this process, until there are enough of them to share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kontend.explore.model.state.world import World
from kontend.explore.properties.built_in import Breach
from kontend.explore.search.expander import Expander
from kontend.explore.search.graph import Graph
from kontend.explore.search.successor import StateRecord, Successor
from kontend.explore.shards.balance import moves
from kontend.explore.shards.engine import Engine, LostShard
from kontend.explore.shards.learnt import Learnt
from kontend.explore.shards.processes import Processes
from kontend.explore.shards.shard import Expansion, Numbered
from kontend.explore.shards.share import Share
from kontend.explore.shards.spec import ShardSpec

#: States that a layer must have for each shard before shards are worth it.
ENOUGH: Final = 16
#: States that a search must have found before. Below, the processes take longer to start, and to learn the same code
#: each, than one process takes for everything.
SMALL: Final = 1_000
#: The states that wait are expanded in a few calls for each shard, of a limited size: the search records the
#: successors of one call while the shard goes on with the next.
_CALLS: Final = 8
_LEAST, _MOST = 8, 64
_NO_RUNS: Final[frozenset[bytes]] = frozenset()
#: The number of times that lost shards are started again while none of them gets anywhere.
_MOST_LOSSES: Final = 100


@dataclass(slots=True)
class Traffic:
    """Measured use of shards."""

    layers: int = 0
    #: The states that shards have expanded, and those of them that the shard with the most has.
    expanded: int = 0
    most: int = 0
    #: The states that have changed their shard, and those that were known to come next before their layer began.
    moved: int = 0
    ahead: int = 0
    messages: int = 0
    #: The bytes of packed successors, and the number of these.
    bytes: int = 0
    successors: int = 0
    lost: int = 0


class Sharded:
    """Expands states in shards, with the interface of an :class:`Expander`."""

    def __init__(
        self, expander: Expander, engine: Engine, count: int, spec: ShardSpec, *, enough: int | None = None
    ) -> None:
        """Share the work of an expander among ``count`` shards, once a layer has ``enough`` states for each."""
        self._small = SMALL if enough is None else 0
        self._enough = (ENOUGH if enough is None else enough) * count
        self._expander = expander
        self._engine = engine
        self._count = count
        self._spec = spec
        self._graph: Graph | None = None
        self._shares: list[Share] = []
        #: The shard that owns a state; and the states that their shards were or will be asked for.
        self._owners: dict[int, int] = {}
        self._dealt: set[int] = set()
        #: The number of states that each shard has expanded.
        self._expanded = [0] * count
        #: The ids of the reconcile runs that some shard knows.
        self._runs: set[bytes] = set()
        self._fresh: set[bytes] = set()
        #: Everything that was learnt, for shards that start later.
        self._learnt: list[Learnt] = []
        self._losses = 0
        #: The most states that shards keep where memory is limited; others are made again when they are expanded.
        self._most: int | None = None
        self._measures = False
        self.traffic = Traffic()
        #: The number of processes that expand states.
        self.processes = 1

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self._graph = graph
        self._expander.follow(graph)

    def initial(self) -> tuple[StateRecord, tuple[Breach, ...]]:
        """The initial state, and violations in it."""
        return self._expander.initial()

    def expand(self, numbers: list[int], ahead: Sequence[int] = ()) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states; shards go on with those that come next (``ahead``)."""
        if not self._shares:
            if len(numbers) < self._enough or len(self._followed) < self._small:
                yield from self._expander.expand(numbers)
                return
            self._start()
        self.traffic.layers += 1
        self._deal(numbers)
        if self._most is None:
            self.traffic.ahead += self._deal(ahead)
        for index in range(self._count):
            self._submit(index)
        for number in numbers:
            index = self._owners[number]
            while not self._shares[index].received:
                self._receive(index)
            share = self._shares[index]
            runs = share.runs.pop(number, _NO_RUNS)
            self._fresh |= runs - self._runs
            self._runs |= runs
            yield share.received.popleft()
            self._recorded(index, number)

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor a number, in the shard that found it."""
        if not self._shares:
            self._expander.keep(number, parent, at)
            return
        owner, before = self._owners[parent], self._owners.get(number)
        if before is not None and before != owner:
            self._disown(before, number)
        if before is None and self._most is not None and len(self._owners) >= self._most:
            return
        self._owners[number] = owner
        self._shares[owner].numbered.append(Numbered(number, parent, at))

    def adopt(self, numbers: list[int]) -> None:
        """Own just these states, which were found before."""
        self._expander.adopt(numbers)

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, while this process expands states itself."""
        return None if self._shares else self._expander.successor(at)

    def end_layer(self) -> None:
        """Keep no more states than memory allows."""
        if self._most is not None:
            kept = [number for number in self._owners if number not in self._dealt]
            for number in kept[self._most :]:
                self._disown(self._owners.pop(number), number)

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""
        return len(self._owners) if self._shares else self._expander.held

    @property
    def memory(self) -> int:
        """The bytes that shards had in memory at their last results, as far as they are on this machine."""
        self._measures = isinstance(self._engine, Processes)
        return sum(share.memory for share in self._shares)

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states, from the end of this layer on."""
        self._expander.limit(most)
        self._most = most

    def forget(self) -> None:
        """Forget what can be computed again."""
        self._expander.forget()
        for share in self._shares:
            share.forgets = True

    @property
    def runs(self) -> int:
        """The number of different reconcile runs."""
        return len(self.run_ids())

    def run_ids(self) -> set[bytes]:
        """Their ids."""
        return self._runs | self._expander.run_ids()

    def take_runs(self) -> set[bytes]:
        """The ids of those that are new since the last time."""
        fresh, self._fresh = self._fresh, set()
        return fresh | self._expander.take_runs()

    def close(self) -> None:
        """Stop the shards."""
        for share in self._shares:
            share.handle.stop()
        self._engine.close()
        self._shares, self._owners = [], {}

    @property
    def _followed(self) -> Graph:
        assert self._graph is not None
        return self._graph

    def _start(self) -> None:
        frontier = self._expander.frontier.numbers()
        self.processes = self._count
        self._shares = [Share(self._engine.start(self._spec)) for _ in range(self._count)]
        self._expander.frontier.drop(frontier)
        self._take_in(frontier)

    def _take_in(self, numbers: list[int]) -> None:
        """Give states that no shard has to shards, in turn."""
        for at, number in enumerate(numbers):
            self._own(at % self._count, number)

    def _own(self, index: int, number: int) -> None:
        self._owners[number] = index
        self._shares[index].adopted.append(number)

    def _disown(self, index: int, number: int) -> None:
        self._shares[index].numbered.append(Numbered(number))

    def _deal(self, numbers: Sequence[int]) -> int:
        """Have shards expand states that come next, unless they were dealt before; returns how many were not."""
        fresh = [number for number in numbers if number not in self._dealt]
        self._take_in([number for number in fresh if number not in self._owners])
        backlogs = [share.backlog for share in self._shares]
        moved = moves(fresh, self._owners, backlogs)
        for number, index in moved.items():
            self._disown(self._owners[number], number)
            self._own(index, number)
        self.traffic.moved += len(moved)
        for number in fresh:
            self._shares[self._owners[number]].waiting.append(number)
        self._dealt.update(fresh)
        return len(fresh)

    def _submit(self, index: int) -> None:
        """Keep a shard busy."""
        share = self._shares[index]
        most = max(_LEAST, min(_MOST, len(share.waiting) // _CALLS))
        while share.waiting and len(share.calls) < self._engine.window:
            order = share.order(self._followed, most, measures=self._measures)
            try:
                share.calls.append((order.numbers, share.handle.call("carry_out", order)))
            except LostShard:
                share.waiting.extendleft(reversed(order.numbers))
                self._rebuild(index)
                return

    def _receive(self, index: int) -> None:
        """Wait for the next successors of a shard."""
        share = self._shares[index]
        if share.error is not None:
            raise share.error
        if not share.calls:
            self._submit(index)
            return
        numbers, pending = share.calls[0]
        try:
            expansion: Expansion = pending.result()
        except LostShard:
            self._rebuild(index)
            return
        share.calls.popleft()
        self._losses = 0
        share.take(numbers, expansion)
        self._submit(index)
        traffic = self.traffic
        traffic.messages += 1
        traffic.bytes += expansion.packed.size
        traffic.successors += len(expansion.packed.similar) // 8

    def _recorded(self, index: int, number: int) -> None:
        """The successors of a state are recorded: others may know what its shard has learnt."""
        del self._owners[number]
        self._dealt.discard(number)
        share, traffic = self._shares[index], self.traffic
        share.recorded += 1
        self._expanded[index] += 1
        traffic.expanded, traffic.most = traffic.expanded + 1, max(traffic.most, self._expanded[index])
        if share.learnt and share.learnt[0][0] == number:
            learnt = share.learnt.popleft()[1]
            self._learnt.append(learnt)
            for other, neighbour in enumerate(self._shares):
                if other != index:
                    neighbour.news.append(learnt)

    def _rebuild(self, index: int) -> None:
        """Start a lost shard again, with all states that it owned.

        Successors that were received and not recorded yet are computed again, because the new shard must have them.
        """
        lost = self._shares[index]
        self.traffic.lost += 1
        self._losses += 1
        if self._losses > _MOST_LOSSES + self._count:
            raise RuntimeError(f"processes of the search have ended {_MOST_LOSSES} times; is there too little memory?")
        lost.handle.stop()
        share = Share(self._engine.start(self._spec), waiting=deque(lost.unrecorded), news=list(self._learnt))
        share.adopted = [number for number, owner in self._owners.items() if owner == index]
        share.forgets = lost.forgets or self._most is not None
        self._shares[index] = share
        self._submit(index)
