"""What is kept of the worlds that were found: how they are reached, where they lead, and little else."""

from __future__ import annotations

from array import array

from kontend.explore.moves import Move


class Graph:
    """Worlds by number, in the order in which they were found."""

    def __init__(self) -> None:
        self.ids: dict[bytes, int] = {}
        #: How the cheapest way to a world ends: the world before, the moves from there, and what they cost in all.
        self.parents = array("q")
        self.moves: list[tuple[Move, ...]] = []
        self.costs = array("q")
        self.depths = array("q")
        #: What stands for the objects in a world.
        self.objects: list[int] = []
        #: What holds in a world, of all that is asked of worlds.
        self.holds: list[tuple[bool, ...]] = []
        #: How a reconcile fails in a leap from a world.
        self.fails: dict[int, str] = {}
        # The edges stand one behind the other; for each world, where its own begin and how many there are.
        self._targets = array("q")
        self._begin = array("q")
        self._count = array("q")
        self._same_moves: dict[tuple[Move, ...], tuple[Move, ...]] = {}
        self._same_objects: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.moves)

    def add(
        self, key: bytes, parent: int, moves: tuple[Move, ...], cost: int, objects: int, holds: tuple[bool, ...]
    ) -> int:
        """A new world; returns its number."""
        number = len(self.moves)
        self.ids[key] = number
        self.parents.append(parent)
        self.moves.append(self._same_moves.setdefault(moves, moves))
        self.costs.append(cost)
        self.depths.append(self.depths[parent] + len(moves) if parent >= 0 else 0)
        self.objects.append(self._same_objects.setdefault(objects, objects))
        self.holds.append(holds)
        self._begin.append(0)
        self._count.append(-1)
        return number

    def improve(self, number: int, parent: int, moves: tuple[Move, ...], cost: int) -> bool:
        """Another way to a known world: kept if it is cheaper, or as cheap and shorter."""
        depth = self.depths[parent] + len(moves)
        if (cost, depth) >= (self.costs[number], self.depths[number]):
            return False
        self.parents[number] = parent
        self.moves[number] = self._same_moves.setdefault(moves, moves)
        self.costs[number] = cost
        self.depths[number] = depth
        return True

    def expand(self, number: int, targets: list[int]) -> None:
        """Where a world leads."""
        self._begin[number] = len(self._targets)
        self._count[number] = len(targets)
        self._targets.extend(targets)

    def targets(self, number: int) -> array[int]:
        """Where a world leads; nothing for one that was not looked at."""
        begin = self._begin[number]
        return self._targets[begin : begin + max(0, self._count[number])]

    @property
    def cut(self) -> int:
        """How many worlds were found and not looked at."""
        return sum(1 for count in self._count if count < 0)

    def path(self, number: int) -> list[Move]:
        """The cheapest way from the start to a world."""
        leaps: list[tuple[Move, ...]] = []
        while number >= 0:
            leaps.append(self.moves[number])
            number = self.parents[number]
        return [move for leap in reversed(leaps) for move in leap]

    def closed_components(self, *, undisturbed: bool = False) -> list[list[int]]:
        """The strongly connected components without an edge out (Tarjan, without recursion).

        Of all worlds, or of the ``undisturbed`` ones alone: then edges to others do not count.
        """
        size = len(self)
        most = 0 if undisturbed else max(self.costs, default=0)
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
                    if self.costs[other] > most:
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
                component_of[other] == number
                for node in members
                for other in self.targets(node)
                if self.costs[other] <= most
            )
        ]
