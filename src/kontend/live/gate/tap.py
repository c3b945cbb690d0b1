"""The tap of a watch: its events pass, wait while their resource is held back, or are dropped with the watch."""

from __future__ import annotations

import asyncio
from typing import Protocol

from kontend.kube.errors import ApiError
from kontend.serve.gate import Events, OpenWatch
from kontend.serve.http.media import JSON_TYPE, encode


class Keeper(Protocol):
    """Decides over the events of all watches, and records them: the gate."""

    def holds(self, process: str, resource: str) -> bool:
        """Return whether events of a resource are held back."""

    def delivers(self, tap: Tap, versions: list[int]) -> None:
        """Record events that are sent."""

    def forget(self, tap: Tap) -> None:
        """Forget a watch that has ended."""


class Tap:
    """Passes or holds the events of one watch."""

    def __init__(self, keeper: Keeper, process: str, watch: OpenWatch, known: int) -> None:
        """``known`` is the version that the client has, or that of the list with which the watch begins."""
        self._keeper = keeper
        self.process = process
        self.resource = watch.resource
        self._watch = watch
        self._known = known
        self.queue: list[tuple[int, bytes]] = []

    def offer(self, events: Events) -> None:
        """Send events, or keep them while the resource is held; a list at the beginning is never held."""
        ready = []
        for version, data in events:
            if self.queue or (version > self._known and self._keeper.holds(self.process, self.resource)):
                self.queue.append((version, data))
            else:
                ready.append((version, data))
        self._send(ready)

    def release(self) -> None:
        """Send what was held back."""
        ready, self.queue = self.queue, []
        self._send(ready)

    def expire(self) -> None:
        """Drop what was held back and end the watch with 410, so that the client lists again."""
        self.queue = []
        status = ApiError("too old resource version", code=410, reason="Expired").status()
        self._watch.push(encode({"type": "ERROR", "object": status}, JSON_TYPE), 1)
        asyncio.get_running_loop().call_soon(self._watch.end_if_open)

    def _send(self, events: list[tuple[int, bytes]]) -> None:
        if events:
            self._keeper.delivers(self, [version for version, _ in events])
            self._watch.push(b"".join(data for _, data in events), len(events))

    def closed(self) -> None:
        """Note that the watch has ended."""
        self._keeper.forget(self)
