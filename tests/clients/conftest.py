"""Real clients against ``kontend serve``: a server of its own process, and a namespace for each test."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

#: The operator runs in a process of its own, where kopf is installed.
collect_ignore = ["kopf_operator.py"]
CRDS = Path(__file__).parent / "crds.yaml"
_serials = itertools.count(1)


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    url: str
    kubeconfig: Path

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Ask it something without any client."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def wait_for(self, path: str, name: str, happened: Callable[[str, Any], bool], since: str = "") -> Any:
        """Watch one object, or any if it has no name, until something has happened to it, and return it."""
        query = {"watch": "1", "timeoutSeconds": "30", "resourceVersion": since}
        if name:
            query["fieldSelector"] = f"metadata.name={name}"
        with urllib.request.urlopen(f"{self.url}{path}?{urlencode(query)}", timeout=40) as stream:
            for line in stream:
                event = json.loads(line)
                if happened(event["type"], event["object"]):
                    return event["object"]
        raise AssertionError(f"it did not happen to {path}/{name}")

    def wait_until_gone(self, path: str, name: str) -> None:
        """Wait until an object is no more."""
        answer = self.request("GET", path)
        if name in [item["metadata"]["name"] for item in answer["items"]]:
            version = answer["metadata"]["resourceVersion"]
            self.wait_for(path, name, lambda kind, _: kind == "DELETED", since=version)


@contextmanager
def serving(kubeconfig: Path, *options: str) -> Iterator[Running]:
    """``kontend serve`` as a user starts it, with a few definitions."""
    ready, tell = os.pipe()
    always = ["--port", "0", "--kubeconfig", str(kubeconfig), "--crds", str(CRDS), "--ready-fd", str(tell)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kontend.cli", "serve", *always, *options], stdout=subprocess.DEVNULL, pass_fds=[tell]
    )
    os.close(tell)
    with os.fdopen(ready) as pipe:
        url = pipe.read().strip()
    try:
        assert url, "the server did not start"
        yield Running(url, kubeconfig)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server without any security."""
    with serving(tmp_path_factory.mktemp("server") / "kubeconfig") as running:
        yield running


@pytest.fixture
def namespace(server: Running) -> str:
    """A namespace that no other test uses."""
    name = f"test-{next(_serials)}"
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return name
