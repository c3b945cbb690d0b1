"""A kopf operator that runs unchanged, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import Running

pytest.importorskip("kopf", reason="the kopf package is not installed (group clients)")
pytest.importorskip("kubernetes", reason="the kubernetes package is not installed (group clients)")

OPERATOR = Path(__file__).parent / "kopf_operator.py"


@pytest.fixture
def operator(server: Running, namespace: str) -> Iterator[None]:
    command = [sys.executable, "-m", "kopf", "run", str(OPERATOR), "--standalone", "--namespace", namespace]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    yield
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert "Traceback" not in output


@pytest.mark.usefixtures("operator")
def test_handlers_fire_and_write_status_and_finalizers(server: Running, namespace: str) -> None:
    gardens = f"/apis/clients.kontend.dev/v1/namespaces/{namespace}/gardens"
    config_maps = f"/api/v1/namespaces/{namespace}/configmaps"

    def until(check: Any) -> Any:
        return server.wait_for(gardens, "rose", lambda _, obj: bool(check(obj.get("status") or {})))

    garden = {"apiVersion": "clients.kontend.dev/v1", "kind": "Garden", "metadata": {"name": "rose"}}
    server.request("POST", gardens, {**garden, "spec": {"plant": "rose"}})
    made = until(lambda status: status.get("create") == {"child": "rose-plan"})
    assert made["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    child = server.request("GET", f"{config_maps}/rose-plan")
    assert child["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]

    merge = "application/merge-patch+json"
    server.request("PATCH", f"{gardens}/rose", {"spec": {"plant": "tulip"}}, merge)
    until(lambda status: status.get("phase") == "Replanted with tulip")
    assert server.request("GET", f"{config_maps}/rose-plan")["data"] == {"plant": "tulip"}

    server.request("PATCH", f"{gardens}/rose", {"spec": {"replicas": 3}}, merge)
    until(lambda status: status.get("replicas") == 1 and "kopf" not in status)

    server.request("DELETE", f"{gardens}/rose")
    server.wait_until_gone(gardens, "rose")
    assert server.request("GET", config_maps)["items"] == []
    events = f"/api/v1/namespaces/{namespace}/events"
    event = server.wait_for(events, "", lambda _, obj: bool(obj["reason"] == "Planting"))
    assert event["involvedObject"]["name"] == "rose"
