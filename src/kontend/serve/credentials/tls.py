"""A certificate authority of the server's own, and a certificate from it.

Made with the ``cryptography`` package, which is in the extra ``tls``: most users serve their own machine without it. In
a data directory the certificates are kept, so that clients which know the authority still trust the server tomorrow.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kontend.safe_files import write_private
from kontend.serve.credentials.client_ca_names import send_names

if TYPE_CHECKING:
    from cryptography import x509

_LIFETIME: Final = datetime.timedelta(days=3650)
_FILES: Final = ("ca.crt", "tls.crt", "tls.key")
#: Kept beside them; directories of older releases do not have it.
_AUTHORITY_KEY: Final = "ca.key"


class TlsUnavailable(Exception):
    """``--tls`` cannot be had; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """The authority's certificate, the server's, the server's key, and the authority's if it is known: PEM."""

    ca: bytes
    certificate: bytes
    key: bytes
    ca_key: bytes = b""

    def context(self, client_ca: str = "", *, http2: bool = True) -> ssl.SSLContext:
        """For a server; with ``client_ca`` (PEM), for one that knows clients by certificates of that authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with tempfile.TemporaryDirectory() as directory:  # the ssl module reads keys from files only
            path = Path(directory, "server.pem")
            write_private(path, self.key + self.certificate)
            context.load_cert_chain(path)
        if client_ca:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(cadata=client_ca)
            send_names(context, client_ca)
        context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])  # last: send_names sets them too
        return context


def certificates(address: str, directory: Path | None = None, *, names: Sequence[str] = ()) -> Certificates:
    """Certificates for a server at ``address`` and on this machine: the ones in ``directory``, or new ones.

    ``names`` are further ones that new certificates are for.
    """
    if directory is not None and all((directory / name).exists() for name in _FILES):
        key = directory / _AUTHORITY_KEY
        ca, certificate, own_key = ((directory / name).read_bytes() for name in _FILES)
        return Certificates(ca, certificate, own_key, key.read_bytes() if key.exists() else b"")
    made = _make([address, *names])
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        contents = (made.ca, made.certificate, made.key, made.ca_key)
        for name, content in zip((*_FILES, _AUTHORITY_KEY), contents, strict=True):
            write_private(directory / name, content)
    return made


def _make(addresses: Sequence[str]) -> Certificates:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError:
        raise TlsUnavailable(
            "--tls needs the package cryptography; install it with: pip install 'kontend[tls]'"
        ) from None

    now = datetime.datetime.now(datetime.UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def builder(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("kontend CA"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + _LIFETIME)
        )

    def pem(certificate: x509.Certificate) -> bytes:
        return certificate.public_bytes(serialization.Encoding.PEM)

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = (
        builder("kontend CA", ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    certificate = (
        builder("kontend", key)
        .add_extension(x509.SubjectAlternativeName(_names(addresses)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )

    def private(private_key: ec.EllipticCurvePrivateKey) -> bytes:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return private_key.private_bytes(encoding, form, serialization.NoEncryption())

    return Certificates(pem(ca), pem(certificate), private(key), private(ca_key))


def _names(addresses: Sequence[str]) -> list[x509.GeneralName]:
    from cryptography import x509

    names: dict[str, x509.GeneralName] = {}
    for text in ("localhost", "127.0.0.1", "::1", *addresses, socket.gethostname()):
        try:
            names[text] = x509.IPAddress(ipaddress.ip_address(text))
        except ValueError:
            if text.isascii():
                names[text] = x509.DNSName(text)
    return list(names.values())
