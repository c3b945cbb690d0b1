"""Reads of a version that is not there yet: they wait for it, as kube-apiserver lets them, and then give up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kontend.serve.requests.exchange import Exchange

#: Seconds for which a read waits for a version that is not there yet.
FRESHNESS_WAIT: Final = 3.0


class FutureReads:
    """Reads that wait for a version, in the order in which they came."""

    def __init__(self, give_up: Callable[[Exchange], None]) -> None:
        """``give_up`` answers a read whose version has not come."""
        self._give_up = give_up
        self._waiting: list[tuple[int, asyncio.TimerHandle, Exchange]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, exchange: Exchange, wanted: int) -> None:
        """Lets a read wait for a version."""
        timer = asyncio.get_running_loop().call_later(FRESHNESS_WAIT, self._expire, exchange)
        self._waiting.append((wanted, timer, exchange))

    def take_ready(self, version: int) -> list[Exchange]:
        """Return the reads whose version is there, which wait no longer."""
        if not self._waiting:
            return []
        ready = [waiting for waiting in self._waiting if waiting[0] <= version]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > version]
        for _, timer, _ in ready:
            timer.cancel()
        return [exchange for _, _, exchange in ready]

    def abort(self) -> None:
        """Hangs up on all of them."""
        for _, timer, exchange in self._waiting:
            timer.cancel()
            exchange.connection.abort()
        self._waiting.clear()

    def _expire(self, exchange: Exchange) -> None:
        self._waiting = [waiting for waiting in self._waiting if waiting[2] is not exchange]
        self._give_up(exchange)
