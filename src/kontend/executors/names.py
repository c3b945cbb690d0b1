"""Executors by name: ``fork``, ``spawn``, ``ray[://ADDRESS]``, ``dask[://ADDRESS]``."""

from __future__ import annotations

import socket
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Final, NamedTuple
from urllib.parse import urlsplit

ENGINES: Final = ("fork", "spawn", "ray", "dask")
#: The package that an engine needs.
_NEEDS: Final = {"ray": "ray", "dask": "distributed"}
_FORMS: Final = "fork, spawn, ray[://ADDRESS] or dask[://ADDRESS]"
#: The seconds after which an address counts as one that does not answer.
_PATIENCE: Final = 5.0


class BadExecutor(ValueError):
    """An executor that is not installed, does not answer or cannot run the work; the message says what to do."""


class ExecutorName(NamedTuple):
    """An engine, and the address of its cluster; empty for this machine."""

    engine: str
    address: str

    @classmethod
    def of(cls, text: str) -> ExecutorName:
        """Split a name.

        >>> ExecutorName.of("ray://head:6379")
        ExecutorName(engine='ray', address='head:6379')
        """
        engine, _, address = text.partition("://")
        return cls(engine, address)


def executor_problem(text: str) -> str:
    """Describe the problem of the name of an executor; empty if there is none, or no name is given.

    >>> executor_problem("rya")
    'no executor is called rya (did you mean ray?); expected fork, spawn, ray[://ADDRESS] or dask[://ADDRESS]'
    """
    engine, address = ExecutorName.of(text)
    if not text:
        return ""
    if engine not in ENGINES:
        close = get_close_matches(engine.lower(), ENGINES, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"no executor is called {engine}{hint}; expected {_FORMS}"
    if engine not in _NEEDS:
        return f"{engine} runs on this machine and takes no address" if "://" in text else ""
    if "://" in text and not _is_address(engine, address):
        return f"expected {engine}://HOST:PORT, found {text}"
    if find_spec(_NEEDS[engine]) is None:
        return f"{_NEEDS[engine]} is not installed: pip install 'kontend[{engine}]'"
    return ""


def address_problem(text: str) -> str:
    """Describe why the address of an executor cannot be used; empty if something answers there, or none is given."""
    engine, address = ExecutorName.of(text)
    if not address or address == "auto":
        return ""
    host, port = host_and_port(address)
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else str(error.strerror or error)
        return f"nothing answers at {host}:{port} ({reason}); is the {engine} cluster running, and the port right?"
    return ""


def _is_address(engine: str, address: str) -> bool:
    if address == "auto":
        return engine == "ray"
    try:
        host, port = host_and_port(address)
    except ValueError:
        return False
    return bool(host) and port > 0


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host and the port of an address, which may have a protocol before it."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    return parts.hostname or "", parts.port or 0
