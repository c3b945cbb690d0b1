"""A tiny HTTP server for ``/healthz``, ``/readyz`` and ``/metrics``, on this machine only by default."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from kontend.runtime.telemetry.metrics import Metrics

_LONGEST_HEAD: Final = 16 * 1024
_PATIENCE: Final = 10.0
_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}

#: Function that returns the problem, or an empty string.
Check = Callable[[], str]


class BadAddress(ValueError):
    """The server cannot listen on an address; the message says why."""


class HealthServer:
    """Answers kubelets and Prometheus."""

    def __init__(self, metrics: Metrics, *, healthy: Check = lambda: "", ready: Check = lambda: "") -> None:
        self.metrics = metrics
        self._checks = {"/healthz": healthy, "/livez": healthy, "/readyz": ready}
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, address: str) -> None:
        """Listen on ``host:port``; port 0 picks a free one, which is then in ``port``."""
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise BadAddress(f"expected host:port such as 127.0.0.1:8080, found {address!r}")
        try:
            self._server = await asyncio.start_server(
                self._serve, host.strip("[]"), int(port), limit=_LONGEST_HEAD, backlog=16
            )
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadAddress(
                f"cannot listen on {address} for health and metrics: {reason}; choose another address, or none"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def answer(self, method: str, path: str) -> tuple[int, str, str]:
        """Return the status code, the media type and the text for a request."""
        if method not in ("GET", "HEAD"):
            return 405, "text/plain", "only GET\n"
        if path == "/metrics":
            return 200, "text/plain; version=0.0.4; charset=utf-8", self.metrics.text()
        check = self._checks.get(path)
        if check is None:
            return 404, "text/plain", "there are /healthz, /readyz and /metrics\n"
        trouble = check()
        return (503, "text/plain", f"{trouble}\n") if trouble else (200, "text/plain", "ok\n")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            method, path, *_ = [*head.partition(b"\r\n")[0].decode("latin-1").split(" "), "", ""]
            code, media_type, text = self.answer(method, path.partition("?")[0])
            body = text.encode()
            lines = [
                f"HTTP/1.1 {code} {_REASONS[code]}",
                f"Content-Type: {media_type}",
                f"Content-Length: {len(body)}",
                "Connection: close",
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else body))
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass  # not a request, or the client has gone
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
