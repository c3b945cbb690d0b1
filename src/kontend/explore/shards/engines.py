"""The engines by their names: ``fork`` and ``spawn``, processes of this machine."""

from __future__ import annotations

from typing import Final

from kontend.explore.problems import not_among
from kontend.explore.shards.engine import Engine
from kontend.explore.shards.processes import Processes

ENGINES: Final = ("fork", "spawn")


def engine_problem(name: str) -> str:
    """Describes what is wrong with the name of an engine; empty if nothing is, or no name is given."""
    return not_among("executor", name, ENGINES) if name and name not in ENGINES else ""


def engine_of(name: str) -> Engine:
    """The engine of a name; the best that this machine has if no name is given."""
    return Processes("fork" if name == "fork" else "spawn" if name == "spawn" else None)
