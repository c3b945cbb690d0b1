"""One run of a reconcile, driven response by response.

A run starts the user's coroutine on an event loop of its own and stops when it waits for API calls. The driver responds
to one of them at a time, in any order. Nothing is shared between runs: the controller gets its declared memory before
the run and its initial memory back afterwards.
"""

from __future__ import annotations

import asyncio
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import orjson

from kontend.cluster.startup.seed import MisspelledKind
from kontend.cluster.times import rfc3339, seconds
from kontend.explore.program.driven import DrivenRun, Start
from kontend.explore.program.durations import OtherDurations
from kontend.explore.program.event_loop import ReconcileLoop, Unsupported, user_line
from kontend.explore.program.memory import read_memory, restore_memory
from kontend.explore.program.misuse import misuse_of
from kontend.explore.program.outside import confined
from kontend.explore.program.progress import Done, Failure, Progress
from kontend.explore.program.user_code import OURS, UserCode
from kontend.kube.errors import ApiError, from_status
from kontend.kube.meta.names import BadName
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import AnswerLost, Call, check_namespace
from kontend.runtime.controller import BadController, Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import UNKNOWN, SourceLocation, defined_at, raised_at
from kontend.runtime.unawaited import close_pending, collect_unawaited

#: Exceptions that are mistakes in the code, not a way to ask for a retry.
_BUGS: Final = (
    TypeError,
    AttributeError,
    NameError,
    LookupError,
    ArithmeticError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    UnicodeError,
)
#: The address of an object, as error messages show it.
_ADDRESSES: Final = re.compile(r" at 0x[0-9a-fA-F]+")


class _Pending(NamedTuple):
    """A call that waits for its response."""

    call: Call
    future: asyncio.Future[Any]
    line: SourceLocation


class _Backend:
    """The backend of one run: it only notes calls."""

    def __init__(self, run: PythonRun) -> None:
        self._run = run

    async def call(self, call: Call) -> Any:
        if call.verb == "get":
            check_namespace(call, namespaced=self._run.namespaced(call.kind))
        future = self._run.loop.create_future()
        self._run.pending.append(_Pending(call, future, user_line(sys._getframe(1))))
        return await future

    def is_namespaced(self, kind: str) -> bool:
        return self._run.namespaced(kind)

    def now(self) -> str:
        self._run.asks_time = True
        slept = int(self._run.loop.time())
        return rfc3339(seconds(self._run.start.now) + slept) if slept else self._run.start.now

    def uuid(self) -> str:
        return self._run.next_uuid()


