"""A manager of controller-runtime, in Go: protobuf requests, watches, status patches and leader election."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import Running, serving

SOURCES = Path(__file__).parent / "go"
Start = Callable[[], "subprocess.Popen[str]"]
MERGE = "application/merge-patch+json"


def binary() -> Path:
    """The controller, where tools/build_clients.py puts it: its name says from which sources it was built."""
    files = sorted(path for path in SOURCES.iterdir() if path.name.startswith("go.") or path.suffix == ".go")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    file = Path.home() / ".cache" / "kontend" / f"gardener-{digest}"
    if not file.exists():
        pytest.skip("the Go controller is not built: run tools/build_clients.py")
    return file


@pytest.fixture
def start(server: Running, namespace: str) -> Iterator[Start]:
    """Starts managers, which end with the test."""
    program = binary()
    running: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
        command = [str(program), "--namespace", namespace]
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield begin
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        _, output = process.communicate(timeout=30)
        assert process.returncode == 0, output
        refused = [json.loads(line)["error"] for line in output.splitlines() if "Reconciler error" in line]
        # A stale cache is refused, and the controller tries again: that is how it should be. The last is our signal.
        usual = ("the object has been modified", "already exists", "context canceled")
        assert [why for why in refused if not any(text in why for text in usual)] == []


def test_a_manager_creates_what_it_owns_and_reports(server: Running, namespace: str, start: Start) -> None:
    gardens = f"/apis/clients.kontend.dev/v1/namespaces/{namespace}/gardens"
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"

    def garden_when(check: Callable[[dict[str, Any]], bool]) -> Any:
        return server.wait_for(gardens, "rose", lambda _, obj: check(obj.get("status") or {}))

    garden = {"apiVersion": "clients.kontend.dev/v1", "kind": "Garden", "metadata": {"name": "rose"}}
    server.request("POST", gardens, {**garden, "spec": {"plant": "rose:1", "replicas": 2}})
    start()
    grown = garden_when(lambda status: status.get("phase") == "Growing")
    assert grown["metadata"]["finalizers"] == ["clients.kontend.dev/garden"]
    assert grown["status"]["observedGeneration"] == grown["metadata"]["generation"]
    child = server.request("GET", f"{deployments}/rose")
    assert child["metadata"]["ownerReferences"][0] == {
        "apiVersion": "clients.kontend.dev/v1", "kind": "Garden", "name": "rose", "uid": grown["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    assert child["spec"]["replicas"] == 2
    assert child["metadata"]["managedFields"][0]["manager"].startswith("gardener")

    status = {"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}}
    server.request("PATCH", f"{deployments}/rose/status", status, MERGE)
    assert garden_when(lambda status: status.get("phase") == "Blooming")["status"]["replicas"] == 2

    server.request("PATCH", f"{gardens}/rose", {"spec": {"plant": "rose:2"}}, MERGE)
    server.wait_for(
        deployments, "rose", lambda _, obj: bool(obj["spec"]["template"]["spec"]["containers"][0]["image"] == "rose:2")
    )
    server.request("DELETE", f"{deployments}/rose")
    server.wait_for(
        deployments, "rose", lambda kind, obj: kind == "ADDED" and obj["metadata"]["uid"] != child["metadata"]["uid"]
    )

    server.request("DELETE", f"{gardens}/rose")
    server.wait_until_gone(gardens, "rose")
    assert server.request("GET", deployments)["items"] == []


def test_the_next_manager_leads_when_the_first_one_leaves(server: Running, namespace: str, start: Start) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def holder_when(check: Callable[[str], bool]) -> str:
        lease = server.wait_for(leases, "gardener", lambda _, obj: check(obj["spec"].get("holderIdentity", "")))
        return str(lease["spec"]["holderIdentity"])

    first = start()
    leader = holder_when(bool)
    start()
    first.send_signal(signal.SIGTERM)
    assert holder_when(lambda holder: holder not in ("", leader)) != leader
    lease = server.request("GET", f"{leases}/gardener")
    assert lease["spec"]["leaseTransitions"] >= 1


EXERCISES = ["dynamic client", "informers", "metadata client", "pods", "typed objects"]


def test_the_clients_of_client_go_do_as_they_do_elsewhere(server: Running, namespace: str) -> None:
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    command = [str(binary()), "--exercise", "--namespace", namespace]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == EXERCISES


@pytest.mark.parametrize("option", ["--tls", "--no-http2"])
def test_clients_over_tls_choose_the_protocol(tmp_path: Path, option: str) -> None:
    """HTTP/2 unless the server does not offer it; with the same outcome."""
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    command = [str(binary()), "--exercise", "--namespace", "default"]
    with serving(tmp_path / "kubeconfig", "--tls", option) as secure:
        environment = {**os.environ, "KUBECONFIG": str(secure.kubeconfig), "GODEBUG": "http2debug=1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == EXERCISES
    assert ("http2: Transport received HEADERS" in done.stderr) == (option == "--tls")
