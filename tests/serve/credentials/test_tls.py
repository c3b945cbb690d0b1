"""``--tls``: a certificate that the kubeconfig trusts."""

from __future__ import annotations

import base64
import http.client
import shutil
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kontend.serve.credentials.client_ca_names import send_names
from kontend.serve.credentials.tls import certificates
from serve.wire import Client, process

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kontend.serve.credentials.certificate_authority import BadAuthority, CertificateAuthority


def test_a_client_with_the_kubeconfig_trusts_the_server(tmp_path: Path) -> None:
    """And needs the token in it; after a restart with the same data the authority is the same."""
    objects = []
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
            objects.append(ca)
    assert objects[0] == objects[1]
    assert (tmp_path / "kontend.kubeconfig").stat().st_mode & 0o077 == 0


CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class _Tls(Client):
    """A client over TLS, with a certificate of its own if it has one."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, chain: tuple[Path, Path] | None = None):
        super().__init__(url, headers or {})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if chain is not None:
            context.load_cert_chain(*chain)
        host = urlsplit(url)
        self._connection = http.client.HTTPSConnection(host.hostname or "", host.port, timeout=20, context=context)


def _request(directory: Path, *attributes: tuple[x509.ObjectIdentifier, str], dns: str = "") -> tuple[Path, str]:
    """A new key, and a certificate signing request for it as the API takes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    path = directory / "client.key"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    builder = x509.CertificateSigningRequestBuilder()
    builder = builder.subject_name(x509.Name([x509.NameAttribute(*attribute) for attribute in attributes]))
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return path, base64.b64encode(pem).decode()


