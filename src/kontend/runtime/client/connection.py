"""HTTP/1.1 connections to one server, kept open and used again.

A small client on asyncio and httptools, because a manager needs exactly two things: thousands of short requests over a
few connections, and to know for certain whether a request had been sent when something went wrong. (httpx was measured
first: it spent more time on a request than the API server.) Proxies are not supported.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urlsplit

import httptools

_CONNECT_PATIENCE: Final = 10.0
#: An idle connection is closed after so long: servers do that too, and theirs must not come first.
_IDLE: Final = 45.0


class NotConnected(ConnectionError):
    """No connection could be made: nothing was sent."""


class BrokenOff(ConnectionError):
    """The connection ended before the response was complete: the request may have been carried out."""


class TooLarge(BrokenOff):
    """The body of the response was longer than the caller takes."""


@dataclass(slots=True)
class Response:
    """The response of a server."""

    status: int = 0
    #: By lower-case name.
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Connection(asyncio.Protocol):
    """One connection, with at most one request on it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._response = Response()
        self._chunks: list[bytes] = []
        self._size = 0
        self._largest: int | None = None
        self._complete = False
        self._failure: Exception | None = None
        self._progress: asyncio.Future[None] | None = None
        self._headers_done = False
        self._reusable = False
        self.idle_since = 0.0

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the new connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse what the server sent."""
        if self._parser is None:  # no request is open, so the connection is out of step
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._failure = BrokenOff(f"the response is not HTTP: {error}")
            self.close()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end of the connection."""
        until_end = self._headers_done and not {"content-length", "transfer-encoding"} & self._response.headers.keys()
        if until_end and error is None:
            self._complete = True
        elif not self._complete and self._failure is None:
            self._failure = BrokenOff(str(error) if error else "the server closed the connection")
        self._transport = None
        self._wake()

    # Called by httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the response."""
        self._response.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Take the status; the body follows."""
        assert self._parser is not None
        self._response.status = self._parser.get_status_code()
        self._headers_done = self._response.status >= 200
        self._wake()

    def on_body(self, chunk: bytes) -> None:
        """Take a part of the body."""
        self._size += len(chunk)
        if self._largest is not None and self._size > self._largest:
            self._chunks.clear()
            self._failure = self._failure or TooLarge(f"the response is longer than {self._largest} bytes")
            self.close()
            return
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        """Note that the response is complete."""
        assert self._parser is not None
        if not self._headers_done:  # 100 Continue and the like: the response is still to come
            self._response.headers.clear()
            return
        self._complete = True
        self._reusable = self._parser.should_keep_alive()

    # Called by the pool

    @property
    def usable(self) -> bool:
        """True if another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def finished(self) -> bool:
        """True if the response is complete and the server keeps the connection open."""
        return self._complete and self._reusable and self.usable

    def send(self, data: bytes, largest: int | None = None) -> None:
        """Send a request, whose response may have ``largest`` bytes."""
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._response = Response()
        self._chunks = []
        self._size, self._largest = 0, largest
        self._complete = self._headers_done = self._reusable = False
        self._transport.write(data)

    async def head(self) -> Response:
        """Wait for the status and the headers of the response."""
        while not self._headers_done:
            await self._more()
        return self._response

    async def answer(self) -> Response:
        """Wait for the whole response."""
        while not self._complete:
            await self._more()
        self._response.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._parser = None
        return self._response

    async def parts(self, idle: float) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raises TimeoutError when nothing arrives for ``idle`` seconds."""
        while True:
            if self._chunks:
                chunks, self._chunks = self._chunks, []
                yield b"".join(chunks)
            elif self._complete:
                return
            else:
                async with asyncio.timeout(idle):
                    await self._more()

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._progress = asyncio.get_running_loop().create_future()
        await self._progress

    def _wake(self) -> None:
        if self._progress is not None and not self._progress.done():
            self._progress.set_result(None)


class Pool:
    """The connections to one server."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None, *, server_name: str = "") -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if tls else 80)
        self._prefix = parts.path.rstrip("/")
        self._tls = tls
        self._server_name = (server_name or self._host) if tls else None
        self._authority = parts.netloc.rpartition("@")[2]
        self._idle: list[Connection] = []

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
        *,
        patience: float,
        largest: int | None = None,
    ) -> Response:
        """Send a request and wait for the response. Raises NotConnected, BrokenOff or TimeoutError (``patience``).

        A response of more than ``largest`` bytes is not kept: it is TooLarge, a kind of BrokenOff.
        """
        connection = await self._connection()
        try:
            connection.send(self._encoded(method, path, query, headers, body), largest)
            async with asyncio.timeout(patience):
                response = await connection.answer()
        except BaseException:
            connection.close()
            raise
        self._put_back(connection)
        return response

    async def stream(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str], *, idle: float
    ) -> AsyncGenerator[bytes | Response, None]:
        """Send a GET whose response has no end: yield its status and headers, then parts of the body as they arrive.

        A response other than 200 is yielded whole instead, with its body.
        """
        connection = await self._connection()
        try:
            connection.send(self._encoded("GET", path, query, headers, b""))
            async with asyncio.timeout(idle):
                response = await connection.head()
                if response.status != 200:
                    response = await connection.answer()
            yield response
            if response.status == 200:
                async for part in connection.parts(idle):
                    yield part
        finally:
            connection.close()

    async def _connection(self) -> Connection:
        now = time.monotonic()
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and now - connection.idle_since < _IDLE:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(_CONNECT_PATIENCE):
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection, self._host, self._port, ssl=self._tls, server_hostname=self._server_name
                )
        except TimeoutError:
            raise NotConnected(f"no connection within {_CONNECT_PATIENCE:g} s") from None
        except ConnectionRefusedError as error:
            raise NotConnected(f"nothing listens on {self._host} port {self._port}") from error
        except (OSError, ssl.SSLError) as error:  # an SSLError while connecting: nothing was sent either
            raise NotConnected(str(error)) from error
        return connection

    def _put_back(self, connection: Connection) -> None:
        if connection.finished:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.close()

    def _encoded(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> bytes:
        target = f"{self._prefix}{path}?{urlencode(query)}" if query else f"{self._prefix}{path}"
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method not in ("GET", "HEAD"):
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def close(self) -> None:
        """Close the connections that are not in use."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
