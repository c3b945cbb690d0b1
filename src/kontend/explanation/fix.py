"""Fixes as data: where, which remedy, what it names, and the line before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from kontend.explanation.remedies import Remedy
from kontend.runtime.source_location import SourceLocation


class Language(StrEnum):
    """The language that a fix is worded for."""

    PYTHON = "python"
    GO = "go"
    #: The code is not known: an audit log names clients, not files.
    ANY = "any"


_LANGUAGES: Final = {".py": Language.PYTHON, ".go": Language.GO}


def language_of(place: SourceLocation | None) -> Language:
    """Return the language of a place, by the name of its file; Python where no place is known.

    >>> language_of(SourceLocation("controllers/node.go", 3)), language_of(None)
    (<Language.GO: 'go'>, <Language.PYTHON: 'python'>)
    """
    if place is None:
        return Language.PYTHON
    return _LANGUAGES.get(PurePath(place.file).suffix, Language.PYTHON)


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of code that prevents a violation.

    >>> from kontend.explanation.wording import sentence
    >>> sentence(Fix(Remedy.COMPARE_OWNER, SourceLocation("node.go", 31)))
    'compare uids before the delete: metav1.IsControlledBy(child, owner) with the owner that was read'
    """

    remedy: Remedy
    #: The line that it is about; None where it is not known.
    place: SourceLocation | None = None
    #: What the sentence names, by the placeholders of its remedy: objects, fields, lines, clients.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Variants of the remedy that apply.
    notes: frozenset[str] = frozenset()
    #: The lines that it takes away and puts in their place; empty where no edit is known.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    #: Given where there is no place to tell it by.
    spoken: Language | None = None

    @property
    def language(self) -> Language:
        """The language of the code that it changes."""
        return self.spoken or language_of(self.place)
