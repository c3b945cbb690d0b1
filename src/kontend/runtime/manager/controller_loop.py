"""One controller in a manager: its queue, its api, and the follow-up of each reconcile.

An error is logged with the request and retried with backoff, never swallowed. Otherwise the ``Result`` decides when the
request runs again. Both managers, the one over HTTP and the one in process, drive this loop.
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
from kontend.runtime.unawaited import close_pending, collect_unawaited


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a reconcile: its result, or its error.

    >>> str(Outcome("widgets", Request("default", "w"), Result(), error=ValueError("no size")))
    'widgets default/w: failed: no size'
    """

    controller: str
    request: Request
    result: Result
    error: Exception | None = None

    def __str__(self) -> str:
        end = f"failed: {self.error}" if self.error is not None else "done"
        return f"{self.controller} {self.request}: {end}"


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
        """Queue the requests that events trigger. An error in a mapping function is logged, or (strict) raised."""

        def handle(event: Event) -> None:
            try:
                requests = requests_for(self.controller, event, cache, namespaced=namespaced)
            except Exception:
                if strict:
                    raise
                # An error in a user's mapping function must not stop the events of other controllers.
                self.logger.exception(
                    "a predicate or a mapping function failed",
                    extra=fields(controller=self.controller.name, kind=event.kind, object=str(event.key)),
                )
                self.metrics.errors.add(controller=self.controller.name)
                return
            for request in requests:
                self.queue.add(request)

        for kind in self.controller.kinds:
            cache.on_event(kind, handle)

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
                for message in [*unawaited, *close_pending(error)]:
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
            if isinstance(failure, Conflict):  # expected: another writer was first, and the lock has worked
                self.logger.info("reconcile of %s %s met a conflict and will run again", name, request, extra=about)
            else:
                # An error of the server is complete in one line; one in Python code needs its traceback.
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
