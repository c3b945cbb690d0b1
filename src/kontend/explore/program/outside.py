"""Refuses what leaves a reconcile without a call of its api: files, sockets, processes, threads, sleeping, no end.

The interpreter reports such operations as audit events, whatever library they come from, so no list of libraries is
kept. Reading files is allowed: while nothing in a reconcile writes, it is a constant. A reconcile that computes for ten
seconds of processor time without waiting for anything does not come to an end.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from kontend.explore.program.event_loop import ReconcileLoop, Unsupported
from kontend.explore.program.user_code import UserCode
from kontend.runtime.source_location import UNKNOWN, SourceLocation

#: The families of events that are refused: all libraries end in one of them.
_REFUSED: Final = ("socket.", "subprocess.", "_thread.start", "os.", "shutil.", "time.sleep")
#: Events of these families that only look, or make an object that is not connected to anything.
_LOOKING: Final = (
    "os.listdir",
    "os.scandir",
    "os.walk",
    "os.fwalk",
    "os.listxattr",
    "os.getxattr",
    "socket.gethostname",
    "socket.__new__",
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SLEEP: Final = "time.sleep"
#: Seconds of processor time between two moments at which a reconcile waits.
LONGEST: Final = 10.0


class _Watched:
    """The reconcile that runs in this process now; there is one at a time in each thread."""

    def __init__(self) -> None:
        self.current = threading.local()
        self.is_installed = False


_watched: Final = _Watched()


@contextmanager
def confined(loop: ReconcileLoop, code: UserCode, name: str) -> Iterator[None]:
    """Refuse what the code of a reconcile does to the outside until the end of the block."""
    if not _watched.is_installed:  # a hook can never be removed, so there is one for all runs
        _watched.is_installed = True
        sys.addaudithook(_audit)
    local = _watched.current
    before = getattr(local, "run", None)
    local.run = (loop, code, name)
    # Signals reach the main thread only. A handler of the user's own is left alone.
    is_timed = (
        before is None
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, _stop)
    )
    if is_timed:
        signal.signal(signal.SIGVTALRM, _stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        if is_timed:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        local.run = before


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    run = getattr(_watched.current, "run", None)
    if run is None or not _is_refused(event, arguments):
        return
    frame: FrameType | None = sys._getframe(1)
    if _is_harmless(frame):
        return
    loop, code, name = run
    line = _line(frame, code)
    if line is None:  # ours, or a finalizer that happens to run now
        return
    what = f"opens {arguments[0]!r} for writing" if event == "open" else f"leads to {event}"
    remedy = "only calls of its api, asyncio.sleep, wait_for, timeout, gather, create_task and TaskGroup can"
    if event == _SLEEP:
        what, remedy = "calls time.sleep(), which blocks all others", "return Result(requeue_after=...) instead"
    _refuse(loop, f"{line.short}: {name}: the reconcile {what}, which cannot be explored: {remedy}")


def _is_refused(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        return isinstance(flags, int) and bool(flags & _WRITING)
    return event.startswith(_REFUSED) and event not in _LOOKING


def _is_harmless(frame: FrameType | None) -> bool:
    """Imports write bytecode, and a logger may open its file late."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or file == logging.__file__:
            return True
        frame = frame.f_back
    return False


def _line(frame: FrameType | None, code: UserCode) -> SourceLocation | None:
    """The innermost line of the user's own code."""
    while frame is not None:
        if code.has(frame.f_code.co_filename):
            return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def _stop(_: int, frame: FrameType | None) -> None:
    run = getattr(_watched.current, "run", None)
    if run is None:
        return
    loop, code, name = run
    line = _line(frame, code) or UNKNOWN
    where = f"{line.short}: " if line != UNKNOWN else ""
    _refuse(
        loop,
        f"{where}{name}: the reconcile ran for {LONGEST:g} seconds of processor time without waiting for a call; "
        "does a loop in it never end?",
    )


def _refuse(loop: ReconcileLoop, message: str) -> None:
    # Code may catch every exception; the loop raises it again.
    loop.unsupported = Unsupported(message)
    raise loop.unsupported
