"""``--tls``: a certificate that the kubeconfig trusts."""

from __future__ import annotations

import base64
import ssl
import urllib.request
from pathlib import Path

import pytest
import yaml

from serve.wire import process

pytest.importorskip("cryptography", reason="the extra tls is not installed")


def test_a_client_with_the_kubeconfig_trusts_the_server(tmp_path: Path) -> None:
    """And needs the token in it; after a restart with the same data the authority is the same."""
    found = []
    for _ in range(2):
        with process("--tls", "--token", "ann=s3cret", "--data", str(tmp_path)) as server:
            config = yaml.safe_load((tmp_path / "kontend.kubeconfig").read_text())
            cluster = config["clusters"][0]["cluster"]
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            token = config["users"][0]["user"]["token"]
            request = urllib.request.Request(f"{server.url}/version", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, context=ssl.create_default_context(cadata=ca)) as answer:
                assert answer.status == 200
            assert cluster["server"] == server.url
            assert server.url.startswith("https://127.0.0.1:")
            found.append(ca)
    assert found[0] == found[1]
    assert (tmp_path / "kontend.kubeconfig").stat().st_mode & 0o077 == 0
