"""Processor time that a request may use on the event loop.

:func:`~kontend.serve.requests.off_loop.is_costly` predicts which requests take long, and a prediction can be wrong:
the cost of a rule, of a pattern or of an alias depends on both the definition and the object. So work on the loop has a
budget. A timer of processor time ticks every 10 ms; work that has used 10 ms when it ticks is interrupted with
:class:`OverBudget`, and the caller carries it out again in a thread. That is correct because the work is a pure
function of a state. Ticks are not counted: on a busy machine, several of them come as one. Imports are left alone: an
interruption would leave their locks behind, and each takes time only once.

The timer is a signal, so it exists only where the loop runs on the main thread, as that of ``kontend serve`` does.
Elsewhere the budget is unlimited.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: Seconds of processor time between two ticks, and those that work may use.
_TICK: Final = 0.01
_BUDGET: Final = 0.01
#: The source file of the functions that import modules.
_IMPORTING: Final = "<frozen importlib._bootstrap>"


class OverBudget(BaseException):
    """Interrupts work that has used up its budget. No handler of :class:`Exception` takes it for an error."""


class LoopBudget:
    """Limits the processor time of work on the event loop."""

    def __init__(self) -> None:
        self._working = False
        self._began = 0.0
        self._previous: Any = None
        self._previous_hook = sys.unraisablehook
        self._running = False

    def start(self) -> None:
        """Start the timer, on the main thread of a system that has one."""
        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGVTALRM, self._tick)
            self._previous_hook, sys.unraisablehook = sys.unraisablehook, self._ignored
            signal.setitimer(signal.ITIMER_VIRTUAL, _TICK, _TICK)
            self._running = True

    def stop(self) -> None:
        """Stop the timer."""
        if self._running:
            self._running = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, self._previous)
            sys.unraisablehook = self._previous_hook

    def spend(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of some work. Raises :class:`OverBudget` when it takes too long; it must be pure then.

        >>> LoopBudget().spend(max, 1, 2)
        2
        """
        self._began = time.thread_time()
        self._working = True
        try:
            try:
                return work(*arguments)
            finally:
                self._working = False
        except OverBudget:
            self._working = False  # the tick may have come just before this was said above
            raise

    def _tick(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a signal handler
        if self._working and time.thread_time() - self._began >= _BUDGET and not _imports(frame):
            raise OverBudget

    def _ignored(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Pass over interruptions of a finalizer, which Python ignores: the next tick comes soon."""
        if unraisable.exc_type is not OverBudget:
            self._previous_hook(unraisable)


def _imports(frame: FrameType | None) -> bool:
    """Report whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False
