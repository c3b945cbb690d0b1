"""Channels between a client and a script: standard streams over one connection that has left HTTP.

Two protocols carry them, SPDY/3.1 (:mod:`~kontend.live.pods.spdy`) and WebSocket
(:mod:`~kontend.live.pods.websocket`). A script sees neither: it reads what arrives, and sends to a channel by name.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Final, Protocol, cast

import orjson

from kontend.serve.http.connection import Connection

STDIN: Final = "stdin"
STDOUT: Final = "stdout"
STDERR: Final = "stderr"
#: The channel on which the outcome of a command comes, as a Status.
ERROR: Final = "error"
#: The channel of a forwarded port.
DATA: Final = "data"
#: The channel of the size of a terminal.
RESIZE: Final = "resize"


class BadUpgrade(Exception):
    """A request that cannot be upgraded, or bytes that are not of its protocol; the message says why."""


class Channel(Protocol):
    """One direction of bytes to the client."""

    def send(self, data: bytes) -> None:
        """Send some bytes."""

    def end(self) -> None:
        """Send no more."""


class Session(Protocol):
    """Deals with the channels of one connection."""

    def opened(self, name: str, channel: Channel, headers: Mapping[str, str]) -> None:
        """Note that the client has opened a channel."""

    def received(self, channel: Channel, data: bytes) -> None:
        """Take bytes of the client."""

    def ended(self, channel: Channel) -> None:
        """Note that the client sends no more on a channel."""

    def lost(self) -> None:
        """Note that the client has gone."""


class Upgraded(asyncio.Protocol):
    """A connection that has left HTTP. The server goes on to know it by the connection that it was."""

    def __init__(self, before: Connection, session: Session) -> None:
        self._before = before
        self.session = session
        self.transport = cast(asyncio.Transport, None)

    def start(self, head: bytes) -> None:
        """Answer the request with 101 and take the connection over."""
        self.transport = self._before.take_over(head, self)

    def data_received(self, data: bytes) -> None:
        """Read some bytes."""
        try:
            self.read(data)
        except BadUpgrade:
            self.transport.abort()

    @abstractmethod
    def read(self, data: bytes) -> None:
        """Read some bytes; raises :class:`BadUpgrade` for those that are not of the protocol."""

    def write(self, data: bytes) -> None:
        """Send some bytes, if the client is there."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def close(self) -> None:
        """Hang up when everything has been sent."""
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client, which has gone."""
        self.session.lost()
        self._before.connection_lost(exc)


def outcome(code: int) -> bytes:
    """Return the Status that tells a client how a command has ended.

    >>> outcome(0)
    b'{"metadata":{},"status":"Success"}'
    """
    if code == 0:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    status = {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
    return orjson.dumps(status)
