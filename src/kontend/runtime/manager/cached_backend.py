"""The backend of a manager: cached reads from the cache, other calls from the server, writes behind the fence.

An informer is started for each kind that a controller declares and, as in controller-runtime, for any other kind at the
first cached read of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

from kontend.runtime.cache.informer import IDLE, Informer
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.call import CURRENT, Call
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.guards import Guards, OwnWrites
from kontend.runtime.manager.leases import Fence, LostLease
from kontend.runtime.predicates import Event
from kontend.runtime.telemetry.logs import LOGGER, fields
from kontend.runtime.telemetry.metrics import Metrics

#: Seconds that a read waits for the cache to see this process's own write.
PATIENCE: Final = 10.0


class CachedBackend:
    """A server with a cache in front of it."""

    def __init__(
        self,
        http: HttpBackend,
        guards: Guards,
        *,
        metrics: Metrics,
        patience: float = PATIENCE,
        idle: float = IDLE,
    ) -> None:
        self.http = http
        self.guards = guards
        self.metrics = metrics
        self.cache = Cache(monotonic=guards.monotonic_views)
        self.cache.on_event("", self._forget_delete)
        self.writes = OwnWrites(followed=self.cache.views)
        #: Set by the manager when it becomes the leader.
        self.fence: Fence | None = None
        self._patience = patience
        self._idle = idle
        self._informers: dict[str, Informer] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def call(self, call: Call) -> Any:
        """Carry out a call, from the cache or on the server."""
        if call.cached and not call.subresource:
            informer = await self.informer(call.kind)
            view = informer.view
            if not view.synced or view.version < call.at_least:
                if view.synced:
                    self.metrics.refused.add(guard="read_your_writes")
                await informer.wait(call.at_least, timeout=self._patience)
            if call.at_least == CURRENT:
                self.metrics.refused.add(guard="read_your_writes")
                await informer.refresh()
            if call.namespace and not self.http.is_namespaced(call.kind):  # only known now, at the first read
                call = replace(call, namespace="")
            return self.cache.answer(call)
        if self.fence is not None and self.guards.fencing:
            try:
                self.fence.check(call)
            except LostLease:
                self.metrics.refused.add(guard="fencing")
                raise
        return await self.http.call(call)

    def is_namespaced(self, kind: str) -> bool:
        """Return True for a namespaced kind."""
        return self.http.is_namespaced(kind)

    def now(self) -> str:
        """Return the time of this machine."""
        return self.http.now()

    def uuid(self) -> str:
        """Return a random uuid."""
        return self.http.uuid()

    async def informer(self, kind: str) -> Informer:
        """Return the informer of a kind, started if there was none."""
        if kind not in self._informers:
            served = await self.http.served(kind)
            if kind not in self._informers:  # no other task started it meanwhile
                self.cache.view(kind, plural=served.plural)
                informer = Informer(
                    self.http,
                    self.cache,
                    kind,
                    metrics=self.metrics,
                    idle=self._idle,
                    on_version=self.writes.forget_before,
                    written=lambda written: self.writes.within(written, ""),
                )
                self._informers[kind] = informer
                task = asyncio.create_task(informer.run(), name=f"informer {kind}")
                task.add_done_callback(_ended)
                self._tasks[kind] = task
        return self._informers[kind]

    def _forget_delete(self, event: Event) -> None:
        if event.new is None and event.old is not None:
            self.writes.forget_delete((event.old.get("metadata") or {}).get("uid") or "")

    async def synced(self, *, timeout: float) -> None:
        """Wait until every kind has been listed."""
        await asyncio.gather(*(informer.wait(0, timeout=timeout) for informer in self._informers.values()))

    @property
    def has_synced(self) -> bool:
        """True once every kind has been listed."""
        return all(informer.view.synced for informer in self._informers.values())

    async def close(self) -> None:
        """Stop the informers and close the connections."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        self.http.close()


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        LOGGER.error("an informer ended", extra=fields(informer=task.get_name()), exc_info=task.exception())
