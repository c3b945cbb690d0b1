"""Expands states in shards, for the same search in less time.

A state belongs to the shard that found it, until the shards of a layer differ too much in size: then states move. Only
keys, findings and numbers travel; a shard that takes over a state makes it again from the steps that lead there. The
search records successors in the order in which one process would have found them, so that numbers, traces and verdict
are the same whatever the number of shards, and whichever of them are lost on the way.

The first states are expanded in this process, until there are enough of them to share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from kontend.explore.model.state.budget import Reserve
from kontend.explore.model.state.world import World
from kontend.explore.properties.built_in import Finding
from kontend.explore.search.expander import Expander, Successor
from kontend.explore.search.graph import Graph
from kontend.explore.search.ways import ways_to
from kontend.explore.shards.engine import Engine, Handle, LostShard, PendingReply
from kontend.explore.shards.learnt import Learnt
from kontend.explore.shards.packing import Unpacker
from kontend.explore.shards.processes import Processes
from kontend.explore.shards.shard import Expansion
from kontend.explore.shards.spec import ShardSpec

#: States that a layer must have for each shard before shards are worth it.
ENOUGH: Final = 16
#: A layer is expanded in so many calls for each shard, of so many states: the search records the successors of one
#: call while the shard goes on with the next.
_CALLS: Final = 8
_LEAST, _MOST = 8, 64
#: A shard may have so many states more than the mean before some move.
_UNEVEN: Final = 1.1
_SLACK: Final = 2
_NO_RUNS: Final[frozenset[bytes]] = frozenset()
#: The number of times that lost shards are started again while none of them gets anywhere.
_MOST_LOSSES: Final = 100


@dataclass(slots=True)
class Traffic:
    """Measured use of shards."""

    layers: int = 0
    #: The states that shards have expanded; and those that the largest shard of each layer has.
    expanded: int = 0
    longest: int = 0
    moved: int = 0
    messages: int = 0
    #: The bytes of packed successors, and the number of these.
    bytes: int = 0
    successors: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Share:
    """One shard, as the search sees it."""

    handle: Handle
    unpacker: Unpacker = field(default_factory=Unpacker)
    #: States of this layer that the shard was not asked for yet.
    waiting: deque[int] = field(default_factory=deque)
    #: Calls without a result that come before those.
    unanswered: deque[PendingReply] = field(default_factory=deque)
    #: States that one call expands.
    chunk: int = _MOST
    calls: deque[tuple[list[int], PendingReply]] = field(default_factory=deque)
    received: deque[tuple[int, list[Successor]]] = field(default_factory=deque)
    runs: dict[int, set[bytes]] = field(default_factory=dict)
    #: Raised by the state after those that were received.
    error: Exception | None = None
    keep: list[tuple[int, int, int]] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)
    news: list[Learnt] = field(default_factory=list)


class Sharded:
    """Expands states in shards, with the interface of an :class:`Expander`."""

    def __init__(
        self, expander: Expander, engine: Engine, count: int, spec: ShardSpec, *, enough: int | None = None
    ) -> None:
        """Share the work of an expander among ``count`` shards, once a layer has ``enough`` states for each."""
        self._enough = (ENOUGH if enough is None else enough) * count
        self._expander = expander
        self._engine = engine
        self._count = count
        self._spec = spec
        self._graph: Graph | None = None
        self._shares: list[_Share] = []
        #: The shard that owns a state.
        self._owners: dict[int, int] = {}
        self._expanded: list[int] = []
        #: The ids of the reconcile runs that some shard knows.
        self._runs: set[bytes] = set()
        self._fresh: set[bytes] = set()
        #: Everything that was learnt, for shards that start later.
        self._learnt: list[Learnt] = []
        self._losses = 0
        #: The most states that shards keep where memory is limited; others are made again when they are expanded.
        self._most: int | None = None
        self._forgets = False
        self._memory: int | None = None
        self.traffic = Traffic()

    def follow(self, graph: Graph) -> None:
        """Use the graph of the search to find the steps that lead to a state."""
        self._graph = graph
        self._expander.follow(graph)

    def initial(self) -> tuple[bytes, Reserve, int, tuple[bool, ...], tuple[Finding, ...]]:
        """The initial state."""
        return self._expander.initial()

    def expand(self, numbers: list[int]) -> Iterator[tuple[int, list[Successor]]]:
        """The successors of some states."""
        if not self._shares:
            if len(numbers) < self._enough:
                yield from self._expander.expand(numbers)
                return
            self._start()
        self._take_in([number for number in numbers if number not in self._owners])
        self._even_out(numbers)
        for number in numbers:
            self._shares[self._owners[number]].waiting.append(number)
        self._expanded += numbers
        for share in self._shares:
            share.chunk = max(_LEAST, min(_MOST, len(share.waiting) // _CALLS))
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

    def keep(self, number: int, parent: int, at: int) -> None:
        """Give a successor a number, in the shard that found it."""
        if not self._shares:
            self._expander.keep(number, parent, at)
            return
        owner, before = self._owners[parent], self._owners.get(number)
        if before is not None and before != owner:
            self._shares[before].drop.append(number)
        if before is None and self._most is not None and len(self._owners) - len(self._expanded) >= self._most:
            return
        self._owners[number] = owner
        self._shares[owner].keep.append((number, parent, at))

    def adopt(self, numbers: list[int]) -> None:
        """Own just these states, which were found before."""
        self._expander.adopt(numbers)

    def successor(self, at: int) -> World | None:
        """A successor of the state that was expanded last, while this process expands states itself."""
        return None if self._shares else self._expander.successor(at)

    def end_layer(self) -> None:
        """Send the numbers of the successors to their shards, and exchange what these have learnt."""
        for number in self._expanded:
            del self._owners[number]
        self._expanded = []
        if self._most is not None:
            for number in list(islice(self._owners, self._most, None)):
                self._shares[self._owners.pop(number)].drop.append(number)
        ends = [self._asked(index, "end_layer", share.keep, share.drop) for index, share in enumerate(self._shares)]
        for index, share in enumerate(self._shares):
            share.keep, share.drop = [], []
            pending = ends[index]
            if pending is None or not self._settled(index):
                continue
            try:
                learnt: Learnt = pending.result()
            except LostShard:
                self._rebuild(index)
                continue
            if learnt.behaviours or learnt.outcomes or learnt.timer_has_fired or learnt.unknown:
                self._learnt.append(learnt)
                for other, share in enumerate(self._shares):
                    if other != index:
                        share.news.append(learnt)
        self._relieve()

    def _relieve(self) -> None:
        """Have the shards forget what can be computed again, and measure their memory."""
        if self._forgets:
            self._forgets = False
            for index in range(len(self._shares)):
                self._tell(index, "forget")
        if self._memory is not None and isinstance(self._engine, Processes):
            self._memory = 0
            for index in range(len(self._shares)):
                pending = self._asked(index, "memory") if self._settled(index) else None
                try:
                    self._memory += pending.result() if pending is not None else 0
                except LostShard:
                    self._rebuild(index)

    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""
        return len(self._owners) if self._shares else self._expander.held

    @property
    def memory(self) -> int:
        """The bytes that shards had in memory after the last layer, as far as they are on this machine."""
        if self._memory is None:
            self._memory = 0  # measured from now on
        return self._memory

    def limit(self, most: int) -> None:
        """Keep at most so many states, from the end of this layer on."""
        self._expander.limit(most)
        self._most = most

    def forget(self) -> None:
        """Forget what can be computed again."""
        self._expander.forget()
        self._forgets = True

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
        self._shares, self._owners, self._expanded = [], {}, []

    @property
    def _followed(self) -> Graph:
        assert self._graph is not None
        return self._graph

    def _start(self) -> None:
        frontier = self._expander.frontier()
        # In turn: successors are recorded in the order of their states, and all shards shall be busy until the end.
        self._owners = {number: at % self._count for at, number in enumerate(frontier)}
        self._expander.drop(set(frontier))
        self._shares = [_Share(self._engine.start(self._spec)) for _ in range(self._count)]
        owned: list[list[int]] = [[] for _ in self._shares]
        for number in frontier:
            owned[self._owners[number]].append(number)
        for index, states in enumerate(owned):
            self._tell(index, "adopt", ways_to(self._followed, states))

    def _take_in(self, numbers: list[int]) -> None:
        """Have states made again that no shard has kept."""
        if not numbers:
            return
        parts = [numbers[index :: self._count] for index in range(self._count)]
        for index, part in enumerate(parts):
            self._owners.update(dict.fromkeys(part, index))
        for index, part in enumerate(parts):
            self._tell(index, "adopt", ways_to(self._followed, part))

    def _even_out(self, numbers: list[int]) -> None:
        """Move states of a layer from shards that own too many of them to those that own too few."""
        traffic = self.traffic
        owned: list[list[int]] = [[] for _ in self._shares]
        for number in numbers:
            owned[self._owners[number]].append(number)
        mean = -(-len(numbers) // self._count)
        movable: list[int] = []
        if max(map(len, owned)) > _UNEVEN * mean + _SLACK:
            for index, share in enumerate(owned):
                if len(share) > mean:
                    given = share[mean:]
                    movable += given
                    del share[mean:]
                    self._tell(index, "drop", given)
        traffic.moved += len(movable)
        for index, share in enumerate(owned):
            if movable and len(share) < mean:
                taken = movable[: mean - len(share)]
                del movable[: len(taken)]
                for number in taken:
                    self._owners[number] = index
                share += taken
                self._tell(index, "adopt", ways_to(self._followed, taken))
        traffic.layers += 1
        traffic.expanded += len(numbers)
        traffic.longest += max(map(len, owned))

    def _tell(self, index: int, method: str, *arguments: Any) -> None:
        """Call a method of a shard that returns nothing, and do not wait.

        A shard that is lost gets all its states when it is started again.
        """
        pending = self._asked(index, method, *arguments)
        if pending is not None:
            self._shares[index].unanswered.append(pending)
            if self._engine.window == 1:
                self._settled(index)

    def _settled(self, index: int) -> bool:
        """Wait for the calls of a shard that return nothing; returns False if it was lost and started again."""
        unanswered = self._shares[index].unanswered
        try:
            while unanswered:
                unanswered.popleft().result()
        except LostShard:
            self._rebuild(index)
            return False
        return True

    def _asked(self, index: int, method: str, *arguments: Any) -> PendingReply | None:
        """Call a method of a shard, and do not wait; None if it was lost and started again."""
        try:
            return self._shares[index].handle.call(method, *arguments)
        except LostShard:
            self._rebuild(index)
            return None

    def _submit(self, index: int) -> None:
        """Keep a shard busy with the states of this layer."""
        share = self._shares[index]
        if share.news and share.waiting:
            # Before any states: a call that is long must not meet a result that is long, each waiting for the other.
            news, share.news = share.news, []
            self._tell(index, "learn", news)
            share = self._shares[index]
        try:
            while share.waiting and len(share.calls) < self._engine.window:
                chunk = [share.waiting.popleft() for _ in range(min(share.chunk, len(share.waiting)))]
                try:
                    share.calls.append((chunk, share.handle.call("expand", chunk)))
                except LostShard:
                    share.waiting.extendleft(reversed(chunk))
                    raise
        except LostShard:
            self._rebuild(index)

    def _receive(self, index: int) -> None:
        """Wait for the next successors of a shard."""
        share = self._shares[index]
        if share.error is not None:
            raise share.error
        if not self._settled(index):
            return
        if not share.calls:
            self._submit(index)
            return
        chunk, pending = share.calls.popleft()
        try:
            expansion: Expansion = pending.result()
        except LostShard:
            share.calls.appendleft((chunk, pending))
            self._rebuild(index)
            return
        self._losses = 0
        packed = expansion.packed
        share.received.extend(share.unpacker.unpack(packed))
        share.runs.update(expansion.runs)
        share.error = expansion.error
        self._submit(index)
        traffic = self.traffic
        traffic.messages += 1
        traffic.bytes += packed.size
        traffic.successors += len(packed.similar) // 8

    def _rebuild(self, index: int) -> None:
        """Start a lost shard again: with the states that it owned and had not expanded."""
        lost = self._shares[index]
        self.traffic.lost += 1
        self._losses += 1
        if self._losses > _MOST_LOSSES + self._count:
            raise RuntimeError(f"processes of the search have ended {_MOST_LOSSES} times; is there too little memory?")
        lost.handle.stop()
        # Successors that were received and not numbered yet are computed again, because the new shard must have them.
        waiting = [number for number, _ in lost.received]
        waiting += [number for chunk, _ in lost.calls for number in chunk] + list(lost.waiting)
        expanded = set(self._expanded) - set(waiting)
        owned = [number for number, owner in self._owners.items() if owner == index and number not in expanded]
        share = _Share(self._engine.start(self._spec), waiting=deque(waiting))
        share.news = list(self._learnt)
        self._shares[index] = share
        self._tell(index, "adopt", ways_to(self._followed, owned))
        if self._settled(index):
            self._submit(index)
