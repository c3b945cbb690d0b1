"""One shard as the search sees it: the states that it was asked for, its results, and the next order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kontend.explore.search.graph import Graph
from kontend.explore.search.successor import Successor
from kontend.explore.search.ways import ways_to
from kontend.explore.shards.engine import Handle, PendingReply
from kontend.explore.shards.learnt import Learnt
from kontend.explore.shards.packing import Unpacker
from kontend.explore.shards.shard import Expansion, Numbered, Order


@dataclass(slots=True)
class Share:
    """One shard, as the search sees it. All states are in the order in which the search records them."""

    handle: Handle
    unpacker: Unpacker = field(default_factory=Unpacker)
    #: States that the shard was not asked for yet; then the calls that are under way; then the successors that came.
    waiting: deque[int] = field(default_factory=deque)
    calls: deque[tuple[tuple[int, ...], PendingReply]] = field(default_factory=deque)
    received: deque[tuple[int, list[Successor]]] = field(default_factory=deque)
    #: The ids of the runs that a state is the first to lead to.
    runs: dict[int, set[bytes]] = field(default_factory=dict)
    #: News of the shard, by the last state of their call: others get them once that state is recorded.
    learnt: deque[tuple[int, Learnt]] = field(default_factory=deque)
    #: Raised by the state after those that were received.
    error: Exception | None = None
    #: The bytes that the shard had in memory, where they are measured.
    memory: int = 0
    # For the next order.
    news: list[Learnt] = field(default_factory=list)
    numbered: list[Numbered] = field(default_factory=list)
    recorded: int = 0
    adopted: list[int] = field(default_factory=list)
    forgets: bool = False

    @property
    def backlog(self) -> int:
        """The number of states that the shard has still to expand."""
        return len(self.waiting) + sum(len(numbers) for numbers, _ in self.calls)

    @property
    def unrecorded(self) -> list[int]:
        """All states that the shard was or will be asked for, and that the search has not recorded."""
        asked = [number for numbers, _ in self.calls for number in numbers]
        return [number for number, _ in self.received] + asked + list(self.waiting)

    def order(self, graph: Graph, most: int, *, measures: bool) -> Order:
        """Everything that the shard is to do next, with at most ``most`` states."""
        order = Order(
            tuple(self.news),
            tuple(self.numbered),
            self.recorded,
            tuple(ways_to(graph, self.adopted)),
            self.forgets,
            measures,
            tuple(self.waiting.popleft() for _ in range(min(most, len(self.waiting)))),
        )
        self.news, self.numbered, self.recorded, self.adopted, self.forgets = [], [], 0, [], False
        return order

    def take(self, numbers: tuple[int, ...], expansion: Expansion) -> None:
        """Take the successors of some states."""
        self.received.extend(self.unpacker.unpack(expansion.packed))
        self.runs.update(expansion.runs)
        if expansion.learnt is not None and numbers:
            self.learnt.append((numbers[-1], expansion.learnt))
        self.memory, self.error = expansion.memory, expansion.error
