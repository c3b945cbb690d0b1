"""A server in a thread of this process, for tests.

with BackgroundServer(Cluster(crds=[...]).state) as server:
    subprocess.run(["kubectl", "--kubeconfig", server.kubeconfig, "get", "pods"])
    server.cluster.get("Pod/v1", "web")
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.cluster.effects import Waiting
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.cluster.users import ADMIN
from kontend.cluster.wire.response import ApiResponse
from kontend.safe_files import write_private
from kontend.serve.credentials.identity import Tokens
from kontend.serve.credentials.kubeconfig import kubeconfig
from kontend.serve.server import Server


class BackgroundServer:
    """A running server: its URL, a kubeconfig for it, and its cluster as Python sees it."""

    def __init__(self, state: State, *, tokens: Tokens | None = None, **options: Any) -> None:
        """Start serving ``state`` on a free port of this machine; ``options`` are those of :class:`Server`."""
        self.server = Server(state, tokens=tokens, **options)
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="kontend-server", daemon=True)
        self._thread.start()
        started.result()
        #: The address at which it serves.
        self.url = f"http://127.0.0.1:{self.server.port}"
        self._directory = Path(tempfile.mkdtemp(prefix="kontend-"))
        #: The path of a kubeconfig that points at it.
        self.kubeconfig = self._directory / "kubeconfig"
        write_private(self.kubeconfig, kubeconfig(self.url, secrets=tokens.secrets() if tokens else None))

    def _run(self, started: Future[None]) -> None:
        async def serve() -> None:
            try:
                await self.server.start("127.0.0.1", 0)
            except BaseException as error:
                started.set_exception(error)
                return
            started.set_result(None)
            await self._stopping.wait()
            await self.server.stop()

        try:
            self._loop.run_until_complete(serve())
        finally:
            self._loop.close()

    @property
    def cluster(self) -> Cluster:
        """The cluster that is served: what it does is what a client of the server does."""
        return _Served(self)

    def call(self, action: Any, *arguments: Any) -> Any:
        """Run a function on the server's thread and return what it returns."""
        outcome: Future[Any] = Future()

        def run() -> None:
            try:
                outcome.set_result(action(*arguments))
            except BaseException as error:
                outcome.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return outcome.result()

    def wait_for(self, awaitable: Awaitable[ApiResponse]) -> ApiResponse:
        """Wait for something that happens on the server's thread."""

        async def wait() -> ApiResponse:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()

    def stop(self) -> None:
        """Stop serving; may be called twice."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> BackgroundServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Served(Cluster):
    """A cluster whose state is the server's."""

    def __init__(self, running: BackgroundServer) -> None:
        self._running = running
        self.manager, self.user = "kontend", ADMIN
        self.warnings = []

    @property
    def state(self) -> State:  # type: ignore[override]
        return self._running.server.state

    def request(self, request: ApiRequest) -> ApiResponse:
        """Send a request, past HTTP but through the server."""
        try:
            response: ApiResponse = self._running.call(self._running.server.request, request)
        except Waiting as waiting:
            response = self._running.wait_for(waiting.response)
        self.warnings = response.warnings
        return response
