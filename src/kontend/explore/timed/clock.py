"""An event loop on which hours pass in milliseconds: time advances to the next timer when nothing is ready."""

from __future__ import annotations

import heapq
from asyncio import events
from collections.abc import Callable
from typing import Any, Final

from kontend.explore.program.event_loop import ReconcileLoop, Unsupported

#: A run that takes more callbacks than these at one moment does not come to an end.
_MOST_AT_ONCE: Final = 100_000


class VirtualLoop(ReconcileLoop):
    """The event loop of a whole run: reconciles, deliveries and timers share one clock."""

    #: The time of the last callback.
    _at = 0.0
    #: The first mistake in a scenario that showed; nothing in user code may catch it.
    problem: BaseException | None = None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep the error of a callback, to raise it from :meth:`run`."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.problem = self.problem or error

    def run(self, until: float, *, finished: Callable[[], bool]) -> None:
        """Run until a time, or until ``finished`` says so when nothing is ready."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        at_once = 0
        try:
            while True:
                if not self._ready:
                    if finished() or not self._advance(until):
                        return
                    continue
                handle = self._ready.popleft()
                if not handle._cancelled:
                    handle._run()
                if self.unsupported is not None:
                    raise self.unsupported
                if self.problem is not None:
                    raise self.problem
                at_once = at_once + 1 if self._time == self._at else 0
                self._at = self._time
                if at_once > _MOST_AT_ONCE:
                    raise Unsupported(
                        f"a run took {_MOST_AT_ONCE:,} steps at {self._time:g} s; does it wait in a loop?"
                    )
        finally:
            events._set_running_loop(before)

    def _advance(self, until: float) -> bool:
        """Advance to the next timer, unless it is later than ``until``."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers or self._timers[0][0] > until:
            return False
        return self._fire_next_timer()
