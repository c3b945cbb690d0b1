"""A plain HTTP client and running servers, for the tests of the server."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Answer:
    """The answer of a server."""

    code: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.raw)


@dataclass
class Client:
    """One keep-alive connection."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        host = urlsplit(self.url)
        self._connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=20)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send one request; header names with ``_`` for ``-``. A body that is not bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": JSON, **self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, body=data, headers=sent)
        response = self._connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def get(self, path: str, **headers: str) -> Answer:
        """Read."""
        return self.send("GET", path, **headers)

    def create(self, name: str, **data: str) -> Answer:
        """Create a ConfigMap."""
        return self.send("POST", CONFIG_MAPS, config_map(name, **data))

    def patch(self, name: str, **data: str) -> Answer:
        """Change a ConfigMap."""
        return self.send("PATCH", f"{CONFIG_MAPS}/{name}", {"data": data}, Content_Type=MERGE_PATCH)


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@contextmanager
def watching(url: str, path: str, **query: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a watch, as they come."""
    host = urlsplit(url)
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=20)
    parameters = "&".join(f"{name}={value}" for name, value in {"watch": "1", **query}.items())
    connection.request("GET", f"{path}?{parameters}")
    response = connection.getresponse()
    assert response.status == 200, response.read()
    try:
        yield (json.loads(line) for line in response)
    finally:
        response.close()
        connection.close()


def exchange(url: str, sent: bytes, *, half_close: bool = True) -> bytes:
    """Send bytes on a connection of their own, and everything that comes back until the server hangs up."""
    host = urlsplit(url)
    with socket.create_connection((host.hostname, host.port or 80), timeout=20) as connection:
        try:
            connection.sendall(sent)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:  # the server has refused it in the middle, and says why
            pass
        received = b""
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionResetError:
            pass
    return received


@dataclass
class Process:
    """``kontend serve`` in a process of its own."""

    popen: subprocess.Popen[str]
    url: str


@cache
def _bytecode() -> str:
    """A place for compiled modules, so that the second process starts faster than the first."""
    directory = tempfile.mkdtemp(prefix="kontend-tests-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@contextmanager
def process(*options: str) -> Iterator[Process]:
    """Run ``kontend serve`` and wait until it is ready; it is killed at the end if it still runs."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "kontend.cli", "serve", "--port", "0", "--ready-fd", str(writing), *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONPYCACHEPREFIX": _bytecode()}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        command, pass_fds=[writing], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as popen:
        os.close(writing)
        try:
            with os.fdopen(reading) as ready:
                url = ready.readline().strip()
            yield Process(popen, url)
        finally:
            popen.kill()


def until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Ask until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
