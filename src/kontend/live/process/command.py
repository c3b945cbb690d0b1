"""The command of a controller, and the ports in it."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PLACE: Final = re.compile(r"\{port\d*\}")


@dataclass(frozen=True, slots=True)
class Command:
    """The command of a controller and the surroundings in which it runs."""

    arguments: tuple[str, ...]
    directory: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=dict)

    def with_text(self, place: str, text: str) -> Command:
        """Return the command with a text in the place of another one, wherever that occurs."""
        environment = {name: value.replace(place, text) for name, value in self.environment.items()}
        return Command(tuple(each.replace(place, text) for each in self.arguments), self.directory, environment)

    def mentions(self, place: str) -> bool:
        """Return whether a text occurs in it."""
        return any(place in text for text in [*self.arguments, *self.environment.values()])

    def names(self, places: set[str]) -> bool:
        """Return whether all of some places of ports occur in it."""
        return places <= places_in(" ".join([*self.arguments, *self.environment.values()]))


def places_in(text: str) -> set[str]:
    """Return the places of ports in a text.

    >>> sorted(places_in("--metrics=:{port} --health=:{port2}"))
    ['{port2}', '{port}']
    """
    return set(_PLACE.findall(text))


class Ports:
    """Free ports in the place of ``{port}``, ``{port2}`` and so on: for each the same wherever it occurs.

    >>> ports = Ports()
    >>> ports.fill("{port}") == ports.fill("{port}") != ports.fill("{port2}")
    True
    """

    def __init__(self) -> None:
        self._chosen: dict[str, int] = {}

    def fill(self, text: str) -> str:
        """Return a text with ports in their places."""
        return _PLACE.sub(lambda place: str(self._port(place[0])), text)

    def _port(self, place: str) -> int:
        while place not in self._chosen:
            port = free_port()
            if port not in self._chosen.values():
                self._chosen[place] = port
        return self._chosen[place]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
