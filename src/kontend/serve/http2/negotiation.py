"""The choice of a protocol during the TLS handshake (ALPN)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

#: The name of HTTP/2 in the handshake.
_H2: Final = "h2"


class Negotiation(asyncio.Protocol):
    """A new client, until it is known which protocol it has chosen."""

    def __init__(self, http1: Callable[[], asyncio.Protocol], http2: Callable[[], asyncio.Protocol]) -> None:
        self._http1 = http1
        self._http2 = http2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Lets the protocol take over that the client has chosen."""
        handshake: ssl.SSLObject = transport.get_extra_info("ssl_object")
        protocol = (self._http2 if handshake.selected_alpn_protocol() == _H2 else self._http1)()
        cast(asyncio.Transport, transport).set_protocol(protocol)
        protocol.connection_made(transport)
