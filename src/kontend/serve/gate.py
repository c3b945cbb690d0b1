"""The seam between the server and a gate: a place where a test decides over the requests and events of its clients.

A server without a gate asks nobody. With one, each request passes it three times: when it arrives, when its write has
been committed, and when its answer is about to be sent; and each watch offers its events to a :class:`Tap` instead of
sending them. ``kontend live`` and ``kontend envtest`` bring gates of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kontend.cluster.state import State
from kontend.cluster.wire.response import ApiResponse
from kontend.serve.requests.exchange import Answer, Exchange

#: Events of a watch, each as JSON and with its resourceVersion.
Events = Sequence[tuple[int, bytes]]


class OpenWatch(Protocol):
    """The sending end of a watch, :class:`~kontend.serve.watches.watching.Watcher`."""

    #: The version from which it goes on.
    version: int

    @property
    def resource(self) -> str:
        """The resource that is watched, as it is stored."""

    def push(self, data: bytes, events: int) -> None:
        """Send some events."""

    def end_if_open(self) -> None:
        """End the watch."""


class Tap(Protocol):
    """Decides when the events of one watch are sent."""

    def offer(self, events: Events) -> None:
        """Take over events, in order."""

    def closed(self) -> None:
        """Note that the watch has ended."""


class Gate(Protocol):
    """Decides over requests."""

    def admits(self, exchange: Exchange) -> bool:
        """Return whether a request goes on now. If not, the gate answers it, or resumes it later."""

    def view(self, exchange: Exchange, state: State) -> State:
        """Return the state from which a read is answered: the given one, or an earlier one."""

    def committed(self, exchange: Exchange, before: State, after: State, response: ApiResponse) -> None:
        """Note that a write has been carried out."""

    def releases(self, exchange: Exchange, response: ApiResponse, answer: Answer) -> bool:
        """Return whether an answer is sent now. If not, the gate sends it later, or never."""

    def tap(self, exchange: Exchange, watch: OpenWatch) -> Tap | None:
        """Return the tap of a new watch, or None to let its events pass."""
