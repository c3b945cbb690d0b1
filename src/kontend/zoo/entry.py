"""Entries of the zoo: Python files that describe a bug in their docstring and model it as scenarios.

The docstring begins with ``project: title.``, then ``Link:``, ``Archetype:``, the description, ``Interleaving:`` and
``Fix:``. Scenarios whose names begin with ``buggy`` must be violated, those that begin with ``fixed`` or ``control``
must hold.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import kontend

#: The archetypes of concurrency bugs in controllers, and negative controls.
ARCHETYPES: Final = {
    "A1": "replayed deletion or old spec after a recreate (time travel)",
    "A2": "crash or failure between two writes",
    "A3": "step that reacts to a state which is overwritten before it is seen",
    "A4": "own write not visible, so the work is done again",
    "A5": "conflict handled with the same stale copy, or dropped",
    "A6": "status torn over several requests",
    "A7": "list or status replaced from a stale copy",
    "A8": "success of one generation reported for another",
    "A9": "cache changed by something else than the watch",
    "A10": "self-triggered or mutual hot loop",
    "A11": "fight over the ownership of fields",
    "A12": "two leaders, or a write of a former leader",
    "A13": "outcome depends on the order of controllers",
    "N": "negative control: no bug",
}
_FIELDS: Final = ("Link", "Archetype", "Interleaving", "Fix")
_ROLES: Final = ("buggy", "fixed", "control")


class BadEntry(ValueError):
    """A file of the zoo that is not written as an entry; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A bug, as the docstring of its file describes it."""

    name: str
    path: Path
    title: str
    link: str
    archetype: str
    description: str
    interleaving: str
    fix: str

    @property
    def is_control(self) -> bool:
        """A negative control has no bug to find."""
        return self.archetype == "N"


def directory() -> Path | None:
    """Return the zoo of this checkout, or the one that was installed with the package, or None."""
    checkout = Path(kontend.__file__).parents[2] / "zoo"
    if checkout.is_dir():
        return checkout
    installed = importlib.util.find_spec("kontend_zoo")
    places = list(installed.submodule_search_locations or ()) if installed is not None else []
    return Path(places[0]) if places else None


def entries(folder: Path) -> dict[str, Entry]:
    """Read the entries of a folder by name, in the order of archetypes."""
    listed = [read(path) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    order = {archetype: at for at, archetype in enumerate(ARCHETYPES)}
    listed.sort(key=lambda entry: (order[entry.archetype], entry.name))
    return {entry.name: entry for entry in listed}


def read(path: Path) -> Entry:
    """Read the description of one entry, without running its file."""
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    except SyntaxError as error:
        raise BadEntry(f"{path}:{error.lineno}: {error.msg}") from error
    if not text:
        raise BadEntry(f"{path}: expected a docstring that describes the bug")
    title, *blocks = [block.strip() for block in re.split(r"\n\s*\n|\n(?=[A-Z][a-z]+: )", text) if block.strip()]
    values: dict[str, str] = {}
    description: list[str] = []
    for block in blocks:
        head, colon, rest = block.partition(": ")
        if colon and head in _FIELDS:
            values[head] = _joined(rest)
        else:
            description.append(_joined(block))
    archetype = values.get("Archetype", "")
    if archetype not in ARCHETYPES:
        raise BadEntry(f"{path}: Archetype: expected one of {', '.join(ARCHETYPES)}, found {archetype or 'nothing'}")
    needed = ("Link",) if archetype == "N" else _FIELDS
    missing = [name for name in needed if not values.get(name)]
    if missing or not description:
        raise BadEntry(f"{path}: the docstring lacks {', '.join(missing) or 'the description'}")
    interleaving, fix = values.get("Interleaving", ""), values.get("Fix", "")
    return Entry(
        path.stem, path, _joined(title), values["Link"], archetype, "\n\n".join(description), interleaving, fix
    )


def role(scenario: str) -> str:
    """Return the role of a scenario by its name: ``buggy``, ``fixed`` or ``control``; empty for any other name.

    >>> role("fixed_with_locks"), role("helper")
    ('fixed', '')
    """
    return next((name for name in _ROLES if scenario.startswith(name)), "")


def _joined(text: str) -> str:
    return " ".join(text.split())
