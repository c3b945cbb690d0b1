"""Publishing: watches get what has become durable, at the end of a turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kontend.cluster.effects import Progress, Suspension
from kontend.cluster.effects.conversion import Conversions, Converted
from kontend.cluster.state import State
from kontend.serve.watches.watching import Hub


class Publisher:
    """Sends durable changes to watches."""

    def __init__(
        self,
        hub: Hub,
        conversions: dict[bytes, Converted],
        *,
        state: Callable[[], State],
        suspend: Callable[[Suspension, Callable[[Progress], None]], None],
        published: Callable[[State], None],
    ) -> None:
        """Send the changes up to ``state()``, and calls ``published`` afterwards.

        ``conversions`` of custom resources are known already; ``suspend`` asks webhooks for others.
        """
        self._hub = hub
        self._conversions = conversions
        self._state = state
        self._suspend = suspend
        self._published = published
        self._scheduled = False

    def publish_soon(self) -> None:
        """Publish at the end of this turn of the loop, so that writes that came together are sent together."""
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.publish)

    def publish(self) -> None:
        """Publish what is durable, unless webhooks have to convert it first."""
        state = self._state()
        if state.registry.converts_by_webhook and self._convert_events(state):
            return
        self._scheduled = False
        if state.registry.converts_by_webhook:
            with Conversions(self._conversions, {}, wait=False).active():
                complete = self._hub.publish(state)
        else:
            complete = self._hub.publish(state)
        if not complete:
            self.publish_soon()
        self._published(state)

    def _convert_events(self, state: State) -> bool:
        """Asks webhooks for the objects that watches are about to send; publishing goes on when they have answered."""
        conversions = Conversions(self._conversions, {}, wait=True)
        with conversions.active():
            self._hub.rehearse(state)
        calls = [call for call, _ in conversions.calls()]
        if calls:
            suspension = Suspension(tuple(calls), Progress(state.now, state.serial), conversions)
            self._suspend(suspension, lambda _: self.publish())
        return bool(calls)
