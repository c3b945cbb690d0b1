"""A certificate authority that signs the requests of users and kubelets, by the rules of kube-controller-manager."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

API_CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"

_BACKDATED: Final = datetime.timedelta(minutes=5)
#: Certificates with a shorter life keep all of it; others give the backdated minutes away.
_SHORT: Final = datetime.timedelta(hours=8)
_KEY_USAGES: Final = {
    "signing": "digital_signature", "digital signature": "digital_signature",
    "content commitment": "content_commitment", "key encipherment": "key_encipherment",
    "key agreement": "key_agreement", "data encipherment": "data_encipherment", "cert sign": "key_cert_sign",
    "crl sign": "crl_sign", "encipher only": "encipher_only", "decipher only": "decipher_only",
}  # fmt: skip
_EXTENDED: Final = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH, "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION, "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"), "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}  # fmt: skip
_PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey


class BadAuthority(Exception):
    """The certificate and the key of an authority do not make one; the message says why."""


class BadSigningRequest(Exception):
    """A certificate signing request breaks the rules of its signer."""


class CertificateAuthority:
    """A certificate that may sign others, and its key."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        """Both PEM. Raises :class:`BadAuthority`."""
        try:
            self._certificate = x509.load_pem_x509_certificate(certificate)
            loaded = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError) as error:
            raise BadAuthority(f"expected a certificate and an unencrypted key in PEM: {error}") from None
        if not isinstance(loaded, _PrivateKey):
            raise BadAuthority("expected an RSA, ECDSA or EdDSA key")
        if loaded.public_key() != self._certificate.public_key():
            raise BadAuthority("the key is not that of the certificate")
        self._key = loaded

    def sign(self, signer: str, request: bytes, usages: Sequence[str], seconds: int) -> bytes:
        """Return the certificate (PEM) that ``signer`` issues for a request (PEM). Raises
        :class:`BadSigningRequest`."""
        csr = x509.load_pem_x509_csr(request)
        problem = _RULES[signer](csr, frozenset(usages))
        if problem:
            raise BadSigningRequest(problem)
        now, life = datetime.datetime.now(datetime.UTC), datetime.timedelta(seconds=seconds)
        end = now + life if life < _SHORT else now + life - _BACKDATED
        builder = (
            x509.CertificateBuilder()
            .subject_name(csr.subject)
            .issuer_name(self._certificate.subject)
            .public_key(csr.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(min(end, self._certificate.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(self._identifier(), critical=False)
        )
        for extension in (*_usage_extensions(usages), *_alternative_names(csr)):
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.KeyUsage))
        unhashed = isinstance(self._key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey)
        return builder.sign(self._key, None if unhashed else hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _identifier(self) -> x509.AuthorityKeyIdentifier:
        try:
            own = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)


def _usage_extensions(usages: Sequence[str]) -> list[x509.ExtensionType]:
    asked = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    extended = [_EXTENDED[usage] for usage in usages if usage in _EXTENDED]
    extensions: list[x509.ExtensionType] = []
    if asked:
        extensions.append(x509.KeyUsage(**{name: name in asked for name in dict.fromkeys(_KEY_USAGES.values())}))
    return [*extensions, x509.ExtendedKeyUsage(list(dict.fromkeys(extended)))] if extended else extensions


def _alternative_names(csr: x509.CertificateSigningRequest) -> list[x509.SubjectAlternativeName]:
    try:
        return [csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value]
    except x509.ExtensionNotFound:
        return []


def _api_client(_csr: x509.CertificateSigningRequest, usages: frozenset[str]) -> str:
    for usage in sorted(usages - {"digital signature", "key encipherment", "client auth"}):
        return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _kubelet_client(csr: x509.CertificateSigningRequest, usages: frozenset[str]) -> str:
    if _organizations(csr) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    for kind, named in (
        (x509.DNSName, "DNS"), (x509.RFC822Name, "Email"), (x509.IPAddress, "IP"),
        (x509.UniformResourceIdentifier, "URI"),
    ):  # fmt: skip
        if _has(csr, kind):
            return f"{named} subjectAltNames are not allowed"
    if not _common_name(csr).startswith("system:node:"):
        return "subject common name does not begin with system:node:"
    return _usages_match(usages, "client auth")


def _kubelet_serving(csr: x509.CertificateSigningRequest, usages: frozenset[str]) -> str:
    if _organizations(csr) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    if not (_has(csr, x509.DNSName) or _has(csr, x509.IPAddress)):
        return "DNS or IP subjectAltName is required"
    if _has(csr, x509.RFC822Name):
        return "Email subjectAltNames are not allowed"
    if _has(csr, x509.UniformResourceIdentifier):
        return "URI subjectAltNames are not allowed"
    problem = _usages_match(usages, "server auth")
    if problem:
        return problem
    return (
        "" if _common_name(csr).startswith("system:node:") else "subject common name does not begin with system:node:"
    )


def _usages_match(usages: frozenset[str], purpose: str) -> str:
    needed = {"digital signature", purpose}
    if usages in (needed, needed | {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(needed | {'key encipherment'}))}]"


def _organizations(csr: x509.CertificateSigningRequest) -> list[str]:
    return [str(part.value) for part in csr.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _common_name(csr: x509.CertificateSigningRequest) -> str:
    return "".join(str(part.value) for part in csr.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:])


def _has(csr: x509.CertificateSigningRequest, kind: type[x509.GeneralName]) -> bool:
    return any(isinstance(name, kind) for names in _alternative_names(csr) for name in names)


_Rule = Callable[[x509.CertificateSigningRequest, frozenset[str]], str]
_RULES: Final[Mapping[str, _Rule]] = {
    API_CLIENT: _api_client,
    KUBELET_CLIENT: _kubelet_client,
    KUBELET_SERVING: _kubelet_serving,
}
SIGNERS: Final = tuple(_RULES)