def _signed(client: Client, name: str, request: str, signer: str, usages: list[str], **more: Any) -> Any:
    """Asks for a certificate, approves it and waits for the signing controller; returns the status."""
    spec = {"request": request, "signerName": f"kubernetes.io/{signer}", "usages": usages, **more}
    assert client.send("POST", CSRS, {"metadata": {"name": name}, "spec": spec}).code == 201
    approved = client.get(f"{CSRS}/{name}").json
    approved["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}
    assert client.send("PUT", f"{CSRS}/{name}/approval", approved).code == 200
    while True:
        status = client.get(f"{CSRS}/{name}").json["status"]
        if "certificate" in status or len(status["conditions"]) > 1:
            return status


@pytest.mark.parametrize("own", [True, False])
def test_an_approved_signing_request_gets_a_certificate_that_the_server_accepts(tmp_path: Path, own: bool) -> None:
    options = ["--tls", "--controllers", "--token", "root=r00t", "--kubeconfig", str(tmp_path / "config")]
    if not own:
        made = certificates("127.0.0.1")
        (tmp_path / "ca.crt").write_bytes(made.ca)
        (tmp_path / "ca.key").write_bytes(made.ca_key)
        options += ["--client-ca", str(tmp_path / "ca.crt"), "--client-ca-key", str(tmp_path / "ca.key")]
    with process(*options) as server, _Tls(server.url, {"Authorization": "Bearer r00t"}) as admin:
        key, request = _request(tmp_path, (NameOID.ORGANIZATION_NAME, "dev"), (NameOID.COMMON_NAME, "ann"))
        usages = ["client auth", "digital signature"]
        status = _signed(admin, "ann", request, "kube-apiserver-client", usages, expirationSeconds=3600)
        pem = base64.b64decode(status["certificate"])
        issued = x509.load_pem_x509_certificate(pem)
        assert issued.not_valid_after_utc - issued.not_valid_before_utc == timedelta(seconds=3600 + 300)
        (tmp_path / "client.crt").write_bytes(pem)
        with _Tls(server.url, chain=(tmp_path / "client.crt", key)) as client:
            review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            user = client.send("POST", review, {}).json["status"]["userInfo"]
        assert (user["username"], user["groups"]) == ("ann", ["dev", "system:authenticated"])
        with _Tls(server.url) as stranger:
            assert stranger.get("/api/v1/pods").code == 401


def test_a_request_against_the_rules_of_its_signer_fails(tmp_path: Path) -> None:
    node = ((NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:node:n"))
    serving = ["digital signature", "key encipherment", "server auth"]
    client, kubelet = "kube-apiserver-client", "kube-apiserver-client-kubelet"
    cases = [
        (client, ["client auth", "server auth"], "", node, "invalid usage for client certificate: server auth"),
        (client, ["key encipherment"], "", node, "missing required usage for client certificate: client auth"),
        ("kubelet-serving", serving, "", node, "DNS or IP subjectAltName is required"),
        ("kubelet-serving", ["server auth"], "n", node, f"usages did not match [{' '.join(serving)}]"),
        ("kubelet-serving", serving, "n", node[1:], "subject organization is not system:nodes"),
        (kubelet, ["client auth"], "n", node, "DNS subjectAltNames are not allowed"),
        (kubelet, ["client auth"], "", node[:1], "subject common name does not begin with system:node:"),
    ]
    options = ("--tls", "--controllers", "--token", "root=r00t", "--kubeconfig", str(tmp_path / "config"))
    with process(*options) as server, _Tls(server.url, {"Authorization": "Bearer r00t"}) as admin:
        for number, (signer, usages, dns, subject, message) in enumerate(cases):
            _, request = _request(tmp_path, *subject, dns=dns)
            failed = _signed(admin, f"c{number}", request, signer, usages)["conditions"][1]
            assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
            assert failed["message"] == message
        _, request = _request(tmp_path, *node, dns="n")
        issued = _signed(admin, "good", request, "kubelet-serving", serving)["certificate"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(issued))
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["n"]


def test_the_handshake_names_the_authorities_of_clients() -> None:
    """Clients with several certificates choose by these names; ``openssl`` shows them."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    made = certificates("127.0.0.1")
    context = made.context(made.ca.decode())
    if not send_names(context, made.ca.decode()):
        pytest.skip("this Python hides its TLS library")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with subprocess.Popen(
            [openssl, "s_client", "-connect", f"127.0.0.1:{port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            connection = context.wrap_socket(listener.accept()[0], server_side=True)
            connection.close()
            shown = process.communicate(timeout=20)[0].decode()
    names = shown.partition("Acceptable client certificate CA names")[2]
    assert names.splitlines()[1].replace(" ", "") in ("CN=kontendCA", "/CN=kontendCA")


def test_the_signing_key_must_belong_to_the_authority(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made = certificates("127.0.0.1")
        (tmp_path / f"{name}.crt").write_bytes(made.ca)
        (tmp_path / f"{name}.key").write_bytes(made.ca_key)
    with pytest.raises(BadAuthority, match="the key is not that of the certificate"):
        CertificateAuthority((tmp_path / "a.crt").read_bytes(), (tmp_path / "b.key").read_bytes())
    with pytest.raises(BadAuthority, match="expected a certificate and an unencrypted key in PEM"):
        CertificateAuthority((tmp_path / "a.crt").read_bytes(), b"none")


@pytest.mark.parametrize(
    ("http2", "with_authority", "chosen"), [(True, False, "h2"), (True, True, "h2"), (False, True, "http/1.1")]
)
def test_clients_choose_http2_where_it_is_offered(http2: bool, with_authority: bool, chosen: str) -> None:
    """The same with a server that asks for certificates and one that does not."""
    made = certificates("127.0.0.1")
    context = made.context(made.ca.decode() if with_authority else "", http2=http2)
    client = ssl.create_default_context(cadata=made.ca.decode())
    client.set_alpn_protocols(["h2", "http/1.1"])
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = context.wrap_bio(theirs, ours, server_side=True)
    client_side = client.wrap_bio(ours, theirs, server_hostname="127.0.0.1")
    for side in (client_side, server_side, client_side, server_side):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client_side.selected_alpn_protocol() == chosen
