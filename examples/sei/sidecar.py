"""The sidecar of a node, as the operators see it: tasks are submitted under an id, and asked about.

A submission is idempotent: the sidecar executes an id once. ``HttpSidecar`` talks to a sidecar over HTTP
(``sidecar_server.py`` simulates one). In the explorer, which has no sockets, ``fakes.RecordedSidecar`` takes its place.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.error import HTTPError

from kontend import Api

Outcome = Literal["Running", "Completed", "Failed"]


@dataclass(frozen=True)
class TaskResult:
    """Progress of a submitted task."""

    outcome: Outcome
    error: str = ""


class Sidecar(Protocol):
    """The sidecars of all nodes; ``node`` is ``namespace/name``."""

    async def submit(self, api: Api, node: str, task_id: str, command: str, params: dict[str, Any]) -> None:
        """Submit a task; a second submission of an id does nothing."""

    async def result(self, api: Api, node: str, task_id: str) -> TaskResult:
        """Return the progress of a task; one that the sidecar does not know is taken to be running."""

    async def ready(self, api: Api, node: str) -> bool | None:
        """Return True if the node serves requests, None if the sidecar cannot be reached."""

    async def caught_up(self, api: Api, node: str) -> bool:
        """Return True if the node has the newest block."""


class HttpSidecar:
    """Sidecars behind one address, ``URL/NAMESPACE/NAME``. A cluster would have one address for each pod."""

    def __init__(self, url: str = "") -> None:
        self.url = url or os.environ.get("SEI_SIDECAR_URL", "http://127.0.0.1:7777")

    async def submit(self, api: Api, node: str, task_id: str, command: str, params: dict[str, Any]) -> None:  # noqa: ARG002
        """Submit a task."""
        await self._request("PUT", f"{node}/tasks/{task_id}", {"type": command, "params": params})

    async def result(self, api: Api, node: str, task_id: str) -> TaskResult:  # noqa: ARG002
        """Return the progress of a task."""
        try:
            task = await self._request("GET", f"{node}/tasks/{task_id}")
        except HTTPError as error:
            if error.code == 404:
                return TaskResult("Running")
            raise
        return TaskResult(task["status"], task.get("error", ""))

    async def ready(self, api: Api, node: str) -> bool | None:  # noqa: ARG002
        """Return True if the node serves requests."""
        try:
            return bool((await self._request("GET", f"{node}/status"))["ready"])
        except OSError:
            return None

    async def caught_up(self, api: Api, node: str) -> bool:  # noqa: ARG002
        """Return True if the node has the newest block."""
        return bool((await self._request("GET", f"{node}/status"))["caughtUp"])

    async def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._send, method, path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=2) as response:
            answer: dict[str, Any] = json.load(response)
        return answer
