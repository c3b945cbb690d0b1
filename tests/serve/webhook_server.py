"""A webhook server over HTTPS, with a certificate for a service."""

from __future__ import annotations

import datetime
import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass
class Hooks:
    """A server that runs: where, and the authority of its certificate as a configuration wants it."""

    url: str
    ca_bundle: str


@contextmanager
def webhook_server(directory: Path, functions: dict[str, Callable[[Json], Json]], *names: str) -> Iterator[Hooks]:
    """Serve functions by path, with a certificate for ``names`` and 127.0.0.1."""
    certificate = make_certificate(directory, *names)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            function = functions.get(self.path.partition("?")[0])
            body = b"not found" if function is None else json.dumps(function(review)).encode()
            self.send_response(404 if function is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        public = certificate.read_bytes()
        bundle = b64encode(public[public.index(b"-----BEGIN CERTIFICATE") :]).decode()
        yield Hooks(f"https://127.0.0.1:{server.server_port}", bundle)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_certificate(directory: Path, *names: str) -> Path:
    """A file with a key and a certificate that is its own authority."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks")])
    alternatives = [x509.DNSName(name_) for name_ in names]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([*alternatives, x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = directory / "hooks.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
