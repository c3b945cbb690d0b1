"""Requests that wait for an object: until it is there, or for as long as they have patience."""

from __future__ import annotations

import asyncio

from kontend.cluster.effects import Expected
from kontend.cluster.state import State
from kontend.kube.meta.names import Key


class Arrivals:
    """The objects that requests wait for."""

    def __init__(self) -> None:
        #: A future for each request that waits, in their order, by the resource and the name of their object.
        self._waiting: dict[tuple[str, Key], dict[asyncio.Future[None], None]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, expected: Expected, state: State) -> None:
        """Wait for an object that may be in ``state`` already; return as well when the time is up."""
        place = (expected.resource, expected.name)
        if state.find(*place) is not None:
            return
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(place, {})
        waiting[arrived] = None
        try:
            await asyncio.wait([arrived], timeout=expected.patience)
        finally:
            del waiting[arrived]
            if not waiting:
                self._waiting.pop(place, None)

    def notice(self, state: State) -> None:
        """Lets the requests go on whose objects are there."""
        for place, waiting in self._waiting.items():
            if state.find(*place) is not None:
                for arrived in waiting:
                    if not arrived.done():
                        arrived.set_result(None)
