"""The graph of a search: for each state how it is reached, where it leads, and little else."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.step import Step

Steps = tuple[Step, ...]


class Graph:
    """States by number, in the order in which they were found."""

    def __init__(self) -> None:
        #: For each key the first state that had it, and further ones, which differ in the faults that are left.
        self._ids: dict[bytes, int] = {}
        self._further: dict[bytes, list[int]] = {}
        #: The faults that are left in a state.
        self.reserves: list[Reserve] = []
        #: The end of the cheapest way to a state: the state before, and the steps from there.
        self.parents = array("q")
        self.steps: list[Steps] = []
        #: The number of perturbations and of steps on that way.
        self.costs = array("q")
        self.depths = array("q")
        #: Stands for the objects in a state.
        self.objects: list[int] = []
        #: The answers of the properties of clusters in a state.
        self.holds: list[tuple[bool, ...]] = []
        #: A failure of a reconcile on an edge from a state, other than a fault.
        self.failures: dict[int, str] = {}
        # The edges stand one behind the other; for each state, where its own begin and how many there are.
        self._targets = array("q")
        self._writes = bytearray()
        self._optional = bytearray()
        self._timers = bytearray()
        self._acts = bytearray()
        self._begin = array("q")
        self._count = array("q")
        self._same_steps: dict[Steps, Steps] = {}
        self._same_objects: dict[int, int] = {}
        self._same_reserves: dict[Reserve, Reserve] = {}

    def __len__(self) -> int:
        return len(self.steps)

    def knows(self, key: bytes) -> bool:
        """A state with a key is known, whatever faults are left."""
        return key in self._ids

    def find(self, key: bytes, reserve: Reserve, cost: int, depth: int) -> int | None:
        """The state with a key, if it is known; it may have more faults left.

        With more faults left, everything can happen that can happen with fewer. So such a state stands for another one
        that is reached at the same cost or a higher one.
        """
        first = self._ids.get(key)
        if first is None:
            return None
        if self.reserves[first] == reserve:
            return first
        candidates: list[int] = [first, *self._further.get(key, ())]
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
        number = len(self.steps)
        if self._ids.setdefault(key, number) != number:
            self._further.setdefault(key, []).append(number)
        self.reserves.append(self._same_reserves.setdefault(reserve, reserve))
        self.parents.append(parent)
        self.steps.append(self._same_steps.setdefault(steps, steps))
        self.costs.append(cost)
        self.depths.append(self.depths[parent] + len(steps) if parent >= 0 else 0)
        self.objects.append(self._same_objects.setdefault(objects, objects))
        self.holds.append(holds)
        self._begin.append(0)
        self._count.append(-1)
        return number

    def improve(self, number: int, parent: int, steps: Steps, cost: int) -> bool:
        """Keep another way to a known state if it is cheaper, or as cheap and shorter."""
        depth = self.depths[parent] + len(steps)
        if (cost, depth) >= (self.costs[number], self.depths[number]):
            return False
        self.parents[number] = parent
        self.steps[number] = self._same_steps.setdefault(steps, steps)
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
        return any(self._acts[begin : begin + max(0, self._count[number])])

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

    def closed_components(self, *, unperturbed: bool = False, without_users: bool = False) -> list[list[int]]:
        """The strongly connected components without an edge out (Tarjan's algorithm, without recursion).

        Optional edges do not count: a run need never take them. ``without_users``, edges in which a user acts do not
        count either.
        Of all states, or of the ``unperturbed`` ones alone: then edges to others do not count.
        """
        size = len(self)
        left_out = self._optional
        if without_users:
            left_out = bytearray(map(max, self._optional, self._acts))
        most = 0 if unperturbed else max(self.costs, default=0)
        index, low = array("q", bytes(8 * size)), array("q", bytes(8 * size))
        component_of = array("q", bytes(8 * size))
        on_stack = bytearray(size)
        components: list[list[int]] = []
        stack: list[int] = []
        count = 0
        for root in range(size):
            if index[root] or self.costs[root] > most:
                continue
            work = [(root, self._begin[root])]
            while work:
                node, at = work.pop()
                begin = self._begin[node]
                end = begin + max(0, self._count[node])
                if at == begin and not index[node]:
                    count += 1
                    index[node] = low[node] = count
                    stack.append(node)
                    on_stack[node] = 1
                pushed = False
                for position in range(at, end):
                    other = self._targets[position]
                    if left_out[position] or self.costs[other] > most:
                        continue
                    if not index[other]:
                        work += [(node, position + 1), (other, self._begin[other])]
                        pushed = True
                        break
                    if on_stack[other]:
                        low[node] = min(low[node], index[other])
                if pushed:
                    continue
                if low[node] == index[node]:
                    members = []
                    while True:
                        other = stack.pop()
                        on_stack[other] = 0
                        component_of[other] = len(components)
                        members.append(other)
                        if other == node:
                            break
                    components.append(members)
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
        return [
            members
            for number, members in enumerate(components)
            if all(
                component_of[self._targets[at]] == number
                for node in members
                for at in range(self._begin[node], self._begin[node] + max(0, self._count[node]))
                if not left_out[at] and self.costs[self._targets[at]] <= most
            )
        ]


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
