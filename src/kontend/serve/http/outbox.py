"""The answers of one connection that the operating system has not taken.

asyncio's transports copy what they keep, once more under TLS. So a transport gets little at a time, and the rest of a
large answer waits here, as references to bytes that all answers share.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

#: Writing pauses when a client has left this much unread; a transport gets no more at a time.
HIGH_WATER: Final = 64 * 1024


def unsent(transport: asyncio.Transport) -> int:
    """Return the bytes that the operating system has not taken. asyncio leaves out those that TLS has encrypted."""
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    size: int = 0 if below is None else below.get_write_buffer_size()
    return size + transport.get_write_buffer_size()


class Outbox:
    """The bytes that wait for one client to read."""

    __slots__ = ("_parts", "_size", "_transport", "paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=HIGH_WATER)
        self._transport = transport
        self._parts: deque[memoryview] = deque()
        self._size = 0
        #: The client does not read what it is sent. The transport says so, perhaps while it is given something.
        self.paused = False

    def __bool__(self) -> bool:
        """Report whether the transport has not been given everything."""
        return bool(self._parts)

    @property
    def unread(self) -> int:
        """Bytes that wait for the client to read them."""
        return unsent(self._transport) + self._size

    def send(self, *parts: bytes) -> None:
        """Send some bytes as far as the client reads."""
        if not self.paused and len(parts) == 1 and len(parts[0]) <= HIGH_WATER:
            self._transport.write(parts[0])
            return
        self._parts.extend(map(memoryview, parts))
        self._size += sum(map(len, parts))
        self._give()

    def resume(self) -> None:
        """Go on sending."""
        self.paused = False
        self._give()

    def clear(self) -> None:
        """Forget what waits: the client has gone."""
        self._parts.clear()
        self._size = 0

    def _give(self) -> None:
        while self._parts and not self.paused:
            part = self._parts.popleft()
            if len(part) > HIGH_WATER:
                self._parts.appendleft(part[HIGH_WATER:])
                part = part[:HIGH_WATER]
            self._size -= len(part)
            self._transport.write(part)
