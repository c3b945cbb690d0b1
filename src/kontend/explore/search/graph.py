"""The graph of a search: for each state how it is reached, where it leads, and little else."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.step import Step
from kontend.explore.search.components import Components, Edges, closed_components
from kontend.explore.search.store.columns import Column, Interned, Words, spilled
from kontend.explore.search.store.visited import Visited

Steps = tuple[Step, ...]
#: The columns that are plain numbers.
_COLUMNS: Final = (
    "_next",
    "parents",
    "costs",
    "depths",
    "_targets",
    "_writes",
    "_optional",
    "_timers",
    "_acts",
    "_begin",
    "_count",
)


class Graph:
    """States by number, in the order in which they were found."""

    def __init__(self) -> None:
        #: For each key the first state that had it; for each state the next one with its key, which differs in the
        #: faults that are left (0 for none: the initial state is the first of its key).
        self._visited = Visited()
        self._next: Column = array("I")
        #: The faults that are left in a state.
        self.reserves: Interned[Reserve] = Interned()
        #: The end of the cheapest way to a state: the state before, and the steps from there.
        self.parents: Column = array("q")
        self.steps: Interned[Steps] = Interned()
        #: The number of perturbations and of steps on that way.
        self.costs: Column = array("I")
        self.depths: Column = array("I")
        #: Stands for the objects in a state.
        self.objects = Words()
        #: The answers of the properties of clusters in a state.
        self.holds: Interned[tuple[bool, ...]] = Interned()
        #: A failure of a reconcile on an edge from a state, other than a fault; empty for none.
        self.failures: Interned[str] = Interned()
        # The edges stand one behind the other; for each state, where its own begin and how many there are.
        self._targets: Column = array("I")
        self._writes: Column = array("B")
        self._optional: Column = array("B")
        self._timers: Column = array("B")
        self._acts: Column = array("B")
        self._begin: Column = array("q")
        self._count: Column = array("i")
        self._directory: Path | None = None

    def __len__(self) -> int:
        return len(self.parents)

    def spill(self, directory: Path) -> None:
        """Move everything that grows with the number of states to files in a directory. Raises ``NoRoom``."""
        self._directory = directory
        self._visited.spill(directory)
        for name in _COLUMNS:
            setattr(self, name, spilled(getattr(self, name), directory))
        for column in (self.reserves, self.steps, self.objects, self.holds, self.failures):
            column.spill(directory)

    def knows(self, key: bytes) -> bool:
        """A state with a key is known, whatever faults are left."""
        return self._visited.get(key) is not None

    def find(self, key: bytes, reserve: Reserve, cost: int, depth: int) -> int | None:
        """The state with a key, if it is known; it may have more faults left.

        With more faults left, everything can happen that can happen with fewer. So such a state stands for another one
        that is reached at the same cost or a higher one.
        """
        first = self._visited.get(key)
        if first is None:
            return None
        if self.reserves[first] == reserve:
            return first
        candidates = [first]
        while following := self._next[candidates[-1]]:
            candidates.append(following)
        for number in candidates:
            if self.reserves[number] == reserve:
                return number
        for number in candidates:
            if self.reserves[number].covers(reserve) and (self.costs[number], self.depths[number]) <= (cost, depth):
                return number
        return None

    def add(
        self,
        key: bytes,
        parent: int,
        steps: Steps,
        cost: int,
        objects: int,
        holds: tuple[bool, ...],
        reserve: Reserve = NO_RESERVE,
    ) -> int:
        """Add a state; returns its number."""
        number = len(self)
        same = self._visited.get(key)
        if same is None:
            self._visited.add(key, number)
        else:
            while following := self._next[same]:
                same = following
            self._next[same] = number
        self._next.append(0)
        self.reserves.append(reserve)
        self.parents.append(parent)
        self.steps.append(steps)
        self.costs.append(cost)
        self.depths.append(self.depths[parent] + len(steps) if parent >= 0 else 0)
        self.objects.append(objects)
        self.holds.append(holds)
        self.failures.append("")
        self._begin.append(0)
        self._count.append(-1)
        return number

    def improve(self, number: int, parent: int, steps: Steps, cost: int, reserve: Reserve = NO_RESERVE) -> bool:
        """Keep another way to a known state if it is cheaper, or as cheap and shorter, and leaves the same faults."""
        known = self.costs[number]
        if cost > known:
            return False
        depth = self.depths[parent] + len(steps)
        if (cost == known and depth >= self.depths[number]) or self.reserves[number] != reserve:
            return False
        self.parents[number] = parent
        self.steps[number] = steps
        self.costs[number] = cost
        self.depths[number] = depth
        return True

    def expand(
        self,
        number: int,
        targets: Sequence[int],
        writes: Sequence[bool],
        optional: Sequence[bool] = (),
        fires: Sequence[bool] = (),
        acts: Sequence[bool] = (),
    ) -> None:
        """Add the edges of a state; ``writes`` says which write something, ``optional`` which need not be taken.

        ``fires`` says in which of them a timer fires, ``acts`` in which of them a user acts.
        """
        self._begin[number] = len(self._targets)
        self._count[number] = len(targets)
        self._targets.extend(targets)
        self._writes.extend(writes)
        self._optional.extend(optional or bytes(len(targets)))
        self._timers.extend(fires or bytes(len(targets)))
        self._acts.extend(acts or bytes(len(targets)))

    def edges(self, number: int) -> Iterator[tuple[int, bool]]:
        """The edges of a state that are not optional: the target, and whether something is written."""
        begin = self._begin[number]
        for at in range(begin, begin + max(0, self._count[number])):
            if not self._optional[at]:
                yield self._targets[at], bool(self._writes[at])

    def waits_for_users(self, number: int) -> bool:
        """A user can act in a state."""
        begin = self._begin[number]
        return any(self._acts[at] for at in range(begin, begin + max(0, self._count[number])))

    def waits_for_timers(self, number: int) -> bool:
        """Nothing happens in a state before a timer fires."""
        begin = self._begin[number]
        edges = range(begin, begin + max(0, self._count[number]))
        return all(self._timers[at] or self._optional[at] for at in edges)

    def writes_without_timers(self, members: set[int]) -> bool:
        """A cycle within some states writes something, and no timer fires and no user acts in it."""
        within = {
            number: [
                (self._targets[at], self._writes[at])
                for at in range(self._begin[number], self._begin[number] + max(0, self._count[number]))
                if not (self._timers[at] or self._optional[at] or self._acts[at]) and self._targets[at] in members
            ]
            for number in members
        }
        return any(
            wrote and _leads_back(within, target, number) for number, edges in within.items() for target, wrote in edges
        )

    def is_unexpanded(self, number: int) -> bool:
        """A state was found and not expanded."""
        return self._count[number] < 0

    @property
    def unexpanded(self) -> int:
        """The number of states that were found and not expanded."""
        return sum(1 for count in self._count if count < 0)

    def ancestors(self, number: int) -> Iterator[int]:
        """The states on the cheapest way to a state, from the nearest to the initial one."""
        number = self.parents[number]
        while number >= 0:
            yield number
            number = self.parents[number]

    def schedule(self, number: int) -> list[Step]:
        """The cheapest way from the initial state to a state."""
        macros = [self.steps[number], *(self.steps[ancestor] for ancestor in self.ancestors(number))]
        return [step for steps in reversed(macros) for step in steps]

    def closed_components(self, *, most: int | None = None, without_users: bool = False) -> Components:
        """The strongly connected components without an edge out.

        Optional edges do not count: a run need never take them. ``without_users``, edges in which a user acts do not
        count either.
        Of all states, or of those with at most ``most`` perturbations alone: then edges to others do not count.
        """
        most = max(self.costs, default=0) if most is None else most
        edges = Edges(self._begin, self._count, self._targets, self._optional, self._acts, self.costs, most)
        return closed_components(edges, self._directory, without_users=without_users)


def _leads_back(edges: dict[int, list[tuple[int, int]]], start: int, end: int) -> bool:
    """One state can be reached from another."""
    seen, todo = {start}, [start]
    while todo:
        number = todo.pop()
        if number == end:
            return True
        fresh = {target for target, _ in edges[number]} - seen
        seen |= fresh
        todo += fresh
    return False
