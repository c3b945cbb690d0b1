"""Certificates of ``kontend serve``: the server's own, those it accepts from clients, and those it issues."""

from __future__ import annotations

import argparse
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from kontend.cli.command import UsageError
from kontend.serve.credentials.tls import Certificates, TlsUnavailable, certificates

if TYPE_CHECKING:
    from kontend.serve.credentials.certificate_authority import CertificateAuthority


def of_server(options: argparse.Namespace) -> Certificates | None:
    """Return the certificates for ``--tls``; with ``--data`` they are kept, for each address."""
    if not options.tls:
        return None
    try:
        return certificates(options.address, Path(options.data, "tls", options.address) if options.data else None)
    except TlsUnavailable as error:
        raise UsageError(str(error)) from None


def context(options: argparse.Namespace, own: Certificates) -> ssl.SSLContext:
    """Return the context for the server's connections.

    It accepts client certificates of ``--client-ca``, or of the server's own authority if the controllers sign with it.
    """
    authority = client_ca(options) or (own.ca.decode() if options.controllers and own.ca_key else "")
    try:
        return own.context(authority, http2=not options.no_http2)
    except ssl.SSLError:
        raise UsageError(f"--client-ca {options.client_ca}: expected certificates in PEM") from None


def client_ca(options: argparse.Namespace) -> str:
    """Return the authority of client certificates that was given, PEM."""
    if not options.client_ca:
        return ""
    try:
        return str(options.client_ca.read_text())
    except OSError as error:
        raise UsageError(f"--client-ca {options.client_ca}: {error.strerror}") from None


def signing_authority(options: argparse.Namespace, own: Certificates | None) -> CertificateAuthority | None:
    """Return the authority that signs certificate signing requests, if there is one whose key is known."""
    if not options.controllers or own is None:
        return None
    from kontend.serve.credentials.certificate_authority import BadAuthority, CertificateAuthority

    if not options.client_ca:
        return CertificateAuthority(own.ca, own.ca_key) if own.ca_key else None
    if not options.client_ca_key:
        return None
    try:
        return CertificateAuthority(client_ca(options).encode(), options.client_ca_key.read_bytes())
    except OSError as error:
        raise UsageError(f"--client-ca-key {options.client_ca_key}: {error.strerror}") from None
    except BadAuthority as error:
        raise UsageError(f"--client-ca-key {options.client_ca_key}: {error}") from None
