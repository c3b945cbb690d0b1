"""The controllers as one process beside a server: kube-controller-manager, without a process of its own.

They read and write the server's state directly, one reconcile at a time, on whatever thread calls :meth:`work`. Kinds
that are defined while it runs are watched from then on, and forgotten when their definition goes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from contextvars import copy_context
from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.cluster.resources import Resource
from kontend.controllers.built_in import OfEveryKind
from kontend.kube.meta.names import GroupVersionKind
from kontend.runtime.controller import Controller, Request, Result, requests_for
from kontend.runtime.guards import Guards
from kontend.runtime.manager.controller_loop import Loop, Outcome
from kontend.runtime.manager.in_process import InProcessManager
from kontend.runtime.predicates import Event


class Parked:
    """A reconcile in a context of its own, which can be set aside and resumed."""

    def __init__(self, coroutine: Coroutine[Any, Any, Outcome]) -> None:
        self._coroutine = coroutine
        self._context = copy_context()
        self._waiting: asyncio.Future[Any] | None = None

    def advance(self) -> Outcome | None:
        """Run until the reconcile is over, or waits for something: then returns None."""
        try:
            self._waiting = self._context.run(self._coroutine.send, None)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        return None

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call back when what the reconcile waits for is there."""
        assert self._waiting is not None  # it waits
        self._waiting.add_done_callback(lambda _: call())


def _nothing() -> None:
    """Do nothing."""


class ControllerProcess(InProcessManager):
    """Controllers that follow the definitions of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        controllers: Iterable[Controller],
        *,
        guards: Guards | None = None,
        clock: Callable[[], float] | None = time.monotonic,
    ) -> None:
        """Run ``controllers`` on ``cluster``; with ``clock=None`` on virtual time, as in a test."""
        super().__init__(cluster, controllers, guards=guards, clock=clock)
        self._everywhere = [
            (loop, loop.controller)
            for loop in self.loops
            if isinstance(loop.controller, OfEveryKind) and not loop.controller.only
        ]
        #: Reconciles that the first controller may still run before it is the next one's turn.
        self._turn = 0
        self._registry: object = None
        self._custom: frozenset[str] = frozenset()
        self._heard: set[str] = set()
        #: Reconciles whose requests wait.
        self._parked: set[Parked] = set()
        #: Called when one of them is over: there may be something to do again.
        self.when_resumed: Callable[[], None] = _nothing

    def poll(self) -> None:
        """Delivers the events of the cluster, of all kinds that are served now."""
        registry = self.cluster.state.registry
        if registry is not self._registry:
            self._registry = registry
            self._follow_definitions()
        super().poll()

    def step(self) -> Outcome | None:
        """Delivers events and runs one reconcile, if one is ready.

        A controller runs all that it had when its turn came: a thousand pods that start are then one change for the
        controller that counts them, and not a thousand.
        """
        self.poll()
        for _ in range(len(self.loops) + 1):
            request = self.loops[0].queue.take() if self._turn > 0 else None
            if request is not None:
                self._turn -= 1
                return self._run(self.loops[0], request)
            self.loops.append(self.loops.pop(0))
            self._turn = len(self.loops[0].queue)
        return None

    def _run(self, loop: Loop, request: Request) -> Outcome:
        """Run a reconcile; one whose request waits, for webhooks or an object, is set aside meanwhile."""
        waiting = Parked(loop.run(request))
        outcome = waiting.advance()
        if outcome is None:
            self._parked.add(waiting)
            waiting.when_ready(lambda: self._resume(waiting))
            return Outcome(loop.controller.name, request, Result(), None)
        return self._done(outcome)

    def _resume(self, waiting: Parked) -> None:
        outcome = waiting.advance()
        if outcome is None:
            waiting.when_ready(lambda: self._resume(waiting))
            return
        self._parked.discard(waiting)
        self._done(outcome)
        self.when_resumed()

    def work(self, most: int = 100) -> float | None:
        """Run what is ready, at most ``most`` reconciles.

        Returns after how many seconds to call again: 0 when there is more to do, None when nothing but an event brings
        more.
        """
        for _ in range(most):
            if self.step() is None:
                due = self.next_due()
                return None if due is None else max(0.0, due - self.clock())
        return 0.0

    @property
    def fails(self) -> bool:
        """Return whether the last attempt at something has failed."""
        return any(loop.queue.failing for loop in self.loops)

    def retry(self) -> None:
        """Hand out at once what waits for another attempt after a failure."""
        for loop in self.loops:
            for request in loop.queue.failing:
                loop.queue.add(request)

    def _follow_definitions(self) -> None:
        chosen: dict[str, Resource] = {}
        for resource in self.cluster.state.registry.custom:
            stored = resource.custom is not None and resource.version == resource.custom.storage_version
            if stored or resource.key not in chosen:
                chosen[resource.key] = resource
        custom = frozenset(str(GroupVersionKind(crd.group, crd.version, crd.kind)) for crd in chosen.values())
        for kind in sorted(self._custom - custom):
            self.feed.forget(kind)
        for kind in sorted(custom - self._custom):
            if self._everywhere:
                self.cache.view(kind)
            if kind not in self._heard:
                self._heard.add(kind)
                self.cache.on_event(kind, self._hear)
        for _, controller in self._everywhere:
            controller.custom = tuple(sorted(custom))
        self._custom = custom

    def _hear(self, event: Event) -> None:
        """Handle an event of a kind that was not known when the controllers were made."""
        for loop, controller in self._everywhere:
            for request in requests_for(controller, event, self.cache, namespaced=False):
                loop.queue.add(request)
