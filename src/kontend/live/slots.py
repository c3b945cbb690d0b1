"""Slots: how many runs go on at the same time, those of plans and those that watch an idle process.

A command that binds a fixed port can only run alone. That shows when a process ends because its port is taken while
another run goes on: from then on there is one run at a time, and the run in question is carried out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum


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
