"""A server that answers what a test says, and remembers what it was asked: for what a good server never does."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Any

import orjson

#: The reaction to a request: bytes to send (the connection stays open), or None to hang up.
Reaction = bytes | None


def answer(code: int, body: Any, **headers: str) -> bytes:
    """An HTTP response with a JSON body."""
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = [f"HTTP/1.1 {code} X", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def status(code: int, reason: str, message: str = "no") -> dict[str, Any]:
    """A Status."""
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}


DISCOVERY = answer(
    200,
    {
        "kind": "APIResourceList",
        "resources": [
            {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
            {"name": "nodes", "kind": "Node", "namespaced": False},
            {"name": "nodes/status", "kind": "Node", "namespaced": False},
        ],
    },
)


class StubServer:
    """Answers requests with ``reactions``, one after the other; discovery is always answered."""

    def __init__(self, *reactions: Reaction, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.reactions = list(reactions)
        self.requests: list[str] = []
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> StubServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next((int(x.split(":")[1]) for x in head.split("\r\n") if x.startswith("Content-Length")), 0)
                body = await reader.readexactly(length)
                if head.startswith("GET /api/v1 "):
                    writer.write(DISCOVERY)
                    continue
                self.requests.append(head.split(" HTTP")[0])
                self.heads.append(head)
                self.bodies.append(body)
                reaction = self.reactions.pop(0)
                if reaction is None:
                    break
                writer.write(reaction)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
