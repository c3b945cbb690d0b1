"""Slots: how many runs go on at the same time, those of plans and those that watch an idle process.

A command that binds a fixed port can only run alone. That shows when a process ends because its port is taken while
another run goes on: from then on there is one run at a time, and the run in question is carried out again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

#: The part of the processors that runs may take, and the most runs at the same time that are chosen by that.
_ROOM: Final = 0.7
_MOST: Final = 16


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fitting(processor: float, seconds: float, processors: int) -> int:
    """Return how many runs at the same time there is room for, when one takes some processor time of its seconds.

    Runs on processors that are all taken are no faster, and a process that gets none looks busy for longer.

    >>> fitting(1.0, 20.0, 2), fitting(5.0, 5.0, 2), fitting(0.0, 20.0, 2)
    (16, 1, 1)
    """
    if processor <= 0:
        return 1  # this system does not show it
    return max(1, min(_MOST, int(_ROOM * processors * seconds / processor)))


class Kind(Enum):
    """The kind of a run: one that works, or one that is mostly silence."""

    PLAN = "plan"
    WATCH = "watch"


@dataclass(slots=True, eq=False)
class Slot:
    """A run that goes on; ``alone`` says that no other run has gone on at the same time."""

    kind: Kind
    alone: bool = True


class Slots:
    """Admits runs up to a limit for each kind."""

    def __init__(self, limits: Mapping[Kind, int]) -> None:
        self._limits = dict(limits)
        self._running: set[Slot] = set()
        self._changed = asyncio.Condition()
        #: One run at a time, of whatever kind.
        self.serial = False

    def limit(self, kind: Kind, runs: int) -> None:
        """Admit another number of runs of a kind from now on."""
        self._limits[kind] = runs

    @asynccontextmanager
    async def take(self, kind: Kind) -> AsyncIterator[Slot]:
        """Wait for a slot, and give it back."""
        slot = Slot(kind)
        async with self._changed:
            await self._changed.wait_for(lambda: self._admits(kind))
            for other in self._running:
                other.alone = slot.alone = False
            self._running.add(slot)
        try:
            yield slot
        finally:
            self._running.discard(slot)
            # Not awaited: a run that is cancelled must not wait for others.
            asyncio.get_running_loop().create_task(self._notify())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _admits(self, kind: Kind) -> bool:
        if self.serial:
            return not self._running
        return sum(slot.kind == kind for slot in self._running) < self._limits[kind]
