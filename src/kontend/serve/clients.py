"""The connected clients: those that keep the server waiting for too long, or leave too much unread, are cut off."""

from __future__ import annotations

import asyncio
import gc
from asyncio.sslproto import SSLProtocol
from collections.abc import Iterator
from typing import Final

from kontend.serve.http.connection import Connection
from kontend.serve.http2.connection import Http2Connection

#: Seconds that a client may take to send a request, may say nothing, and may take to read the last answer.
_REQUEST_TIME: Final = 60.0
_IDLE_TIME: Final = 90.0
_LINGER_TIME: Final = 5.0
_SWEEP_EVERY: Final = 1.0
#: Bytes that clients may leave unread, all together.
UNREAD_LIMIT: Final = 256 << 20
#: Bytes of bodies that are kept for clients, all together: unfinished ones, and those of unanswered requests.
BODIES_LIMIT: Final = 256 << 20
#: Clients that have gone before memory is looked through for what they left.
_MANY_GONE: Final = 1000
#: The same for handshakes that have begun, which leave much more, whether they end or not.
_MANY_HANDSHAKES: Final = 250
#: Octets that a TLS connection reads at a time. asyncio keeps a buffer of this size for each, 256 KiB by default:
#: three thousand handshakes that were broken off held 1.1 GB.
_TLS_BUFFER: Final = 64 * 1024
SSLProtocol.max_size = _TLS_BUFFER

AnyConnection = Connection | Http2Connection


class Clients:
    """The open connections."""

    def __init__(self) -> None:
        self._open: dict[AnyConnection, None] = {}
        #: Clients that have not read what they were sent.
        self._stalled: dict[AnyConnection, None] = {}
        #: Bytes of bodies that are kept for clients, by client.
        self._bodies: dict[AnyConnection, int] = {}
        #: The same, all together.
        self.kept = 0
        self._accepted = 0
        self._gone = 0
        self._handshakes = 0
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[AnyConnection]:
        return iter(self._open)

    def add(self, connection: AnyConnection) -> int:
        """Note a new client; return its number."""
        self._accepted += 1
        self._open[connection] = None
        return self._accepted

    def expect(self) -> None:
        """Note a client that begins a TLS handshake, of which one may never hear again."""
        self._handshakes += 1
        if self._handshakes > _MANY_HANDSHAKES:
            self._collect()

    def remove(self, connection: AnyConnection) -> None:
        """Forgets a client that has gone."""
        self._open.pop(connection, None)
        self._stalled.pop(connection, None)
        self.kept -= self._bodies.pop(connection, 0)
        self._gone += 1

    def stalled(self, connection: AnyConnection) -> None:
        """Note a client that does not read; when all of them hold too much, hangs up on the one that holds most."""
        self._stalled[connection] = None
        for client in [client for client in self._stalled if not client.paused]:
            del self._stalled[client]
        if sum(client.unread for client in self._stalled) > UNREAD_LIMIT:
            most = max(self._stalled, key=lambda client: client.unread)
            # One answer may be larger than the limit: a client that is alone with it may read it in peace.
            if len(self._stalled) > 1 or most.answers > 1:
                most.abort()

    def buffering(self, connection: AnyConnection, size: int) -> None:
        """Note the bytes of bodies kept for a client; when all are too many, hangs up on who has sent most."""
        self.kept += size - self._bodies.pop(connection, 0)
        if size:
            self._bodies[connection] = size
        while self.kept > BODIES_LIMIT:
            most = max(self._bodies, key=lambda client: self._bodies[client])
            self.kept -= self._bodies.pop(most)
            most.abort()

    def sweep(self) -> None:
        """Cuts off clients that keep the server waiting, now and from time to time."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in list(self._open):
            connection.expire(now=now, idle=_IDLE_TIME, request=_REQUEST_TIME, linger=_LINGER_TIME)
        if self._gone > _MANY_GONE:
            self._collect()
        self._sweeper = loop.call_later(_SWEEP_EVERY, self.sweep)

    def _collect(self) -> None:
        """Free what a crowd has left that has gone: asyncio's transports refer to themselves."""
        self._gone = self._handshakes = 0
        gc.collect()

    def stop_sweeping(self) -> None:
        """Lets clients take their time: the server is about to stop."""
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def close(self) -> None:
        """Hangs up on all clients when they have taken their answers, or a second later."""
        for connection in list(self._open):
            connection.close()
        # Closing is announced on the next turns of the loop; whoever does not take its answer by then is cut off.
        deadline = asyncio.get_running_loop().time() + 1.0
        while self._open and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.001)
        for connection in list(self._open):
            connection.abort()
        await asyncio.sleep(0)
