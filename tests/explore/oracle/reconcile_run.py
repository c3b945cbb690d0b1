"""Runs a reconcile from its start with the answers it was given, up to the calls that wait for one.

A coroutine cannot be copied, so each run begins anew. Code may use asyncio: the event loop has a virtual clock. A call
of the api takes no time, so a timer fires only when the reconcile waits for no call.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from explore.oracle.model import InFlight
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards, OwnWrites


class _NoSelector:
    """Waits for nothing."""

    def select(self, timeout: float | None) -> list[Any]:
        del timeout
        return []

    def close(self) -> None:
        pass


class _VirtualLoop(asyncio.BaseEventLoop):
    """An event loop without files, threads or a clock."""

    _selector = _NoSelector()
    _ready: Any
    _scheduled: Any

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.set_exception_handler(lambda *_: None)

    def time(self) -> float:
        return self.now

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def run_until_blocked(self, waits: Callable[[], bool]) -> None:
        """Run what is ready; when nothing is and nobody ``waits`` for an answer, move the clock to the next timer."""
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            while True:
                while self._ready:
                    self._run_once()  # type: ignore[attr-defined]
                if waits() or not self._scheduled:
                    return
                self.now = max(self.now, self._scheduled[0].when())
                self._run_once()  # type: ignore[attr-defined]
        finally:
            asyncio._set_running_loop(outer)


@dataclass(frozen=True, slots=True)
class Outside:
    """All that a reconcile may ask besides calls and the time, answered by the cluster as it is now."""

    fresh_uuid: Callable[[], str]
    is_namespaced: Callable[[str], bool]


class _Backend:
    """Collects the calls of a run."""

    def __init__(self, loop: _VirtualLoop, in_flight: InFlight, outside: Outside) -> None:
        self._loop = loop
        self._recorded = in_flight.local
        self._now = in_flight.now
        self.asked = False
        self._outside = outside
        self.local: list[Any] = []
        self.waiting: dict[int, tuple[Call, asyncio.Future[Any]]] = {}
        self._made = 0

    async def call(self, call: Call) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        number, self._made = self._made, self._made + 1
        self.waiting[number] = (call, future)
        try:
            return await future
        finally:
            self.waiting.pop(number, None)

    def is_namespaced(self, kind: str) -> bool:
        found = self._ask(lambda: self._outside.is_namespaced(kind))
        if isinstance(found, Exception):
            raise found
        return bool(found)

    def now(self) -> str:
        self.asked = True
        return self._now

    def uuid(self) -> str:
        return str(self._ask(self._outside.fresh_uuid))

    def _ask(self, question: Callable[[], Any]) -> Any:
        if len(self.local) < len(self._recorded):
            answer = self._recorded[len(self.local)]
        else:
            try:
                answer = question()
            except Exception as error:
                answer = error
        self.local.append(answer)
        return answer


@dataclass(frozen=True, slots=True)
class Ran:
    """The progress of a run: the calls it waits for, or its end."""

    calls: tuple[tuple[int, Call], ...]
    local: tuple[Any, ...]
    asked: bool
    result: Result | None = None
    error: BaseException | None = None
    memory: bytes = b""
    writes: OwnWrites | None = None

    @property
    def ended(self) -> bool:
        return not self.calls


class _OwnWrites(OwnWrites):
    """Own writes of which none is unknown: the guard waits for those whose answers were lost as for others."""

    def record_lost(self, kind: str) -> None:
        """Do nothing: the write was recorded, if there was one."""


def _record(api: Api, call: Call, response: dict[str, Any]) -> None:
    if call.verb == "delete":
        api._record_delete(call.kind, response)
    elif call.verb != "deletecollection" and not (call.verb == "create" and call.subresource):
        api._record_write(call.kind, response)


def run(controller: Controller, guards: Guards, in_flight: InFlight, outside: Outside) -> Ran:
    """Run a reconcile with the answers so far."""
    own = copy.copy(controller)
    for name, value in orjson.loads(in_flight.memory).items():
        setattr(own, name, value)
    followed = set(in_flight.followed)
    writes = _OwnWrites(dict(in_flight.versions), dict.fromkeys(in_flight.deleted), followed=followed)
    loop = _VirtualLoop()
    backend = _Backend(loop, in_flight, outside)
    api = Api(backend, manager=controller.name, guards=guards, writes=writes)
    task = loop.create_task(own.reconcile(Request(*in_flight.request), api))
    task.add_done_callback(lambda _: None)
    waits = lambda: bool(backend.waiting)  # noqa: E731
    try:
        loop.run_until_blocked(waits)
        for answer in in_flight.answers:
            call, future = backend.waiting[answer.number]
            if call.cached and not call.subresource:
                followed.add(call.kind)
            if answer.error is not None and answer.body:  # carried out, and the answer was lost
                _record(api, call, orjson.loads(answer.body))
            if answer.error is not None:
                future.set_exception(copy.copy(answer.error))
            else:
                future.set_result(orjson.loads(answer.body))
            loop.run_until_blocked(waits)
        if not task.done():
            if not backend.waiting:
                raise RuntimeError("the reconcile waits for something that never comes")
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            calls = tuple((number, call) for number, (call, _) in sorted(backend.waiting.items()))
            return Ran(calls, tuple(backend.local), backend.asked)
        error = task.exception()
        result = None if error is not None else task.result()
        if result is not None and not isinstance(result, Result):
            error = TypeError(f"expected a Result or None, found {result!r}")
        memory = remembered(own)
        return Ran((), tuple(backend.local), backend.asked, result, error, memory, writes)
    finally:
        loop.close()


def remembered(controller: Controller) -> bytes:
    """The declared memory of a controller, as JSON."""
    return orjson.dumps({name: getattr(controller, name) for name in controller.memory}, option=orjson.OPT_SORT_KEYS)
