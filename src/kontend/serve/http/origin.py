"""Keeps web pages away from a server that asks for no token.

A browser on this machine can reach a server on the loopback interface, and any page can make it send requests: blindly
with a form or ``fetch``, or as if the page came from the server when a name of the page's site is made to resolve to
127.0.0.1 (DNS rebinding). Such requests carry a foreign ``Origin``, or a ``Host`` that is not a name of this machine.
Clients of the API send neither. With tokens nothing is checked: a page does not have one.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from kontend.kube.errors import Forbidden
from kontend.serve.http.request_parser import Incoming

_WILDCARDS = ("0.0.0.0", "::", "")


def check_origin(incoming: Incoming, bound: str) -> None:
    """Raise Forbidden for a request that a page of another site has sent; ``bound`` is the address listened on."""
    authority = incoming.headers.get("host", "")
    if not incoming.target.startswith(b"/"):  # the whole URL: its host counts, as in Go
        authority = incoming.target.partition(b"://")[2].partition(b"/")[0].decode("latin-1") or authority
    complaint = _complaint(authority, incoming.headers.get("origin"), bound)
    if complaint is not None:
        raise Forbidden(f"{complaint}; start the server with --token-file to use it from elsewhere")


@lru_cache(maxsize=256)
def _complaint(authority: str, origin: str | None, bound: str) -> str | None:
    host = _host(authority)
    if authority and not _is_ours(host, bound):
        return f"this server has no tokens and does not answer for the host {host!r}"
    if origin is not None and origin.partition("://")[2].lower() != authority.lower():
        return f"this server has no tokens and does not answer pages from {origin!r}"
    return None


def _host(authority: str) -> str:
    """Return the host of an authority, without its port.

    >>> _host("localhost:6443"), _host("[::1]:6443"), _host("::1")
    ('localhost', '::1', '::1')
    """
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority if authority.count(":") > 1 else authority.partition(":")[0]


def _is_ours(host: str, bound: str) -> bool:
    """Return whether a host is a name or an address of this machine's loopback, or the address listened on."""
    if host.lower().rstrip(".") == "localhost" or host == bound:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # A page cannot have an address for its name unless it comes from there.
    return address.is_loopback or bound in _WILDCARDS
