"""A move, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kontend.cluster.state import Change
from kontend.explore.world import Flight, World
from kontend.kube.meta.names import Key


class Move(NamedTuple):
    """One thing that can happen."""

    #: start, call, deliver, retry or act
    what: str
    pilot: int = -1
    #: The request (start, retry), or the index of the kind (deliver).
    subject: Key | int | None = None


class Step:
    """A move that was made: the world after it, and what it was in words."""

    __slots__ = ("calls", "changes", "error", "flight", "price", "text", "world")

    def __init__(
        self,
        world: World,
        text: str,
        changes: Sequence[Change] = (),
        flight: Flight | None = None,
        error: str = "",
        calls: tuple[tuple[World, Step], ...] = (),
        price: int = 0,
    ) -> None:
        self.world = world
        self.text = text
        #: What it wrote, oldest first.
        self.changes = changes
        #: The flight whose call this was, as it was before; None for other moves.
        self.flight = flight
        #: How a reconcile that ended with this move failed, or why a user was refused.
        self.error = error
        #: For a whole reconcile: the calls it made, each with the world before it.
        self.calls = calls
        #: How much it disturbs: 0 for what happens in an undisturbed run.
        self.price = price