class PythonRun(DrivenRun):
    """A reconcile in Python that is under way."""

    def __init__(
        self,
        controller: Controller,
        guards: Guards,
        namespaced: Callable[[str], bool],
        start: Start,
        *,
        mirrors: bool = False,
        code: UserCode | None = None,
        durations: OtherDurations | None = None,
        renamed: Callable[[str], str] = str,
    ) -> None:
        """Start it; ``mirrors`` says that its code sees all tokens renamed. The driver sees the ordinary ones.

        ``durations`` are what its code sees instead of those of this machine, ``renamed`` makes something else of the
        real uuids that it generates.
        """
        super().__init__(controller.name, start, mirrors=mirrors, renamed=renamed)
        self.namespaced = namespaced
        self.loop = ReconcileLoop()  # type: ignore[abstract]
        self.pending: list[_Pending] = []
        self._durations = durations
        #: The number of times that it has asked for one.
        self._asked = [0]
        #: The code has asked for the time.
        self.asks_time = False
        self._controller = controller
        self._code = code or UserCode(controller)
        self._initial_memory = read_memory(controller)
        restore_memory(controller, start.memory)
        # The task keeps the context in which it is made, so everything it leaves unawaited is reported to this list.
        with collect_unawaited() as self._unawaited:
            api = Api(_Backend(self), manager=controller.name, guards=guards)
            self._task = self.loop.create_task(controller.reconcile(Request(*start.request), api))
            try:
                self._drain()
            except BaseException:
                self.close()
                raise

    def _answer(self, at: int, kind: bytes, body: bytes) -> None:
        pending = self.pending.pop(at)
        document = orjson.loads(body)
        if kind == b"!":
            pending.future.set_exception(from_status(document))
        elif kind == b"?":
            pending.future.set_exception(AnswerLost(f"{pending.call}: {document}"))
        else:
            pending.future.set_result(document)
        self._drain()

    def _progress(self) -> Progress:
        if self._unawaited and not (self._task.done() and not self._task.cancelled() and self._task.exception()):
            raise BadController(f"{type(self._controller).__name__}.reconcile: {self._unawaited[0]}")
        if self.pending:
            calls = tuple(pending.call for pending in self.pending)
            lines = tuple(pending.line for pending in self.pending)
            return Progress(calls, None, self.uuids, lines, self.asks_time)
        if not self._task.done():
            line = _waiting_line(self._task)
            where = f"{line.short}: " if line != UNKNOWN else ""
            raise Unsupported(
                f"{where}{self._controller.name}: the reconcile waits for something that never happens; it may only "
                "await calls of its api, asyncio.sleep, wait_for, timeout, gather and TaskGroup"
            )
        if self._task.cancelled():
            raise Unsupported(f"{self._controller.name}: asyncio.CancelledError left the reconcile; catch it")
        error = self._task.exception()
        if error is not None:
            # No order of steps makes these right, so they are mistakes of the user and not violations.
            forgotten = [*self._unawaited, *close_pending(error)] if isinstance(error, TypeError) else []
            accepted = forgotten[0] if forgotten else misuse_of(error)
            if accepted or isinstance(error, BadName | BadController | MisspelledKind):
                at = raised_at(error)
                raise BadController(f"{'' if at is None else f'{at}: '}{error}{accepted and f'; {accepted}'}")
            done = Done(True, _failure(error), read_memory(self._controller), slept=self._slept())
            return Progress((), done, self.uuids, (), self.asks_time)
        value = self._task.result()
        if value is not None and not isinstance(value, Result):
            line = defined_at(type(self._controller))
            where = f"{line}: " if line is not None else ""
            raise BadController(
                f"{where}{type(self._controller).__name__}.reconcile returned {value!r}; expected None or a Result, "
                "such as Result(requeue_after=5)"
            )
        result = value or Result()
        again = result.requeue or result.requeue_after is not None
        after = 0.0 if result.requeue else result.requeue_after or 0.0
        done = Done(again, None, read_memory(self._controller), after, self._slept())
        return Progress((), done, self.uuids, (), self.asks_time)

    def close(self) -> None:
        """End the run; the controller is as it was before."""
        with collect_unawaited():  # coroutines that the run would have awaited later
            self.loop.abandon()
            if self._task.done() and not self._task.cancelled():
                error = self._task.exception()
                if error is not None:
                    # Coroutines in its frames that were never awaited end here, not in a later garbage collection.
                    traceback.clear_frames(error.__traceback__)
        restore_memory(self._controller, self._initial_memory)

    def _drain(self) -> None:
        try:
            other = nullcontext() if self._durations is None else self._durations.in_place(self._asked)
            with confined(self.loop, self._code, f"{self._controller.name}: the reconcile"), other:
                self.loop.drain(waiting=self._is_waiting)
        except SystemExit as error:
            line = raised_at(error)
            where = f"{line.short}: " if line is not None else ""
            raise Unsupported(f"{where}{self._controller.name}: the reconcile raised SystemExit") from None

    def _slept(self) -> int:
        return int(self.loop.time()) if self.asks_time else 0

    def _is_waiting(self) -> bool:
        self.pending = [pending for pending in self.pending if not pending.future.done()]
        return bool(self.pending)


def _failure(error: BaseException) -> Failure:
    name, message = type(error).__name__, _ADDRESSES.sub("", str(error))
    is_bug = isinstance(error, _BUGS) and not isinstance(error, ApiError)
    line = raised_at(error) or UNKNOWN
    if not is_bug:
        return Failure(name, message, line=line)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(OURS) and not frame.filename.startswith("<")
    ]
    return Failure(name, message, True, line, "".join(traceback.format_list(frames)).rstrip())


def _waiting_line(task: asyncio.Task[Any]) -> SourceLocation:
    """The innermost line of user code at which a task is suspended."""
    line = UNKNOWN
    coroutine: Any = task.get_coro()
    while getattr(coroutine, "cr_frame", None) is not None:
        frame = coroutine.cr_frame
        location = user_line(frame)
        if location.file == frame.f_code.co_filename:
            line = location
        coroutine = coroutine.cr_await
    return line
