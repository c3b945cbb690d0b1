"""A deterministic asyncio event loop for one run of a reconcile.

A reconcile may use ``asyncio.sleep``, ``wait_for``, ``timeout``, ``gather`` and ``TaskGroup``. Callbacks run in the
order in which they were scheduled. Time is virtual: it advances to the next timer only when no API call is pending, so
a timeout never fires while the server could still respond. Everything that would leave the process, such as threads,
sockets and subprocesses, is refused with the line that asked for it.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from types import FrameType
from typing import Any, Final, TypeVar

from kontend.explore.program.user_code import OURS
from kontend.runtime.source_location import UNKNOWN, SourceLocation

_T = TypeVar("_T")
_REFUSED: Final = (
    "run_in_executor",
    "call_soon_threadsafe",
    "create_connection",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "create_datagram_endpoint",
    "connect_read_pipe",
    "connect_write_pipe",
    "subprocess_shell",
    "subprocess_exec",
    "sendfile",
    "start_tls",
    "getaddrinfo",
    "getnameinfo",
    "add_reader",
    "add_writer",
    "sock_recv",
    "sock_sendall",
    "sock_connect",
    "sock_accept",
    "add_signal_handler",
    "run_until_complete",
    "run_forever",
)
#: A reconcile that runs more callbacks than these between two API calls does not come to an end.
_MOST_CALLBACKS: Final = 100_000
#: The number of times that a coroutine may await something else while it is being closed.
_CLOSING_ATTEMPTS: Final = 20


class Unsupported(BaseException):
    """A reconcile used something that cannot be explored. Not an ``Exception``, so that user code does not catch it."""


class Interrupted(Unsupported):
    """Somebody ended a reconcile by hand: it is not made again to find out why it stopped."""


class ReconcileLoop(asyncio.AbstractEventLoop):
    """Runs the tasks of one reconcile until all of them wait for API calls."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._time = 0.0
        self._tasks: list[asyncio.Task[Any]] = []
        #: The first use of something that cannot be explored.
        self.unsupported: Unsupported | None = None

    # The part of the interface that asyncio itself needs

    def get_debug(self) -> bool:
        """Debugging is off."""
        return False

    def is_running(self) -> bool:
        """The loop runs whenever user code does."""
        return True

    def is_closed(self) -> bool:
        """The loop is never closed."""
        return False

    def time(self) -> float:
        """Virtual seconds since the reconcile started."""
        return self._time

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, _T] | Generator[Any, None, _T], **options: Any) -> asyncio.Task[_T]:
        """A task of this loop; it starts after the callbacks that are ready."""
        task: asyncio.Task[_T] = asyncio.Task(coro, loop=self, **options)
        self._tasks.append(task)
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback after those that are ready."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback after some virtual seconds."""
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a virtual time."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when they come due."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Errors of tasks that are never awaited are ignored, as asyncio only logs them."""

    async def shutdown_asyncgens(self) -> None:
        """Nothing to shut down."""

    # What the explorer calls

    def drain(self, *, waiting: Callable[[], bool]) -> None:
        """Run callbacks until none is ready; then, unless an API call is pending (``waiting``), let time pass."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for _ in range(_MOST_CALLBACKS):
                if not self._ready:
                    if waiting() or not self._fire_next_timer():
                        return
                    continue
                handle = self._ready.popleft()
                if not handle._cancelled:
                    handle._run()
                if self.unsupported is not None:
                    raise self.unsupported
        finally:
            events._set_running_loop(before)
        raise Unsupported(f"a reconcile ran {_MOST_CALLBACKS:,} callbacks without an API call; does it wait in a loop?")

    def abandon(self) -> None:
        """Close all coroutines. Whatever their ``finally`` blocks do on the way has no effect."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for task in reversed(self._tasks):
                task._log_destroy_pending = False
                _close(task.get_coro())
                if task.done() and not task.cancelled():
                    task.exception()  # mark it as retrieved
        finally:
            events._set_running_loop(before)

    def _fire_next_timer(self) -> bool:
        while self._timers:
            when, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled():
                self._time = max(self._time, when)
                self._ready.append(timer)
                return True
        return False


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: ReconcileLoop, *_: Any, **__: Any) -> Any:
        line = user_line(sys._getframe(1))
        where = f"{line.short}: " if line != UNKNOWN else ""
        self.unsupported = Unsupported(
            f"{where}a reconcile used the event loop's {name}(), which cannot be explored: only calls of its api, "
            "asyncio.sleep, wait_for, timeout, gather, create_task and TaskGroup can"
        )
        raise self.unsupported

    return refuse


for _name in _REFUSED:
    setattr(ReconcileLoop, _name, _refusing(_name))


def user_line(frame: FrameType | None) -> SourceLocation:
    """The innermost line, from a frame outwards, of code that is neither ours nor asyncio's."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(OURS) and not _is_asyncio(file) and not file.startswith("<"):
            return SourceLocation(file, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN


_ASYNCIO: Final = asyncio.__file__.rpartition("/")[0] + "/"


def _is_asyncio(file: str) -> bool:
    return file.startswith(_ASYNCIO) or file.endswith(("/threading.py", "/concurrent/futures/thread.py"))


def _close(coroutine: Any) -> None:
    for _ in range(_CLOSING_ATTEMPTS):
        try:
            coroutine.close()
        except RuntimeError:  # it awaits something in a finally block; the next attempt closes it there
            continue
        except BaseException:
            return
        return
