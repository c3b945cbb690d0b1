"""Compiled checks of values, and the failures that they report.

A check is a closure over one schema node. Paths are linked tuples that are only spelt out when something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Path = tuple[Any, ...] | None


class Failure(NamedTuple):
    """One broken rule: its text identifies it, ``name`` is the path (``None`` for ``anyOf`` and so on)."""

    text: str
    name: str | None
    type: str
    value: Any = ""
    detail: Any = None


Check = Callable[[Any, Path, list[Failure], Any], None]
#: The check of a node for each Python type of JSON data.
Checks = dict[type, Check | None]
#: Compiles the checks of a schema node.
Compile = Callable[[Mapping[str, Any]], Checks]


def path_text(path: Path) -> str:
    """Return a path as the messages spell it: ``spec.ports[1].name``."""
    if path is None:
        return ""
    parent, name = path[0], path[1]
    before = path_text(parent)
    if type(name) is int:
        return f"{before}[{name}]"
    # The value of a map always gets a dot, a field only when there is something before it.
    return f"{before}.{name}" if before or len(path) == 3 else str(name)
