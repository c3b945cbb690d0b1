"""Runs controllers against a cluster in this process, one reconcile at a time, in a deterministic order.

Events are delivered between reconciles, not during them, so a reconcile that reads its own write from the cache meets
the same staleness as on a real cluster (and the same guard). Time is virtual: it advances to the next timer when
nothing else is left to do.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import WrongObject
from kontend.runtime.cache.in_process import CachedInProcess, ClusterFeed
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.controller import BadController, Controller, Request, check
from kontend.runtime.guards import Guards, OwnWrites
from kontend.runtime.manager.controller_loop import Loop, Outcome
from kontend.runtime.predicates import Event
from kontend.runtime.telemetry.metrics import Metrics


class Unsettled(AssertionError):
    """Controllers did not settle; the message names the reconciles that keep failing or repeating."""


class InProcessManager:
    """Controllers, their queues and one cache, on a :class:`Cluster`.

    ``settle`` runs until nothing is left to do, ``step`` runs one reconcile, ``advance`` lets virtual time pass.
    ``feed.held.add(kind)`` keeps the events of a kind from the cache, which makes it stale.

    >>> InProcessManager(Cluster(), []).settle()
    0
    """

    def __init__(
        self,
        cluster: Cluster,
        controllers: Iterable[Controller],
        *,
        guards: Guards | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Manage ``controllers``. A ``clock`` replaces virtual time, which :meth:`settle` then cannot advance."""
        self.cluster = cluster
        self.guards = guards or Guards()
        self.cache = Cache(monotonic=self.guards.monotonic_views)
        self.feed = ClusterFeed(cluster, self.cache)
        self.metrics = Metrics()
        self.writes = OwnWrites(followed=self.cache.views)
        self._elapsed = 0.0
        self._began = cluster.state.now
        self._virtual = clock is None
        self.clock = clock or (lambda: self._elapsed)
        #: The errors of requests whose last reconcile failed.
        self.failing: dict[tuple[str, Request], Exception] = {}
        #: The last reconciles, for messages.
        self.recent: deque[Outcome] = deque(maxlen=20)
        self.reconciles = 0
        self.loops = [self._loop(controller) for controller in controllers]
        for loop in self.loops:
            for kind in loop.controller.kinds:
                self.cache.view(kind)
        self.cache.on_event("", self._forget)

    def _loop(self, controller: Controller) -> Loop:
        check(controller)
        backend = CachedInProcess(self.cluster, self.feed, agent=controller.name)
        api = Api(backend, manager=controller.name, guards=self.guards, writes=self.writes)
        loop = Loop(controller, api, self.clock, self.metrics)
        for kind, indexers in controller.indexes.items():
            for name, indexer in indexers.items():
                self.cache.view(kind).add_index(name, indexer)
        loop.listen(self.cache, namespaced=backend.is_namespaced(controller.kind), strict=True)
        return loop

    def _forget(self, event: Event) -> None:
        """Drop a delete that the cache has seen."""
        if event.new is None and event.old is not None:
            self.writes.forget_delete(event.old["metadata"].get("uid", ""))

    def poll(self) -> None:
        """Deliver the new events of the cluster to the cache and the queues."""
        self.feed.pump()
        for kind, view in self.cache.views.items():
            self.writes.forget_before(kind, view.version)

    def step(self) -> Outcome | None:
        """Deliver events and run one reconcile, if one is ready. The controllers take turns."""
        self.poll()
        for _ in range(len(self.loops)):
            loop = self.loops[0]
            self.loops.append(self.loops.pop(0))
            request = loop.queue.take()
            if request is not None:
                return self._run(loop, request)
        return None

    def _run(self, loop: Loop, request: Request) -> Outcome:
        return self._done(drive(loop.run(request)))

    def _done(self, outcome: Outcome) -> Outcome:
        """Note how a reconcile ended."""
        self.reconciles += 1
        self.recent.append(outcome)
        key = (outcome.controller, outcome.request)
        if outcome.error is not None:
            self.failing[key] = outcome.error
        else:
            self.failing.pop(key, None)
        return outcome

    def next_due(self) -> float | None:
        """Return the time at which the next timer is due, on the clock."""
        return min((due for loop in self.loops if (due := loop.queue.next_due()) is not None), default=None)

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, for the timers and for the cluster."""
        self._elapsed += seconds
        now = self._began + int(self._elapsed)
        if now > self.cluster.state.now:
            self.cluster.state = self.cluster.state.replace(now=now)

    def settle(self, *, seconds: float = 60, limit: int = 10_000) -> int:
        """Run until nothing is ready and no timer is due within ``seconds``; returns the number of reconciles.

        Raises :class:`Unsettled` when a reconcile still fails then, or after ``limit`` reconciles.
        """
        begun, until = self.reconciles, self.clock() + seconds
        counts: Counter[str] = Counter()
        while True:
            outcome = self.step()
            if outcome is not None:
                counts[f"{outcome.controller} {outcome.request}"] += 1
                if self.reconciles - begun >= limit:
                    raise Unsettled(self._livelock(limit, counts))
                continue
            due = self.next_due()
            if due is None or due > until or not self._virtual:
                break
            self.advance(due - self.clock())
        if self.failing:
            (controller, request), error = next(iter(self.failing.items()))
            more = f" (and {len(self.failing) - 1} more)" if len(self.failing) > 1 else ""
            text = f"{controller} still fails for {request} after {seconds:g} s{more}: {error}"
            raise Unsettled(text) from error
        return self.reconciles - begun

    def _livelock(self, limit: int, counts: Counter[str]) -> str:
        busiest = ", ".join(f"{name} {times} times" for name, times in counts.most_common(3))
        last = "; ".join(str(outcome) for outcome in list(self.recent)[-4:])
        return (
            f"not settled after {limit} reconciles: {busiest}. The last ones: {last}. "
            "Does a reconcile repeat a write, or do two controllers undo each other's?"
        )


def settle(
    cluster: Cluster,
    controllers: Iterable[Controller] | Controller,
    *,
    seconds: float = 60,
    limit: int = 10_000,
    guards: Guards | None = None,
) -> int:
    """Run controllers on a cluster until nothing is left to do, and return the number of reconciles.

    The controllers start as those of a new manager do: with a reconcile of every object. Timers due within ``seconds``
    fire at once, on virtual time, which is the cluster's time too. Raises :class:`Unsettled` when a reconcile still
    fails then, or after ``limit`` reconciles.

    >>> class Labels(Controller):
    ...     kind = "ConfigMap/v1"
    ...     async def reconcile(self, request, api):
    ...         config = await api.get(self.kind, request)
    ...         if "seen" not in config["metadata"].get("labels", {}):
    ...             config["metadata"].setdefault("labels", {})["seen"] = "yes"
    ...             await api.update(config)
    >>> cluster = Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}])
    >>> settle(cluster, Labels())
    2
    >>> cluster.get("ConfigMap/v1", "c")["metadata"]["labels"]
    {'seen': 'yes'}
    """
    if not isinstance(cluster, Cluster):
        raise WrongObject(
            f"settle: expected a Cluster and controllers, such as settle(cluster, Widgets()), found {cluster!r}"
        )
    several = [controllers] if isinstance(controllers, Controller | type | str) else controllers
    if not isinstance(several, Iterable):
        raise BadController(f"settle: expected a controller or a list of them, found {controllers!r}")
    if guards is not None and not isinstance(guards, Guards):
        raise WrongObject(f"settle: expected guards such as Guards(fencing=False), found {guards!r}")
    return InProcessManager(cluster, several, guards=guards).settle(seconds=seconds, limit=limit)


def drive(coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a reconcile whose calls all return at once, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    coroutine.close()
    raise TypeError(
        "the reconcile awaits something other than its api; in process only calls of the api can be awaited "
        "(use Result(requeue_after=...) instead of sleeping)"
    )
