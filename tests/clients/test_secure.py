"""TLS and tokens: the kubeconfig carries what a client needs, and nobody else gets in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.conftest import Running, serving
from clients.test_controller_runtime import binary


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    directory = tmp_path_factory.mktemp("secure")
    with serving(directory / "kubeconfig", "--tls", "--token", "ann=secret", "--token", "bob=other") as running:
        yield running


def test_kubectl_speaks_as_each_user(secure: Running, tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on the PATH (Debian has it as kubernetes-client)")
    environment = {**os.environ, "KUBECONFIG": str(secure.kubeconfig), "HOME": str(tmp_path)}
    for context, name in (("kontend", "one"), ("kontend-bob", "two")):
        command = [kubectl, "--context", context, "create", "configmap", name, "-o", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["metadata"]["name"] == name


def test_the_python_client_trusts_the_certificate(secure: Running) -> None:
    pytest.importorskip("kubernetes", reason="the kubernetes package is not installed (group clients)")
    from kubernetes import client, config

    with config.new_client_from_config(str(secure.kubeconfig)) as api:
        assert "default" in [item.metadata.name for item in client.CoreV1Api(api).list_namespace().items]


def test_controller_runtime_gets_its_lease(secure: Running) -> None:
    environment = {**os.environ, "KUBECONFIG": str(secure.kubeconfig)}
    process = subprocess.Popen([str(binary())], env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    output = next(line for line in process.stderr if "Successfully acquired lease" in line or "error" in line)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert "Successfully acquired lease" in output


def test_without_a_token_nothing_is_told(secure: Running) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(secure.url + "/api/v1/namespaces", context=context, timeout=30)
    with refused.value as answer:
        assert json.load(answer)["reason"] == "Unauthorized"
