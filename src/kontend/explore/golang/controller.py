"""Controllers of a Go manager, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from kontend.cluster.times import rfc3339, seconds
from kontend.explore.golang.process import NO_MEMORY, GoEnded, GoProcess, location_of
from kontend.explore.golang.requests import Kinds, answer_of, call_of
from kontend.explore.problems import BadScenario
from kontend.explore.program.driven import DrivenRun, Start
from kontend.explore.program.external import EXTERNAL, NOT_SENT, External, ExternalAnswer
from kontend.explore.program.foreign import CodeFault, ForeignController
from kontend.explore.program.progress import Done, Enqueued, Failure, Progress
from kontend.explore.program.symbols import mirrored
from kontend.kube.errors import ApiError, from_status
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.call import Call, kind_of_view
from kontend.runtime.controller import Request
from kontend.runtime.predicates import Event, Predicate
from kontend.runtime.source_location import SourceLocation

#: The name under which it is reported that the order of a map reaches the API server.
MAP_ORDER: Final = "map order"


#: The seconds between the two times at which the runs of a pair see the clock: more than any deadline has, and another
#: month, weekday, hour and minute.
_LATER: Final = 10 * 365 * 86_400 + 5 * 30 * 86_400 + 13 * 3_600 + 37 * 60 + 11


class _InGo(Predicate):
    """Stands for predicates and mapping functions that Go code has."""

    def __call__(self, *_: Any) -> Any:
        raise NotImplementedError


_decided_in_go: Final = _InGo()


class GoController(ForeignController):
    """One controller of a Go manager."""

    suspects = (
        "it was run again with maps in another order, or after other runs: the order of a map (sort the keys), or "
        "something that is kept from one reconcile to the next: a field of the reconciler, a variable of a package, a "
        "sync.Map (declare it with kontend.Memory in the function given to kontend.Explore)"
    )
    declaring_memory = "kontend.Memory"

    def __init__(
        self, process: GoProcess, info: Mapping[str, Any], kinds: Kinds, fakes: Mapping[str, External] | None = None
    ) -> None:
        """``fakes`` are those in Python of things outside of the cluster."""
        self._process = process
        self._fakes = dict(fakes or {})
        self._kinds = kinds
        self.name = info["name"]  # type: ignore[misc]
        others = info.get("kinds") or []
        self._views = list(dict.fromkeys([info["kind"], *others]))
        self.kind = kind_of_view(info["kind"])  # type: ignore[misc]
        mapped = [kind_of_view(view) for view in info.get("mapped") or ()]
        handled = [kind for view in others if (kind := kind_of_view(view)) != self.kind]
        self.owns = list(dict.fromkeys(kind for kind in handled if kind not in mapped))  # type: ignore[misc]
        self.watches = dict.fromkeys(mapped, _decided_in_go)  # type: ignore[misc]
        #: The declared events that it gets.
        self.events: Sequence[str] = info.get("events") or ()
        if self.events:
            self.watches[EXTERNAL] = _decided_in_go
            self._views.append(EXTERNAL)
        # Any event may be left out by a predicate.
        self.predicates = dict.fromkeys([self.kind, *handled], _decided_in_go)  # type: ignore[misc]
        self.max_concurrent = info["concurrent"]  # type: ignore[misc]
        #: Renamed runs iterate maps in the order of the others, too: what differs is known.
        self._has_one_order = False
        self._findings: list[CodeFault] = []

    @property
    def views(self) -> Sequence[str]:
        """The views whose events trigger it: a representation of a kind that is watched beside another has its own."""
        return self._views

    @property
    def initial_memory(self) -> bytes:
        """The declared memory of a process that has just started."""
        return self._process.memory

    @property
    def externals(self) -> Mapping[str, Any]:
        """The things outside of the cluster that Go code declares with ``kontend.External``."""
        fakes = {name: fake.state for name, fake in self._fakes.items()}
        return {**self._process.externals, **fakes, **dict.fromkeys(self.events, NOT_SENT)}

    def called(self, name: str, state: Any, call: Any) -> ExternalAnswer:
        """The result of a call of something outside: of its fake in Python, or of the one given in Go."""
        if name in self._fakes:
            return self._fakes[name].called(call, state)
        reply = self._process.ask({"op": "external", "name": name, "state": state, "body": call})
        given = reply["external"]
        return ExternalAnswer(given.pop("state"), given)

    @property
    def findings(self) -> Sequence[CodeFault]:
        """The places at which the order of a map reaches the API server."""
        return self._findings

    def unifies(self, described: str, line: SourceLocation, compared: Callable[[], str]) -> bool:
        """Iterate maps in one order from now on, if that is what has differed."""
        if self._has_one_order:
            return False
        self._has_one_order = True
        if compared():
            self._has_one_order = False
            return False
        sentence = f"the order of a map, or a number of math/rand, reaches the API server: {described}"
        self._findings.append(CodeFault(MAP_ORDER, sentence, line))
        return True

    def started(self, start: Start, *, mirrors: bool, clockless: bool) -> DrivenRun:
        """Start a reconcile in the Go process."""
        order = int(mirrors and not self._has_one_order)
        return GoRun(self, self._process, self._kinds, start, mirrors=mirrors, order=order, clockless=clockless)

    def enqueued(self, event: Event, cache: Cache) -> list[Request]:
        """Let the predicates, handlers and mapping functions decide what an event enqueues."""
        process, kind = self._process, kind_of_view(event.kind)
        id, generation = process.next_id()
        message = {"op": "event", "id": id, "controller": self.name, "kind": event.kind}
        reply = process.ask({**message, "old": event.old, "new": event.new})
        try:
            while "done" not in reply:
                call = reply["calls"][0]
                if kind not in self.watches or call["type"] != "cached":
                    what = call_of(call, self._kinds) if call["type"] != "uuid" else "a random number"
                    raise BadScenario(
                        f"{self.name}: a predicate or a mapping function of {kind} asks for {what}, which cannot be "
                        "explored: only mapping functions may read, and only the cache",
                        location_of(call),
                    )
                reply = process.ask({"op": "answer", "id": id, "n": call["n"], **self._from(cache, call)})
        except BaseException:
            process.forget(id, generation)
            raise
        enqueued = _enqueued(reply)
        for other, request in enqueued:
            if other != self.name:
                raise BadScenario(
                    f"{self.name}: a handler of events of {kind} adds {request} to the queue of {other}, which "
                    "cannot be explored: watch the kind in that controller"
                )
        return [Request(*request) for _, request in enqueued]

    def _from(self, cache: Cache, written: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a cache to a read."""
        try:
            return {"code": 200, "body": cache.answer(_among(cache, call_of(written, self._kinds)))}
        except ApiError as error:
            return {"code": error.status()["code"], "body": error.status()}


