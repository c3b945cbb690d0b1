"""``kontend run examples/toolhive`` against ``kontend serve --controllers --pods``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from example_operators.stack import operator

SERVER = "VirtualMCPServer.toolhive.stacklok.dev/v1alpha1"
BACKEND = "MCPServer.toolhive.stacklok.dev/v1alpha1"
DEPLOYMENT = "Deployment.apps/v1"
Object = dict[str, Any]


def new(kind: str, name: str, **spec: Any) -> Object:
    kind, _, group = kind.partition(".")
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": {"groupRef": "tools", **spec}}


def conditions(server: Object) -> dict[str, str]:
    return {
        condition["type"]: condition["status"] for condition in (server.get("status") or {}).get("conditions") or []
    }


def test_operator_and_reporter_write_one_status(tmp_path: Path) -> None:
    with operator(tmp_path, "toolhive") as stack:
        assert not stack.client.apply(new(SERVER, "front", image="vmcp:1"), new(BACKEND, "search"))
        both = {"Ready": "True", "BackendsDiscovered": "True"}
        server = stack.wait_for(SERVER, "front", lambda obj: conditions(obj) == both)
        created = stack.get(DEPLOYMENT, "front")
        assert created is not None
        assert server["status"]["deployment"]["uid"] == created["metadata"]["uid"]
        assert server["status"]["phase"] == "Ready"
        assert server["status"]["discoveredBackends"] == ["search"]

        assert not stack.client.apply(new(BACKEND, "mail"))
        stack.wait_for(SERVER, "front", lambda obj: obj["status"]["backendCount"] == 2)
        stack.client.delete(BACKEND, "mail")
        stack.client.delete(BACKEND, "search")
        server = stack.wait_for(SERVER, "front", lambda obj: conditions(obj)["BackendsDiscovered"] == "False")
        assert conditions(server)["Ready"] == "True"
        assert server["status"]["url"] == "http://front.default.svc:4483"
