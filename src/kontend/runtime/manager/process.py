"""Runs controllers against a server: caches, workers, leader election, health, and a graceful stop.

    Manager(Widgets(), Gadgets()).run()

It stops in order: it starts no new reconciles, waits for those in flight, ends the watches, and releases the lease
last, when nothing can be written any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
import uuid
from dataclasses import replace
from importlib import metadata
from typing import Final
from urllib.parse import quote

from kontend.kube.errors import ApiError, ServiceUnavailable
from kontend.runtime.cache.informer import IDLE
from kontend.runtime.client.api import Api
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.client.kubeconfig import Config, load
from kontend.runtime.controller import BadController, Controller, check
from kontend.runtime.guards import Guards
from kontend.runtime.manager.cached_backend import PATIENCE, CachedBackend
from kontend.runtime.manager.controller_loop import Loop
from kontend.runtime.manager.health import HealthServer
from kontend.runtime.manager.leases import Elector, Fence, LeaderElection
from kontend.runtime.telemetry.logs import LOGGER, fields
from kontend.runtime.telemetry.metrics import Metrics

STATUS_ADDRESS: Final = "127.0.0.1:8080"


class Manager:
    """Runs controllers against a server.

    >>> Manager(config="http://127.0.0.1:6443", leader_election="websites").busy
    False
    """

    def __init__(
        self,
        *controllers: Controller,
        config: Config | str | None = None,
        guards: Guards | None = None,
        leader_election: LeaderElection | str | None = None,
        status_address: str | None = STATUS_ADDRESS,
        grace: float = 30.0,
        identity: str = "",
        patience: float = PATIENCE,
        idle: float = IDLE,
    ) -> None:
        """Manage ``controllers``.

        ``config`` is a :class:`~kontend.runtime.client.kubeconfig.Config` or a URL; without it, the configuration that
        kubectl would use. ``leader_election`` is the name of a Lease, or a :class:`LeaderElection`. ``status_address``
        serves health and metrics (None: nothing is served). In seconds: ``grace`` for reconciles to finish on a stop,
        ``patience`` for a read to wait for this process's own write, ``idle`` until a silent watch counts as broken.
        """
        self.guards = guards or Guards()
        self.metrics = Metrics()
        self.identity = identity or f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"
        self.election = LeaderElection(leader_election) if isinstance(leader_election, str) else leader_election
        self.health = HealthServer(self.metrics, healthy=self._unhealthy, ready=self._unready)
        #: The server; None for the configuration that kubectl would use.
        self.config = config
        self._status_address = status_address
        self._grace = grace
        self._patience = patience
        self._idle = idle
        self._controllers: list[Controller] = []
        self._loops: list[Loop] = []
        self._workers: list[asyncio.Task[None]] = []
        self._holding: asyncio.Task[None] | None = None
        self._elector: Elector | None = None
        self._stopping: asyncio.Event | None = None
        self._started = False
        self._failure: Exception | None = None
        for controller in controllers:
            self.add(controller)

    def add(self, controller: Controller) -> None:
        """Add a controller, before the start."""
        check(controller)
        if self._started:
            raise BadController("the manager runs already; add controllers before the start")
        if any(controller.name == other.name for other in self._controllers):
            raise BadController(f"two controllers are called {controller.name!r}; give one another name")
        self._controllers.append(controller)

    def run(self) -> int:
        """Run until SIGINT, SIGTERM or the loss of the lease; returns the exit code."""
        return asyncio.run(self.run_async())

    async def run_async(self) -> int:
        """Run as :meth:`run` does, on a running event loop."""
        loop = asyncio.get_running_loop()
        stopping = self._stopping = asyncio.Event()
        handled = []
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on the main thread
                loop.add_signal_handler(number, stopping.set)
                handled.append(number)
        starting = asyncio.create_task(self.start())
        waiting = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                await waiting
        finally:
            for task in (starting, waiting):
                task.cancel()
            await asyncio.gather(starting, waiting, return_exceptions=True)
            await self.stop()
            for number in handled:
                loop.remove_signal_handler(number)
        if self._failure is not None:
            LOGGER.error("stopped", extra=fields(error=str(self._failure)))
            return 1
        LOGGER.info("stopped")
        return 0

    def request_stop(self) -> None:
        """Stop :meth:`run`. Call this on the thread of the event loop."""
        if self._stopping is not None:
            self._stopping.set()

    # Start

    async def start(self) -> None:
        """Fill the caches, acquire the lease if one is configured, and start the workers."""
        if not self._controllers:
            raise BadController("the manager has no controllers: Manager(Widgets())")
        self._started = True
        if self._stopping is None:
            self._stopping = asyncio.Event()
        config = self.config if self.config is not None else load()
        # With its identity, so that an audit log tells two instances apart.
        agent = f"{self._controllers[0].name}/{metadata.version('kontend')} ({quote(self.identity)})"
        http = HttpBackend(config, agent=agent, metrics=self.metrics)
        backend = self.backend = CachedBackend(
            http, self.guards, metrics=self.metrics, patience=self._patience, idle=self._idle
        )
        if self._status_address is not None:
            await self.health.start(self._status_address)
        for controller in self._controllers:
            await self._prepare(controller, backend)
        await self._filled(backend)
        if self.election is not None:
            election = replace(self.election, namespace=self.election.namespace or http.config.namespace)
            self._elector = Elector(http, election, self.identity)
            self.metrics.refresh.append(self._measure)
            await self._elector.acquire()
            backend.fence = Fence(self._elector)
            self._holding = asyncio.create_task(self._hold(self._elector))
        for loop in self._loops:
            wake = asyncio.Event()
            timer = _Timer(loop, wake)
            for number in range(loop.controller.max_concurrent):
                name = f"{loop.controller.name} {number}"
                worker = asyncio.create_task(self._work(loop, wake, timer), name=name)
                worker.add_done_callback(self._ended)
                self._workers.append(worker)
        names = ",".join(controller.name for controller in self._controllers)
        LOGGER.info("started", extra=fields(controllers=names, server=http.config.server))

    async def _prepare(self, controller: Controller, backend: CachedBackend) -> None:
        api = Api(backend, manager=controller.name, guards=self.guards, writes=backend.writes)
        loop = Loop(controller, api, time.monotonic, self.metrics)
        self._loops.append(loop)
        served = await backend.http.served(controller.kind)
        for kind, indexers in controller.indexes.items():
            for name, indexer in indexers.items():
                backend.cache.view(kind).add_index(name, indexer)
        # Subscribe before the first list, so that no event is missed.
        loop.listen(backend.cache, namespaced=served.namespaced)

    async def _filled(self, backend: CachedBackend) -> None:
        kinds = {kind: None for controller in self._controllers for kind in (*controller.kinds, *controller.indexes)}
        for kind in kinds:
            await backend.informer(kind)
        while not backend.has_synced:
            try:
                await backend.synced(timeout=30.0)
            except ApiError as error:
                LOGGER.warning("the caches are not filled yet", extra=fields(error=str(error)))

    async def _hold(self, elector: Elector) -> None:
        await elector.hold()
        self._failure = ServiceUnavailable("the lease is lost; another process leads")
        self.request_stop()

    # Work

    async def _work(self, loop: Loop, wake: asyncio.Event, timer: _Timer) -> None:
        queue = loop.queue
        while not queue.closed:
            request = queue.take()
            if request is None:
                timer.set(queue.next_due())
                wake.clear()
                await wake.wait()
                continue
            await loop.run(request)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """Stop when a worker fails, which is a bug of kontend: better than to run with half the controllers."""
        if not worker.cancelled() and worker.exception() is not None:
            LOGGER.error("a worker ended", extra=fields(worker=worker.get_name()), exc_info=worker.exception())
            self._failure = ServiceUnavailable(f"the worker {worker.get_name()} ended: {worker.exception()}")
            self.request_stop()

    # Stop

    async def stop(self) -> None:
        """Wait for the reconciles in flight, then stop. May be called twice."""
        for loop in self._loops:
            loop.queue.close()
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=self._grace)
            for task in late:
                LOGGER.warning("a reconcile did not finish in time", extra=fields(worker=task.get_name()))
                task.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
            self._workers.clear()
        if self._elector is not None:
            if self._holding is not None:
                self._holding.cancel()
                await asyncio.gather(self._holding, return_exceptions=True)
            await self._elector.release()
        await self.health.stop()
        if self._started and hasattr(self, "backend"):
            await self.backend.close()

    # Health

    @property
    def busy(self) -> bool:
        """True if a reconcile runs or waits for a worker; timers do not count."""
        return any(len(loop.queue) or loop.queue.active for loop in self._loops)

    def _unhealthy(self) -> str:
        dead = [task.get_name() for task in self._workers if task.done() and not self._stopped]
        return f"workers have ended: {', '.join(dead)}" if dead else ""

    @property
    def _stopped(self) -> bool:
        return any(loop.queue.closed for loop in self._loops)

    def _unready(self) -> str:
        if not self._loops or not self.backend.has_synced:
            return "the caches are not filled"
        return "stopping" if self._stopped else ""

    def _measure(self) -> None:
        if self._elector is not None:
            self.metrics.leader.set(1 if self._elector.leads else 0, name=self._elector.election.name)


class _Timer:
    """Wakes the workers of a queue when a request is ready and when a timer is due."""

    def __init__(self, loop: Loop, wake: asyncio.Event) -> None:
        self._wake = wake
        self._handle: asyncio.TimerHandle | None = None
        loop.queue.on_change = wake.set

    def set(self, due: float | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        if due is not None:
            delay = max(0.0, due - time.monotonic())
            self._handle = asyncio.get_running_loop().call_later(delay, self._wake.set)
