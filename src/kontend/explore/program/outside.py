"""Refuses what leaves a reconcile without a call of its api: files, sockets, processes, threads, sleeping, no end.

The interpreter reports such operations as audit events, whatever library they come from. Everything is refused but the
events of the interpreter's own work: a list of the refused families let ``sqlite3.connect`` and ``ctypes.dlopen`` pass,
and every library may add events. It reports none before three functions that end the process at once, so these are
wrapped. Reading files is allowed: while nothing in a reconcile writes, it is a constant.

A reconcile that computes for ten seconds of processor time without waiting for a call does not come to an end. Neither
does one that waits for something else: a lock, a queue. Its limit is one of time, and counts only while the process
is idle: on a busy machine ten seconds of work may take minutes.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple, Protocol

from kontend.explore.program.event_loop import Interrupted, Unsupported
from kontend.explore.program.user_code import UserCode
from kontend.runtime.source_location import SourceLocation

#: Events of work within this process, and of looking at files and names: all others are refused.
_HARMLESS: Final = (
    "array.",
    "builtins.id",
    "code.",
    "compile",
    "cpython.",
    "exec",
    "function.",
    "gc.",
    "glob.",
    "import",
    "marshal.",
    "object.",
    "os.fwalk",
    "os.getxattr",
    "os.listdir",
    "os.listxattr",
    "os.scandir",
    "os.walk",
    "pathlib.",
    "pickle.",
    "setopencode",
    "socket.__new__",
    "socket.gethostname",
    "sys.",
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SLEEP: Final = "time.sleep"
#: Seconds of processor time between two moments at which a reconcile waits for a call.
LONGEST: Final = 10.0
#: Seconds of processor time after which an interruption is about the reconcile, not about the search.
IMPATIENT: Final = 1.0
#: Seconds between them in which it uses next to no processor time.
LONGEST_WAIT: Final = 30.0
#: The share of its time that a process uses at least while it is at work.
_BUSY: Final = 0.01


#: The way out for a reconcile.
_AWAITS: Final = "only calls of its api, asyncio.sleep, wait_for, timeout, gather, create_task and TaskGroup can"


class Refusing(Protocol):
    """Holds the first refusal of some code, which may catch every exception."""

    unsupported: Unsupported | None


class _Confined(NamedTuple):
    """Code of the user that runs: a reconcile, or a function that it is given."""

    loop: Refusing
    code: UserCode
    #: The subject of messages.
    who: str
    #: The way out.
    remedy: str
    #: The innermost frame that does not belong to it.
    floor: FrameType
    #: The processor time of this process when it began.
    begin: float

    def frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames of the reconcile, from one of them outwards."""
        while frame is not None and frame is not self.floor:
            yield frame
            frame = frame.f_back

    def line(self, frame: FrameType | None) -> SourceLocation | None:
        """The innermost line of the user's own code; None if that is not what runs."""
        line = None
        while frame is not None and frame is not self.floor:
            if line is None and self.code.has(frame.f_code.co_filename):
                line = SourceLocation(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        # An interruption may come just before this is put away. What runs afterwards has other frames.
        return line if frame is self.floor else None

    def refuse(self, message: str) -> None:
        """End the reconcile with an error."""
        # Code may catch every exception; the loop raises it again.
        self.loop.unsupported = Unsupported(message)
        raise self.loop.unsupported


class _Watched:
    """The code of the user that runs in this process now; there is one at a time in each thread."""

    def __init__(self) -> None:
        self.current = threading.local()
        self.is_installed = False


_watched: Final = _Watched()


@contextmanager
def confined(loop: Refusing, code: UserCode, who: str, remedy: str = _AWAITS) -> Iterator[None]:
    """Refuse what code of the user does to the outside until the end of the block; messages begin with ``who``."""
    if not _watched.is_installed:  # a hook can never be removed, so there is one for all runs
        _watched.is_installed = True
        sys.addaudithook(_audit)
    local = _watched.current
    before = getattr(local, "run", None)
    # Frames further out belong to the caller of the search, which may be a module that is being imported.
    local.run = _Confined(loop, code, who, remedy, sys._getframe(2), time.process_time())
    timers = [] if before is not None else [timer for timer in _TIMERS if _is_free(timer.signal)]
    for timer in timers:
        _set_handler(timer.signal, timer.handler)
        seconds = timer.seconds()
        signal.setitimer(timer.timer, seconds, seconds)
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if time.process_time() - local.run.begin < IMPATIENT:
            raise
        # Somebody who waits for a loop that never ends wants to know where it is.
        lines = [
            SourceLocation(frame.f_code.co_filename, number)
            for frame, number in walk_tb(interrupt.__traceback__)
            if code.has(frame.f_code.co_filename)
        ]
        where = f"{lines[-1].short}: " if lines else ""
        what = "was interrupted while it computed without waiting for a call; does a loop in it never end?"
        raise Interrupted(f"{where}{who} {what}") from None
    finally:
        for timer in timers:
            signal.setitimer(timer.timer, 0)
        local.run = before


def _wrapped(module: ModuleType, name: str) -> None:
    """Let a function that ends this process refuse to do so in code of the user."""
    function = getattr(module, name)

    @functools.wraps(function)
    def ends(*arguments: Any) -> Any:
        run: _Confined | None = getattr(_watched.current, "run", None)
        line = run.line(sys._getframe(1)) if run is not None else None
        if run is not None and line is not None:
            what = f"calls {module.__name__}.{name}(), which ends the process"
            run.refuse(f"{line.short}: {run.who} {what}: raise an exception; crashes are explored as faults")
        return function(*arguments)

    setattr(module, name, ends)


# When this module is imported, not when code first runs: a module of the user may import the names.
for _module, _name in ((os, "_exit"), (os, "abort"), (signal, "raise_signal")):
    _wrapped(_module, _name)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    run: _Confined | None = getattr(_watched.current, "run", None)
    if run is None or not _is_refused(event, arguments):
        return
    frame = sys._getframe(1)
    if any(map(_is_harmless, run.frames(frame))):
        return
    line = run.line(frame)
    if line is None:  # ours, or a finalizer that happens to run now
        return
    what = f"opens {arguments[0]!r} for writing" if event == "open" else f"leads to {event}"
    remedy = run.remedy
    if event == _SLEEP and remedy is _AWAITS:
        what, remedy = "calls time.sleep(), which blocks all others", "return Result(requeue_after=...) instead"
    run.refuse(f"{line.short}: {run.who} {what}, which cannot be explored: {remedy}")


def _is_refused(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        return isinstance(flags, int) and bool(flags & _WRITING)
    return not event.startswith(_HARMLESS)


def _is_harmless(frame: FrameType) -> bool:
    """Imports write bytecode, and a logger may open its file late."""
    file = frame.f_code.co_filename
    return file.startswith("<frozen importlib") or file == logging.__file__


def _stop_computing(_: int, frame: FrameType | None) -> None:
    run: _Confined | None = getattr(_watched.current, "run", None)
    if run is not None:
        _stop(
            run,
            frame,
            f"ran for {LONGEST:g} seconds of processor time without waiting for a call; does a loop in it never end?",
        )


def _stop_waiting(_: int, frame: FrameType | None) -> None:
    run: _Confined | None = getattr(_watched.current, "run", None)
    if run is not None and time.process_time() - run.begin < LONGEST_WAIT * _BUSY:
        _stop(
            run, frame, f"waited for {LONGEST_WAIT:g} seconds for something that is no call; is it a lock or a queue?"
        )


def _stop(run: _Confined, frame: FrameType | None, what: str) -> None:
    line = run.line(frame)
    run.refuse(f"{f'{line.short}: ' if line is not None else ''}{run.who} {what}")


class _Timer(NamedTuple):
    """A limit that the system watches."""

    timer: int
    signal: int
    handler: Callable[[int, FrameType | None], None]
    seconds: Callable[[], float]


_TIMERS: Final = (
    [
        _Timer(signal.ITIMER_VIRTUAL, signal.SIGVTALRM, _stop_computing, lambda: LONGEST),
        _Timer(signal.ITIMER_REAL, signal.SIGALRM, _stop_waiting, lambda: LONGEST_WAIT),
    ]
    if hasattr(signal, "setitimer")
    else []
)
# The functions of the module turn numbers into enumerations and back, which takes 20 µs for each run.
_set_handler: Final = inspect.unwrap(signal.signal)
_handler_of: Final = inspect.unwrap(signal.getsignal)
_HANDLERS: Final = (signal.SIG_DFL, _stop_computing, _stop_waiting)


def _is_free(number: int) -> bool:
    """Reports whether a signal reaches this thread, and nobody else uses it."""
    return threading.current_thread() is threading.main_thread() and _handler_of(number) in _HANDLERS
