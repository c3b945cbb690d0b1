"""Certificates and requests for them: enough of DER to refuse what is none, in Go's words.

A signature is checked where the package ``cryptography`` is installed (the extra ``tls``); without it a request whose
shape is right is believed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_SEQUENCE: Final = 0x30
_OPTIONS: Final = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


class X509Error(ValueError):
    """A text that is no certificate, or no request for one; the message is Go's."""


class _Element(NamedTuple):
    tag: int
    body: bytes
    rest: bytes


def _element(data: bytes, *, sequence: bool = False) -> _Element:
    """Take the first element off; one that must be a ``sequence`` is refused before its end is looked for."""
    if not data:
        raise X509Error("asn1: syntax error: sequence truncated")
    if len(data) < 2:
        raise X509Error("asn1: syntax error: truncated tag or length")
    length, start = data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if count == 0:
            raise X509Error("asn1: syntax error: indefinite length found (not DER)")
        if count > 4:
            raise X509Error("asn1: structure error: length too large")
        if len(data) < 2 + count:
            raise X509Error("asn1: syntax error: truncated tag or length")
        length, start = int.from_bytes(data[2 : 2 + count], "big"), 2 + count
    if sequence and data[0] != _SEQUENCE:
        kind = f"{{class:{data[0] >> 6} tag:{data[0] & 0x1F} length:{length} "
        kind += f"isCompound:{'true' if data[0] & 0x20 else 'false'}}}"
        raise X509Error(f"asn1: structure error: tags don't match (16 vs {kind}) {_OPTIONS} certificateRequest @2")
    if len(data) < start + length:
        raise X509Error("asn1: syntax error: data truncated")
    return _Element(data[0], data[start : start + length], data[start + length :])


def check_certificate_request(der: bytes) -> None:
    """Refuses what is no PKCS #10 request, and one whose signature is wrong."""
    element = _element(der, sequence=True)
    if element.rest:
        raise X509Error("asn1: syntax error: trailing data")
    body = element.body
    for _ in range(3):  # the request, the algorithm and the signature
        body = _element(body).rest
    _check_signature(der)


def _check_signature(der: bytes) -> None:
    try:
        from cryptography import x509  # an extra, and few need it
    except ImportError:
        return
    try:
        request = x509.load_der_x509_csr(der)
        genuine = request.is_signature_valid
    except ValueError as error:
        raise X509Error(f"x509: malformed certificate request: {error}") from None
    if not genuine:
        ecdsa = "ECDSA" in request.signature_algorithm_oid._name.upper()
        raise X509Error("x509: ECDSA verification failure" if ecdsa else "crypto/rsa: verification error")


def check_certificates(der: bytes) -> int:
    """Count the certificates that stand one after the other, and refuses what is none."""
    count = 0
    while der:
        try:
            element = _element(der)
            parts = element.body
            for _ in range(3):
                parts = _element(parts).rest
        except X509Error:
            raise X509Error("x509: malformed certificate") from None
        if element.tag != _SEQUENCE or parts:
            raise X509Error("x509: malformed certificate")
        der = element.rest
        count += 1
    return count
