"""Errors of scenarios: a type of their own, with the line to change."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from kontend.runtime.source_location import SourceLocation


class BadScenario(ValueError):
    """A scenario that cannot be explored as it is written; the message says where, and what to change."""

    def __init__(self, message: str, line: SourceLocation | None = None) -> None:
        super().__init__(message if line is None else f"{line}: {message}")
        self.message = message
        self.line = line


def not_among(what: str, name: str, known: Iterable[str]) -> str:
    """A message that there is no such thing, with the names that exist.

    >>> not_among("scenario", "blin", ["blind", "locked"])
    'no scenario is called blin (did you mean blind?); there are: blind, locked'
    """
    names = list(known)
    close = get_close_matches(name.lower(), names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"no {what} is called {name}{hint}; there are: {', '.join(names)}"
