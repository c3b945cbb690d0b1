"""Keeps the view of one kind up to date with a server: list, then watch, and resume where the watch ended.

A watch that ends is resumed from the last version seen; only when the server has forgotten that version (410) is the
whole list read again. Bookmarks advance the version while nothing happens, and are the heartbeat that distinguishes a
quiet connection from a half-open one.

With monotonic views a list is asked for "not older than" what was seen or written before, and the first one as a
consistent read, which is never older than any acknowledged write. Without, lists are asked for at
version 0, as client-go's informers do: any server's cache may answer, however old it is.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import count
from typing import Final, Protocol

from kontend.kube.errors import ApiError, Gone, Timeout
from kontend.kube.json_types import Object
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.http_backend import SilentWatch
from kontend.runtime.telemetry.logs import LOGGER, fields
from kontend.runtime.telemetry.metrics import Metrics

#: A server sends a bookmark about once a minute.
IDLE: Final = 75.0
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0


class StaleCache(Timeout):
    """The cache did not see a write of this process in time."""


class Source(Protocol):
    """A server to list and to watch."""

    async def list(self, kind: str, query: Mapping[str, str]) -> tuple[list[Object], int]:
        """Read all objects of a kind, and the version of the list."""

    def watch(self, kind: str, version: int, *, idle: float) -> AsyncIterator[tuple[str, Object]]:
        """Yield the events after a version."""


class Informer:
    """The list and the watch of one kind."""

    def __init__(
        self,
        source: Source,
        cache: Cache,
        kind: str,
        *,
        metrics: Metrics | None = None,
        idle: float = IDLE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_version: Callable[[str, int], None] = lambda _kind, _version: None,
        written: Callable[[str], int] = lambda _kind: 0,
    ) -> None:
        """Keep ``cache`` up to date with ``source`` for one kind.

        ``on_version`` is called with each version seen; ``written`` returns the version of this process's last write.
        """
        self.kind = kind
        self.view = cache.view(kind)
        self._source = source
        self._cache = cache
        self._metrics = metrics if metrics is not None else Metrics()
        self._idle = idle
        self._sleep = sleep
        self._on_version = on_version
        self._written = written
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._metrics.refresh.append(lambda: self._metrics.versions.set(self.view.version, kind=kind))
        #: The error of the last list or watch, if it failed.
        self.trouble: Exception | None = None

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        expired = True
        while True:
            received = False
            try:
                if expired:
                    await self._list()
                    expired = False
                async for type, obj in self._source.watch(self.kind, self.view.version, idle=self._idle):
                    received = True
                    self._receive(type, obj)
                failures = 0 if received else 1
            except Gone:
                expired = True
                LOGGER.info("the server has forgotten the version, listing again", extra=fields(kind=self.kind))
                failures = 0 if received else failures + 1
            except SilentWatch as silent:
                # A dead connection, or a quiet server without bookmarks: either way, resume from the last version.
                LOGGER.info("a watch fell silent, watching anew", extra=fields(kind=self.kind, error=str(silent)))
                failures = 0
            except Exception as error:
                # A malformed response must not end the informer: the cache would never change again.
                expired = expired or not isinstance(error, ApiError)
                failures = 1 if received else failures + 1
                self.trouble = error
                level = LOGGER.info if received else LOGGER.warning
                level("list or watch failed, will try again", extra=fields(kind=self.kind, error=str(error)))
            if failures:
                # With jitter, so that a thousand clients do not return at the same moment.
                pause = min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE)
                await self._sleep(pause * random.uniform(0.5, 1.0))

    async def _list(self) -> None:
        self.view.floor = max(self.view.floor, self._written(self.kind))
        floor = max(self.view.version, self.view.floor)
        query: dict[str, str] = {}
        if not self.view.monotonic:
            query = {"resourceVersion": "0"}
        elif floor:
            query = {"resourceVersion": str(floor), "resourceVersionMatch": "NotOlderThan"}
        items, version = await self._source.list(self.kind, query)
        events = self.view.replace(items, version)
        self._metrics.relists.add(kind=self.kind)
        self.trouble = None
        self._cache.deliver(events)
        self._seen()

    async def refresh(self) -> None:
        """List again, as a consistent read: the view then has all that the server has.

        Waiting for the watch instead would take until the next bookmark where nothing else happens to the kind.
        """
        items, version = await self._source.list(self.kind, {})
        if version <= self.view.version:  # the watch has been faster
            return
        events = self.view.replace(items, version)
        self._metrics.relists.add(kind=self.kind)
        self._cache.deliver(events)
        self._seen()

    def _receive(self, type: str, obj: Object) -> None:
        self.trouble = None
        before = self.view.version
        event = self.view.apply(type, obj)
        if type == "BOOKMARK" and self.view.monotonic and int(obj["metadata"]["resourceVersion"]) < before:
            raise Gone(f"the server has not got to version {before}, from which it was asked to go on")
        if event is not None:
            self._metrics.events.add(kind=self.kind)
            self._cache.deliver([event])
        self._seen()

    def _seen(self) -> None:
        version = self.view.version
        self._on_version(self.kind, version)
        while self._waiting and self._waiting[0][0] <= version:
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, version: int, *, timeout: float) -> None:
        """Wait until the cache has been filled and has seen ``version``. Raises :class:`StaleCache`."""
        if self.view.synced and self.view.version >= version:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (version, next(self._order), waiter))
        try:
            await asyncio.wait_for(waiter, timeout)
        except TimeoutError:
            reason = f" ({self.trouble})" if self.trouble is not None else ""
            raise StaleCache(
                f"the cache of {self.kind} is at version {self.view.version}, but version {version} was written by "
                f"this process; it was not seen within {timeout:g} s{reason}"
            ) from None
