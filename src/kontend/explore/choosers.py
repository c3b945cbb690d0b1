"""Who says which move a walk makes next.

Chance comes from one generator, and only by its ``random()``, which gives the same numbers for a seed in every version
of Python.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from kontend.explore.moves import Move

#: How many orders between two things a bug may need that PCT is to find: one by the priorities, the rest by changes.
_DEPTH: Final = 3
_T = TypeVar("_T")


class Chooser(Protocol):
    """Chooses moves."""

    #: What walks are called that are made by it.
    name: str

    def begin(self, length: int) -> None:
        """Another walk, of about so many moves."""

    def chosen(self, moves: Sequence[Move]) -> Move:
        """One of the moves that are possible."""

    def came_back(self) -> None:
        """The move that was chosen last led to a world in which the walk has been before."""


def _any(chance: random.Random, among: Sequence[_T]) -> _T:
    return among[int(chance.random() * len(among))]


class Anything:
    """Every move that is possible is as likely as every other."""

    name = "random"

    def __init__(self, seed: int, pilots: int) -> None:
        del pilots
        self._chance = random.Random(seed)

    def begin(self, length: int) -> None:
        """Nothing to prepare."""

    def chosen(self, moves: Sequence[Move]) -> Move:
        """One of the moves."""
        return _any(self._chance, moves)

    def came_back(self) -> None:
        """Chance leads out again."""


class Priorities:
    """Probabilistic concurrency testing (Burckhardt and others, 2010).

    Each controller, what brings it its events, and the user is a process with a priority of its own, by chance; the
    highest that can move does. At a few moves, also by chance, the one that would have moved falls below all others. A
    bug that needs few orders to be just so is found with a probability that has a lower bound, where a random walk may
    need ever so many coincidences.

    What goes in circles would keep all others waiting for ever: it falls, too, as one that yields does in the original.
    """

    name = "PCT"

    def __init__(self, seed: int, pilots: int) -> None:
        self._chance = random.Random(seed)
        self._pilots = pilots
        self._priorities: list[float] = []
        #: The new priority of the process that would make the move of this number.
        self._changes: dict[int, int] = {}
        self._made = 0
        self._lowest = 0
        self._last = 0

    def begin(self, length: int) -> None:
        """New priorities, and new changes of them."""
        self._priorities = [self._chance.random() for _ in range(2 * self._pilots + 1)]
        self._changes = {int(self._chance.random() * length) + 1: -number for number in range(1, _DEPTH)}
        self._made = 0
        self._lowest = -_DEPTH

    def chosen(self, moves: Sequence[Move]) -> Move:
        """A move of the highest process."""
        self._made += 1
        process = self._highest(moves)
        if self._made in self._changes:
            self._priorities[process] = self._changes[self._made]
            process = self._highest(moves)
        self._last = process
        return _any(self._chance, [move for move in moves if self._process(move) == process])

    def came_back(self) -> None:
        """Let the others go first."""
        self._lowest -= 1
        self._priorities[self._last] = self._lowest

    def _highest(self, moves: Sequence[Move]) -> int:
        return max((self._process(move) for move in moves), key=lambda process: self._priorities[process])

    def _process(self, move: Move) -> int:
        """Controllers first, then what brings them their events, then the user."""
        if move.what == "act":
            return 2 * self._pilots
        return move.pilot + self._pilots * (move.what == "deliver")
