"""TLS: whom we trust, which name we expect, and the certificate we show."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest

from kontend.runtime.client.http_backend import HttpBackend, Unreachable
from kontend.runtime.client.kubeconfig import Config, load
from runtime.samples import CONFIG_MAP
from runtime.stub_server import StubServer
from serve.wire import process

x509 = pytest.importorskip("cryptography.x509", reason="the extra tls is not installed")


async def no_pause(_: float) -> None:
    """Try again at once."""


def discover(config: Config) -> str:
    """One request; the plural of ConfigMap."""

    async def run() -> str:
        backend = HttpBackend(config, sleep=no_pause)
        try:
            return (await backend.served(CONFIG_MAP)).plural
        finally:
            backend.close()

    return asyncio.run(run())


def test_a_server_is_trusted_by_its_kubeconfig_and_by_nothing_else(tmp_path: Path) -> None:
    with process("--tls", "--token", "ann=s3cret", "--data", str(tmp_path)):
        config = load(path=tmp_path / "kontend.kubeconfig")
        assert discover(config) == "configmaps"
        stranger = Config(config.server, token=config.token)
        with pytest.raises(Unreachable, match="certificate verify failed"):
            discover(stranger)
        assert discover(Config(config.server, token=config.token, insecure=True)) == "configmaps"
        named = Config(config.server, token=config.token, ca=config.ca, tls_server_name="localhost")
        assert discover(named) == "configmaps"
        with pytest.raises(Unreachable, match="certificate verify failed"):
            discover(Config(config.server, token=config.token, ca=config.ca, tls_server_name="elsewhere"))


def identity() -> tuple[str, str]:
    """A certificate that vouches for itself, and its key."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "jane")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def test_a_client_certificate_is_shown_and_its_key_is_left_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kontend.serve.credentials.tls import certificates

    certificate, key = identity()
    context: Any = certificates("127.0.0.1").context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=certificate)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def run(**options: Any) -> str:
        async with StubServer(tls=context) as server:
            backend = HttpBackend(Config(server.url, insecure=True, **options), sleep=no_pause)
            try:
                return (await backend.served(CONFIG_MAP)).plural
            finally:
                backend.close()

    assert asyncio.run(run(client_certificate=certificate, client_key=key)) == "configmaps"
    assert list(tmp_path.iterdir()) == []