class GoRun(DrivenRun):
    """A Go reconcile that is under way."""

    def __init__(
        self,
        controller: GoController,
        process: GoProcess,
        kinds: Kinds,
        start: Start,
        *,
        mirrors: bool,
        order: int,
        clockless: bool,
    ) -> None:
        super().__init__(controller.name, start, mirrors=mirrors)
        self._asks_time = not clockless
        self._process = process
        self._kinds = kinds
        self._id, self._generation = process.next_id()
        self._reply: dict[str, Any] = {}
        self._ask(
            {
                "op": "start",
                "controller": controller.name,
                "namespace": start.request.namespace,
                "name": start.request.name,
                "now": rfc3339(seconds(start.now) + _LATER) if mirrors and clockless else start.now,
                "order": order,
                "memory": None if start.memory == NO_MEMORY else orjson.Fragment(self._seen(start.memory)),
            }
        )

    def _answer(self, at: int, kind: bytes, body: bytes) -> None:
        if not self._process.has(self._generation):
            raise GoEnded(f"{self._name}: the process of the run has ended")
        written = self._reply["calls"][at]
        answer = answer_of(call_of(written, self._kinds), kind, body)
        self._ask({"op": "answer", "n": written["n"], **answer})

    def _seen(self, data: bytes) -> bytes:
        """Data as the code of this run sees it."""
        return mirrored(data) if self._mirrors else data

    def _ask(self, message: Mapping[str, Any]) -> None:
        """Go on with the run, and give it the uuids that it asks for."""
        self._reply = self._process.ask({**message, "id": self._id})
        while (uuid := self._waits_for_uuid()) is not None:
            before = self._reply.get("added") or []
            answer = {"op": "answer", "id": self._id, "n": uuid["n"], "code": 200, "body": self.next_uuid()}
            self._reply = self._process.ask(answer)
            self._reply["added"] = before + (self._reply.get("added") or [])

    def _waits_for_uuid(self) -> dict[str, Any] | None:
        return next((call for call in self._reply.get("calls") or () if call["type"] == "uuid"), None)

    def _progress(self) -> Progress:
        done, enqueued = self._reply.get("done"), _enqueued(self._reply)
        if done is not None:
            written = done.get("memory")
            memory = self.start.memory if written is None else orjson.dumps(written, option=orjson.OPT_SORT_KEYS)
            ended = Done(bool(done.get("again")), _failure(done), memory, float(done.get("after") or 0))
            return Progress((), ended, self.uuids, (), self._asks_time, enqueued)
        written = self._reply["calls"]
        calls = tuple(call_of(call, self._kinds) for call in written)
        return Progress(calls, None, self.uuids, tuple(map(location_of, written)), self._asks_time, enqueued)

    def close(self) -> None:
        """End the run."""
        if self._reply.get("calls"):
            self._reply = {}
            self._process.forget(self._id, self._generation)


def _among(cache: Cache, call: Call) -> Call:
    """A read as a cache answers it that keeps its views by their names.

    A representation that nothing has read yet is listed when a mapping function reads it. The view of another one then
    stands for that list: it may be older.
    """
    return replace(call, kind=call.view if call.view in cache.views else call.kind, form="")


def _enqueued(reply: Mapping[str, Any]) -> tuple[Enqueued, ...]:
    """The requests that a run has added to queues since its reply before."""
    added = reply.get("added") or ()
    return tuple(Enqueued(one["controller"], Key(one["namespace"], one["name"])) for one in added)


def _failure(done: Mapping[str, Any]) -> Failure | None:
    panic = done.get("panic")
    if panic is not None:
        stack = panic["stack"].rstrip()
        return Failure("panic", panic["text"], True, location_of(panic), stack)
    if not done.get("error"):
        return None
    status = done.get("status")
    return Failure(type(from_status(status)).__name__ if status else "error", done["error"])
