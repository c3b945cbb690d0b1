"""An operator of ``examples`` in a process of its own, against ``kontend serve --controllers --pods`` in another."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import yaml

from clients.conftest import Running, serving
from clients.test_kubectl import CURRENT
from kontend import Api, NotFound, merge_patch, new_object
from kontend.kube.meta.names import parse_kind
from kontend.runtime.client.http_backend import HttpBackend

EXAMPLES = Path(__file__).parents[2] / "examples"
_PATIENCE = 120
Object = dict[str, Any]


class Client(Protocol):
    """A user's client."""

    def apply(self, *objects: Object) -> str:
        """Create objects; returns the reason of a refusal."""

    def patch(self, kind: str, name: str, change: Object) -> str:
        """Merge a change into an object; returns the reason of a refusal."""

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, and do not wait."""


class Kubectl:
    """kubectl, as people use it."""

    def __init__(self, binary: str, server: Running, home: Path) -> None:
        self._command = [binary, "--cache-dir", str(home)]
        self._environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(home)}

    def apply(self, *objects: Object) -> str:
        return self._run("create", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def patch(self, kind: str, name: str, change: Object) -> str:
        return self._run("patch", _resource(kind), name, "--type=merge", "-p", json.dumps(change))

    def delete(self, kind: str, name: str) -> None:
        assert not self._run("delete", _resource(kind), name, "--wait=false")

    def _run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        return done.stderr if done.returncode else ""


class OwnClient:
    """The client of the runtime, for machines without kubectl."""

    def __init__(self, server: Running) -> None:
        self._url = server.url

    def apply(self, *objects: Object) -> str:
        return "".join(self._call(partial(self._create, obj)) for obj in objects)

    def patch(self, kind: str, name: str, change: Object) -> str:
        return self._call(lambda api: api.patch(new_object(kind, name, namespace="default"), merge_patch(change)))

    def delete(self, kind: str, name: str) -> None:
        assert not self._call(lambda api: api.delete(new_object(kind, name, namespace="default")))

    async def _create(self, obj: Object, api: Api) -> None:
        await api.create(dict(obj))

    def _call(self, action: Callable[[Api], Any]) -> str:
        async def run() -> None:
            backend = HttpBackend(self._url)
            try:
                await action(Api(backend))
            finally:
                backend.close()

        try:
            asyncio.run(run())
        except NotFound:
            raise
        except Exception as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Stack:
    """A server, an operator, its sidecar and a user."""

    server: Running
    client: Client
    sidecar: str = ""

    def get(self, kind: str, name: str) -> Object | None:
        """Read an object."""
        return next((obj for obj in self.objects(kind) if obj["metadata"]["name"] == name), None)

    def objects(self, kind: str) -> list[Object]:
        """Read all objects of a kind."""
        items: list[Object] = self.server.request("GET", _path(kind))["items"]
        return items

    def wait(self, kind: str, happened: Callable[[list[Object]], bool]) -> list[Object]:
        """Watch a kind until its objects are as they should be, and return them."""
        listed = self.server.request("GET", _path(kind))
        objects = {obj["metadata"]["name"]: obj for obj in listed["items"]}
        if happened(list(objects.values())):
            return list(objects.values())
        query = {"watch": "1", "timeoutSeconds": _PATIENCE, "resourceVersion": listed["metadata"]["resourceVersion"]}
        with urllib.request.urlopen(
            f"{self.server.url}{_path(kind)}?{urlencode(query)}", timeout=_PATIENCE + 10
        ) as stream:
            for line in stream:
                event = json.loads(line)
                obj = event["object"]
                objects[obj["metadata"]["name"]] = obj
                if event["type"] == "DELETED":
                    del objects[obj["metadata"]["name"]]
                if happened(list(objects.values())):
                    return list(objects.values())
        raise AssertionError(f"{kind}: it did not happen; at the end: {json.dumps(list(objects.values()), indent=1)}")

    def wait_for(self, kind: str, name: str, happened: Callable[[Object], bool]) -> Object:
        """Watch an object until it is as it should be, and return it."""
        objects = self.wait(kind, lambda objs: any(obj["metadata"]["name"] == name and happened(obj) for obj in objs))
        return next(obj for obj in objects if obj["metadata"]["name"] == name)

    def executions(self) -> dict[str, int]:
        """Return how often the sidecar has executed each command."""
        with urllib.request.urlopen(f"{self.sidecar}/executions", timeout=30) as response:
            executions: dict[str, int] = json.load(response)
        return executions


@contextmanager
def sei(directory: Path) -> Iterator[Stack]:
    """The operators of ``examples/sei`` and their simulated sidecar."""
    with _process(str(EXAMPLES / "sei" / "sidecar_server.py"), "--port", "0") as sidecar:
        assert sidecar.stdout is not None
        url = sidecar.stdout.readline().strip()
        with operator(directory, "sei", SEI_SIDECAR_URL=url, SEI_POLL_SECONDS="0.1") as stack:
            yield replace(stack, sidecar=url)


@contextmanager
def operator(directory: Path, name: str, **environment: str) -> Iterator[Stack]:
    """An operator of ``examples``, and the server that it runs against."""
    with serving(directory / "kubeconfig", "--controllers", "--pods") as server:
        client = _client(server, directory)
        assert not client.apply(*yaml.safe_load_all((EXAMPLES / name / "crds.yaml").read_text()))
        options = ["--server", server.url, "--status-address", "off"]
        with _process("-m", "kontend", "run", str(EXAMPLES / name), *options, **environment):
            yield Stack(server, client)


@contextmanager
def _process(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _client(server: Running, directory: Path) -> Client:
    binary = str(CURRENT) if CURRENT.exists() else shutil.which("kubectl")
    return OwnClient(server) if binary is None else Kubectl(binary, server, directory)


def _resource(kind: str) -> str:
    parsed = parse_kind(kind)
    return ".".join(part for part in (f"{parsed.kind.lower()}s", parsed.group) if part)


def _path(kind: str) -> str:
    parsed = parse_kind(kind)
    group = f"apis/{parsed.group}" if parsed.group else "api"
    return f"/{group}/{parsed.version}/namespaces/default/{parsed.kind.lower()}s"
