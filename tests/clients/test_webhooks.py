"""An operator as kubebuilder makes it, in Go: a controller with defaulting, validating and conversion webhooks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from clients.conftest import Running, serving
from clients.test_controller_runtime import MERGE, binary
from serve.webhook_server import make_certificate

pytest.importorskip("cryptography", reason="the extra tls is not installed")
SERVICE = "kiln-webhook-service"
KILNS = "/apis/clients.kontend.dev/{version}/namespaces/default/kilns"


@dataclass
class Operator:
    """A server and the operator that runs against it."""

    server: Running

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The answer to a request, also to one that was refused."""
        try:
            return self.server.request(method, path, body, content_type)
        except urllib.error.HTTPError as refused:
            return json.load(refused)


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    program = binary()
    directory = tmp_path_factory.mktemp("webhooks")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    pem = make_certificate(directory, f"{SERVICE}.default.svc").read_bytes()
    at = pem.index(b"-----BEGIN CERTIFICATE")
    (directory / "tls.key").write_bytes(pem[:at])
    (directory / "tls.crt").write_bytes(pem[at:])
    with serving(directory / "kubeconfig", "--service", f"default/{SERVICE}=https://127.0.0.1:{port}") as server:
        for path, obj in _configuration(pem[at:]):
            server.request("POST", path, obj)
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
        command = [str(program), "--webhook-certificates", str(directory), "--webhook-port", str(port)]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if "Serving webhook server" in line:
                break
        yield Operator(server)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors


def _configuration(authority: bytes) -> Iterator[tuple[str, Any]]:
    from base64 import b64encode

    bundle = b64encode(authority).decode()

    def client(path: str) -> dict[str, Any]:
        service = {"namespace": "default", "name": SERVICE, "path": path}
        return {"service": service, "caBundle": bundle}

    def version(name: str, spec: dict[str, Any], *, storage: bool) -> dict[str, Any]:
        status = {"type": "object", "properties": {"phase": {"type": "string"}}}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}}
        served = {"name": name, "served": True, "storage": storage, "subresources": {"status": {}}}
        return {**served, "schema": {"openAPIV3Schema": schema}}

    conversion = {"clientConfig": client("/convert"), "conversionReviewVersions": ["v1"]}
    yield (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "kilns.clients.kontend.dev"},
            "spec": {
                "group": "clients.kontend.dev",
                "scope": "Namespaced",
                "names": {"plural": "kilns", "kind": "Kiln"},
                "conversion": {"strategy": "Webhook", "webhook": conversion},
                "versions": [
                    version("v1", {"temperature": {"type": "string"}}, storage=False),
                    version("v2", {"degrees": {"type": "integer"}, "unit": {"type": "string"}}, storage=True),
                ],
            },
        },
    )
    for kind, path, operations in (
        ("mutating", "mutate", ["CREATE", "UPDATE"]),
        ("validating", "validate", ["CREATE", "UPDATE", "DELETE"]),
    ):
        rule = {"apiGroups": ["clients.kontend.dev"], "apiVersions": ["v2"], "operations": operations}
        hook = {
            "name": f"{kind}.clients.kontend.dev",
            "clientConfig": client(f"/{path}-clients-kontend-dev-v2-kiln"),
            "rules": [{**rule, "resources": ["kilns"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        where = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
        yield where, {"metadata": {"name": "kilns"}, "webhooks": [hook]}


def test_defaults_validation_and_the_controller(operator: Operator) -> None:
    kilns = KILNS.format(version="v2")
    made = operator.send("POST", kilns, {"metadata": {"name": "a"}, "spec": {"degrees": 900}} | _kind("v2"))
    assert made["spec"] == {"degrees": 900, "unit": "C"}
    heated = operator.server.wait_for(kilns, "a", lambda _, obj: bool(obj.get("status")))
    assert heated["status"]["phase"] == "Heating to 900C"
    refused = operator.send("PATCH", f"{kilns}/a", {"spec": {"degrees": 2000}}, MERGE)
    assert refused["code"] == 403
    assert refused["message"] == (
        'admission webhook "validating.clients.kontend.dev" denied the request: 2000 degrees would melt it'
    )
    operator.send("PATCH", f"{kilns}/a", {"metadata": {"labels": {"lit": "true"}}}, MERGE)
    assert "it burns" in operator.send("DELETE", f"{kilns}/a")["message"]
    operator.send("PATCH", f"{kilns}/a", {"metadata": {"labels": {"lit": None}}}, MERGE)
    assert operator.send("DELETE", f"{kilns}/a")["status"] == "Success"


def test_both_versions_are_served(operator: Operator) -> None:
    old, new = KILNS.format(version="v1"), KILNS.format(version="v2")
    made = operator.send("POST", old, {"metadata": {"name": "b"}, "spec": {"temperature": "800"}} | _kind("v1"))
    assert made["spec"] == {"temperature": "800C"}  # the webhook of v2 has defaulted the unit
    assert operator.send("GET", f"{new}/b")["spec"] == {"degrees": 800, "unit": "C"}
    seen = operator.server.wait_for(old, "b", lambda _, obj: bool(obj.get("status")))
    assert (seen["spec"], seen["status"]) == ({"temperature": "800C"}, {"phase": "Heating to 800C"})
    hotter = operator.send("PATCH", f"{old}/b", {"spec": {"temperature": "1500F"}}, MERGE)
    assert "1500 degrees would melt it" in hotter["message"]
    assert operator.send("PATCH", f"{old}/b", {"spec": {"temperature": "1000F"}}, MERGE)["spec"] == {
        "temperature": "1000F"
    }
    assert [item["spec"]["unit"] for item in operator.send("GET", new)["items"]] == ["F"]
    wrong = operator.send("POST", old, {"metadata": {"name": "c"}, "spec": {"temperature": "hot"}} | _kind("v1"))
    assert wrong["code"] == 500
    assert '"hot" is no temperature' in wrong["message"]


def _kind(version: str) -> dict[str, str]:
    return {"apiVersion": f"clients.kontend.dev/{version}", "kind": "Kiln"}
