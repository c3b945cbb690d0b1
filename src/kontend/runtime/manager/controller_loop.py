"""One controller at work: its queue, its api, and what happens after each reconcile.

An error is logged with the request and retried with backoff, never swallowed. Without one, ``Result`` says when to look
again. Both managers, the one over HTTP and the one in process, drive this.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from kontend.kube.errors import ApiError, Conflict
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.controller import BadController, Controller, Request, Result, requests_for
from kontend.runtime.manager.queue import Clock, Queue
from kontend.runtime.predicates import Event
from kontend.runtime.telemetry.logs import LOGGER, fields
from kontend.runtime.telemetry.metrics import Metrics
from kontend.runtime.unawaited import collect_unawaited


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a reconcile ended."""

    controller: str
    request: Request
    result: Result
    error: Exception | None = None

    def __str__(self) -> str:
        how = f"failed: {self.error}" if self.error is not None else "done"
        return f"{self.controller} {self.request}: {how}"


class Loop:
    """A controller with its queue."""

    def __init__(self, controller: Controller, api: Api, clock: Clock, metrics: Metrics) -> None:
        self.controller = controller
        self.api = api
        self.queue = Queue(clock)
        self.metrics = metrics
        self.logger = LOGGER.getChild(controller.name)
        metrics.refresh.append(self._measure)

    def listen(self, cache: Cache, *, namespaced: bool, strict: bool = False) -> None:
        """Queue what the events of the cache are about. A mapping function that fails is logged, or (strict) raised."""

        def hear(event: Event) -> None:
            try:
                requests = requests_for(self.controller, event, cache, namespaced=namespaced)
            except Exception:
                if strict:
                    raise
                # A mapping function of the user's: its mistake must not stop the events of everybody else.
                self.logger.exception(
                    "a predicate or a mapping function failed",
                    extra=fields(controller=self.controller.name, kind=event.kind, object=str(event.key)),
                )
                self.metrics.errors.add(controller=self.controller.name)
                return
            for request in requests:
                self.queue.add(request)

        for kind in self.controller.kinds:
            cache.on_event(kind, hear)

    async def run(self, request: Request) -> Outcome:
        """Reconcile a request that was taken from the queue."""
        name = self.controller.name
        self.metrics.active.add(1, controller=name)
        begun = time.perf_counter()
        result, failure = Result(), None
        try:
            result = await self._reconcile(request)
        except Exception as error:
            failure = error
        finally:
            self.metrics.active.add(-1, controller=name)
            self.metrics.seconds.observe(time.perf_counter() - begun, controller=name)
            self.queue.done(request)
        self._follow(request, result, failure)
        return Outcome(name, request, result, failure)

    async def _reconcile(self, request: Request) -> Result:
        """Run the user's code and check what it returns and leaves behind."""
        with collect_unawaited() as unawaited:
            try:
                result = await self.controller.reconcile(request, self.api)
            except Exception as error:
                for message in unawaited:
                    error.add_note(message)
                raise
        name = f"{type(self.controller).__name__}.reconcile"
        if unawaited:
            raise BadController(f"{name}: {unawaited[0]}")
        if result is not None and not isinstance(result, Result):
            raise BadController(f"{name}: expected a Result or None, found {result!r}")
        return result or Result()

    def _follow(self, request: Request, result: Result, failure: Exception | None) -> None:
        name = self.controller.name
        if failure is not None:
            delay = self.queue.retry(request)
            self.metrics.reconciles.add(controller=name, result="error")
            self.metrics.errors.add(controller=name)
            about = fields(
                controller=name,
                request=str(request),
                error=str(failure),
                error_type=type(failure).__name__,
                retry_in=round(delay, 3),
            )
            if isinstance(failure, Conflict):  # somebody was faster: that is the lock at work, not a fault
                self.logger.info("reconcile of %s %s met a conflict and will look again", name, request, extra=about)
            else:
                # What the server refused says all in one line; what broke in Python needs the place.
                trace = None if isinstance(failure, ApiError) else failure
                self.logger.error("reconcile of %s %s failed: %s", name, request, failure, extra=about, exc_info=trace)
        elif result.requeue_after is not None:
            self.queue.forget(request)
            self.queue.add_after(request, result.requeue_after)
            self.metrics.reconciles.add(controller=name, result="requeue_after")
        elif result.requeue:
            self.queue.retry(request)
            self.metrics.reconciles.add(controller=name, result="requeue")
        else:
            self.queue.forget(request)
            self.metrics.reconciles.add(controller=name, result="success")

    def _measure(self) -> None:
        name = self.controller.name
        self.metrics.depth.set(len(self.queue), name=name)
        self.metrics.adds.set(self.queue.adds, name=name)
        self.metrics.retries.set(self.queue.retries, name=name)
