"""The names of certificate authorities that a TLS server sends when it asks for a client certificate.

Clients with several certificates choose one by these names. OpenSSL keeps the list in the context, but the module
``ssl`` has no function that sets it. This one calls OpenSSL's, in the library that ``ssl`` itself uses. The address of
the context is a field of the Python object; the fields after it are compared with the protocols that were set, so a
Python with another layout is recognised before anything is called. There, and where the library hides its functions,
the names are not sent: clients with one certificate work all the same.
"""

from __future__ import annotations

import ctypes
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

from kontend.safe_files import write_private


def send_names(context: ssl.SSLContext, authorities: str) -> bool:
    """Lets ``context`` send the names of ``authorities`` (PEM); returns False where Python cannot do that."""
    library = _library()
    address = _address(context)
    if library is None or address is None:
        return False
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "client-ca.pem")
        write_private(path, authorities.encode())
        names = library.SSL_load_client_CA_file(str(path).encode())
    if not names:
        return False
    library.SSL_CTX_set_client_CA_list(address, names)  # the context owns the list from now on
    return True


def _library() -> Any:
    try:
        library = ctypes.CDLL(ssl._ssl.__file__)  # type: ignore[attr-defined]
        library.SSL_load_client_CA_file.argtypes = [ctypes.c_char_p]
        library.SSL_load_client_CA_file.restype = ctypes.c_void_p
        library.SSL_CTX_set_client_CA_list.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.SSL_CTX_set_client_CA_list.restype = None
    except (AttributeError, OSError):
        return None
    return library


class _Fields(ctypes.Structure):
    """The first fields of CPython's ``PySSLContext``, after the header of every object."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("protocols", ctypes.c_void_p),
        ("protocols_length", ctypes.c_uint),
    )


def _address(context: ssl.SSLContext) -> int | None:
    """Return the address of OpenSSL's context, if the layout of the object is the known one."""
    if sys.implementation.name != "cpython":
        return None
    protocols = b"\x08http/1.1"
    context.set_alpn_protocols(["http/1.1"])
    fields = _Fields.from_address(id(context) + object.__basicsize__)
    if fields.protocols_length != len(protocols) or not fields.protocols:
        return None
    if ctypes.string_at(fields.protocols, len(protocols)) != protocols:
        return None
    return int(fields.context)
