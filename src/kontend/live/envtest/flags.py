"""Flags of kube-apiserver, as envtest passes them: ``--name=value``, ``--name value`` or ``--name``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class BadFlags(Exception):
    """Flags that cannot be used; the message says why."""


class Flags:
    """The flags of a command. Those that nobody asks for are ignored, as envtest passes many that change nothing here.

    >>> flags = Flags(["--secure-port=6443", "--bind-address", "127.0.0.1", "--allow-privileged"])
    >>> flags.port("secure-port"), flags.text("bind-address"), flags.text("allow-privileged")
    (6443, '127.0.0.1', 'true')
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._values: dict[str, list[str]] = {}
        rest = list(arguments)
        while rest:
            name, equals, value = rest.pop(0).partition("=")
            if not name.startswith("--"):
                raise BadFlags(f"expected a flag such as --secure-port=6443, found {name}")
            if not equals:
                value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
            self._values.setdefault(name.removeprefix("--"), []).append(value)

    def text(self, name: str, otherwise: str = "") -> str:
        """Return the last value of a flag."""
        return self._values.get(name, [otherwise])[-1]

    def parts(self, name: str) -> list[str]:
        """Return all values of a flag, taken apart at commas."""
        return [part for value in self._values.get(name, []) for part in value.split(",") if part]

    def port(self, name: str) -> int:
        """Return a port; 0 if there is none."""
        text = self.text(name, "0")
        if not text.isdecimal() or int(text) > 65535:
            raise BadFlags(f"--{name}: expected a port, found {text}")
        return int(text)

    def file(self, name: str) -> bytes:
        """Return the content of a file; nothing if the flag is not given."""
        text = self.text(name)
        if not text:
            return b""
        try:
            return Path(text).read_bytes()
        except OSError as error:
            raise BadFlags(f"--{name} {text}: {error.strerror}") from None
