"""One instance of a controller in virtual time: its cache, its queue and its workers."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.state import Change
from kontend.cluster.storage import read_back
from kontend.explore.problems import BadScenario
from kontend.explore.timed.clock import VirtualLoop
from kontend.explore.timed.timing import Timing
from kontend.kube.errors import ApiError, InternalError
from kontend.runtime.cache.views import Cache, View
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import CURRENT, AnswerLost, Call
from kontend.runtime.client.in_process import InProcess
from kontend.runtime.controller import Controller, Request, Result, requests_for
from kontend.runtime.guards import Guards, OwnWrites
from kontend.runtime.manager.queue import Queue
from kontend.runtime.predicates import Event
from kontend.runtime.source_location import raised_at

#: The effect of a write that changed nothing on the server.
NO_CHANGE: Final = "no change"
#: Faults of a call.
FAILED: Final = "failed"
LOST: Final = "lost"
#: The end of a reconcile whose instance crashed.
_CRASHED: Final = "the instance crashes"
Hook = Callable[[], None]


@dataclass(slots=True)
class Reconcile:
    """A reconcile, from its start to its end."""

    instance: str
    request: Request
    begin: float
    #: The writes: the time, the call, and what came of it (a version, ``no change``, or an error).
    writes: list[tuple[float, str, str]] = field(default_factory=list)
    end: float = -1.0
    error: str = ""

    @property
    def signature(self) -> tuple[object, ...]:
        """The reconcile without times and versions, to recognise that it repeats."""
        writes = tuple((text, "written" if outcome.isdigit() else outcome) for _, text, outcome in self.writes)
        return self.instance, self.request, writes, self.error

    @property
    def commits(self) -> int:
        """The number of writes that changed something."""
        return sum(outcome.isdigit() for _, _, outcome in self.writes)


class _Backend:
    """Carries out the calls of one reconcile, each in its time."""

    def __init__(self, instance: Instance, reconcile: Reconcile) -> None:
        self._instance = instance
        self._reconcile = reconcile
        self._life = instance.life

    async def call(self, call: Call) -> Any:
        instance = self._instance
        await self._alive()
        if call.cached and not call.subresource:
            await instance.seen(call)
            await self._alive()
            return instance.cache.answer(call)
        latency = instance.timing.call.draw(instance.latencies)
        await asyncio.sleep(latency / 2)
        await self._alive()
        instance.tick()
        before = instance.cluster.state.resource_version
        outcome = NO_CHANGE
        fault = instance.fault_of(call)
        try:
            if fault == FAILED:
                raise InternalError("the server failed, and has not carried out the request")
            response = await instance.server.call(call)
            if instance.cluster.state.resource_version > before:
                outcome = str(instance.cluster.state.resource_version)
        except ApiError as error:
            outcome = f"{error.http_code} {error.status_reason}"
            raise
        finally:
            if call.writes:
                self._reconcile.writes.append((instance.loop.time(), str(call), outcome))
            instance.committed()
            await asyncio.sleep(latency / 2)
            await self._alive()
        if fault == LOST:
            raise AnswerLost(f"{call}: the connection was closed before the response")
        return response

    async def _alive(self) -> None:
        """Return, unless the instance has crashed since: then nothing of the reconcile runs any more."""
        if self._life != self._instance.life:
            await self._instance.loop.create_future()

    def is_namespaced(self, kind: str) -> bool:
        return self._instance.server.is_namespaced(kind)

    def now(self) -> str:
        return self._instance.server.now()

    def uuid(self) -> str:
        return str(UUID(int=self._instance.uuids.getrandbits(128), version=4))


class Instance:
    """A controller with its cache and its queue, on the clock of a run."""

    def __init__(
        self,
        name: str,
        controller: Controller,
        cluster: Cluster,
        loop: VirtualLoop,
        timing: Timing,
        guards: Guards,
        seed: str,
        tick: Hook,
        committed: Hook,
    ) -> None:
        """``tick`` is called before, ``committed`` after each call to the server."""
        self.name = name
        self._original = controller
        self.controller = copy.deepcopy(controller)
        self.cluster = cluster
        self.loop = loop
        self.timing = timing
        self.tick = tick
        self.committed = committed
        self.server = InProcess(cluster, agent=controller.name)
        self.latencies, self.uuids, self._lags, self._starts, self.faults = (
            random.Random(f"{seed} {name} {purpose}") for purpose in ("calls", "uuids", "lags", "starts", "faults")
        )
        self.reconciles: list[Reconcile] = []
        self._guards = guards
        #: The number of crashes, and True while it has not started again.
        self.life = 0
        self.is_down = False
        self._clear()
        for kind in controller.kinds:
            self._list(kind)

    def _clear(self) -> None:
        """Set everything that does not outlive the process."""
        self.queue = Queue(self.loop.time)
        self.queue.on_change = self._wake
        self.cache = Cache(monotonic=self._guards.monotonic_views)
        self.active = 0
        #: Requests whose last reconcile failed or asked to run again, with the number of times in a row.
        self.failing: dict[Request, int] = {}
        #: Events that were written and not delivered.
        self.undelivered = 0
        self._writes = OwnWrites(followed=self.cache.views)
        self._due: dict[str, float] = {}
        self._waiting: list[tuple[str, int, asyncio.Future[None]]] = []
        self._alarm = float("inf")

    # Faults

    def fault_of(self, call: Call) -> str:
        """The fault that a call meets, if any."""
        timing = self.timing
        if not (timing.failed or timing.lost) or not timing.is_faulty(self.loop.time()):
            return ""
        drawn = self.faults.random()
        if drawn < timing.failed:
            return FAILED
        return LOST if call.writes and drawn < timing.failed + timing.lost else ""

    def crash(self, restarted: Hook) -> None:
        """Stop between two calls, with nothing left, and start again later; ``restarted`` is called then."""
        for reconcile in self.reconciles:
            if reconcile.end < 0:
                reconcile.end, reconcile.error = self.loop.time(), _CRASHED
        self.life += 1
        self.is_down = True
        self._clear()
        self.controller = copy.deepcopy(self._original)
        self.loop.call_later(self.timing.restart.draw(self.faults), self._restart, restarted)

    def _restart(self, restarted: Hook) -> None:
        self.is_down = False
        restarted()
        for kind in self.controller.kinds:
            self._list(kind)

    # Events

    def announce(self, changes: list[Change]) -> None:
        """Schedule the delivery of changes to the views that there are."""
        for change in changes:
            for kind, view in self.cache.views.items():
                resource = resource_of(self.cluster.state.registry, kind)
                if resource.key != change.resource:
                    continue
                # Events of one kind come in their order, as those of a watch do.
                due = self.timing.delivered(self.loop.time() + self.timing.lag.draw(self._lags))
                due = self._due[kind] = max(due, self._due.get(kind, 0.0))
                self.undelivered += 1
                self.loop.call_at(due, self._deliver, view, change, self.life)

    def _deliver(self, view: View, change: Change, life: int) -> None:
        if life != self.life:
            return
        self.undelivered -= 1
        resource = resource_of(self.cluster.state.registry, view.kind)
        version = change.new if change.new is not None else change.old
        if version is None:
            return
        obj = read_back(resource, version)
        obj["metadata"]["resourceVersion"] = str(change.resource_version)
        event = view.apply(change.type, obj)
        view.version = max(view.version, change.resource_version)
        self._writes.forget_before(view.kind, view.version)
        if event is not None:
            if event.new is None and event.old is not None:
                self._writes.forget_delete(event.old["metadata"].get("uid", ""))
            self._enqueue(event)
        for kind, version_wanted, future in self._waiting:
            if kind == view.kind and view.version >= version_wanted and not future.done():
                future.set_result(None)

    async def seen(self, call: Call) -> None:
        """Wait until the view has what a cached read needs."""
        if call.kind not in self.cache.views:
            self._list(call.kind)
        needed = call.at_least if call.at_least != CURRENT else self._current(call.kind)
        if self.cache.view(call.kind).version < needed:
            future: asyncio.Future[None] = self.loop.create_future()
            self._waiting.append((call.kind, needed, future))
            await future
            self._waiting = [waiter for waiter in self._waiting if not waiter[2].done()]

    def _current(self, kind: str) -> int:
        """The version of the last change of a kind that the view has not seen; 0 for none."""
        state = self.cluster.state
        resource = resource_of(state.registry, kind).key
        changes = state.changes_since(self.cache.view(kind).version)
        return max((change.resource_version for change in changes if change.resource == resource), default=0)

    def _list(self, kind: str) -> None:
        state = self.cluster.state
        resource = resource_of(state.registry, kind)
        view = self.cache.view(kind, plural=resource.plural)
        for name, indexer in self.controller.indexes.get(kind, {}).items():
            view.add_index(name, indexer)
        items = []
        for version in state.objects(resource.key).values():
            obj = read_back(resource, version)
            obj["metadata"]["resourceVersion"] = str(version.resource_version)
            items.append(obj)
        items.sort(key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))
        for event in view.replace(items, state.resource_version):
            self._enqueue(event)

    def _enqueue(self, event: Event) -> None:
        if event.kind not in self.controller.kinds:
            return
        namespaced = self.server.is_namespaced(self.controller.kind)
        try:
            requests = requests_for(self.controller, event, self.cache, namespaced=namespaced)
        except Exception as error:
            message = f"{self.name}: a predicate or a mapping function raised {type(error).__name__}: {error}"
            raise BadScenario(message, raised_at(error)) from error
        for request in requests:
            self.queue.add(request)

    # Work

    def _wake(self) -> None:
        self.loop.call_soon(self._work)

    def _work(self) -> None:
        """Start reconciles for as many requests as there are workers, and set an alarm for the next timer."""
        while self.active < self.controller.max_concurrent and (request := self.queue.take()) is not None:
            self.active += 1
            self.loop.create_task(self._run(request))
        due = self.queue.next_due()
        # Without a free worker the end of a reconcile looks again.
        if due is not None and due < self._alarm and self.active < self.controller.max_concurrent:
            self._alarm = due
            self.loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm = float("inf")
        self._work()

    async def _run(self, request: Request) -> None:
        life = self.life
        await asyncio.sleep(self.timing.start.draw(self._starts))
        if life != self.life:
            return
        reconcile = Reconcile(self.name, request, self.loop.time())
        self.reconciles.append(reconcile)
        backend = _Backend(self, reconcile)
        api = Api(backend, manager=self.controller.name, guards=self._guards, writes=self._writes)
        result: Result | None = None
        try:
            result = await self.controller.reconcile(request, api)
        except Exception as error:
            if life == self.life:
                reconcile.error = f"{type(error).__name__}: {error}"
        if life != self.life:
            return
        reconcile.end = self.loop.time()
        self.active -= 1
        self.queue.done(request)
        if reconcile.error or (result is not None and result.requeue):
            failures = self.failing.get(request, 0)
            self.failing[request] = failures + 1
            self.queue.add_after(request, self.timing.backoff(failures))
        else:
            self.failing.pop(request, None)
            if result is not None and result.requeue_after is not None:
                self.queue.add_after(request, result.requeue_after)
        self._work()

    @property
    def is_idle(self) -> bool:
        """Nothing is under way, ready or set to come."""
        if self.is_down:
            return False
        return not (self.active or self.undelivered or len(self.queue) or self.queue.next_due() is not None)
