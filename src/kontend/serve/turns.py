"""Turns: work for clients in small steps, so that a crowd of them holds nobody else up.

asyncio runs everything that is ready before it looks at sockets again. If each of a thousand readers were sent five
milliseconds' worth of a long answer there, a request would wait for five seconds. So all long answers of a server share
one queue of steps, of which as many are taken as fit into a turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final

#: Seconds for which steps are taken before requests are looked at.
_TURN: Final = 0.01


class Turns:
    """The queue of steps of one event loop."""

    def __init__(self) -> None:
        self._steps: deque[Callable[[], None]] = deque()
        self._scheduled = False

    def soon(self, step: Callable[[], None]) -> None:
        """Take a step after those that wait already."""
        self._steps.append(step)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._take)

    def _take(self) -> None:
        self._scheduled = False
        turn_ends = monotonic() + _TURN
        try:
            while self._steps:
                self._steps.popleft()()
                if monotonic() > turn_ends:
                    break
        finally:
            if self._steps:
                self._schedule()
