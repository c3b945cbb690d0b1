"""The lines of a fix before and after, where the syntax leaves one way to write it."""

from __future__ import annotations

import linecache
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kontend.explanation.edits import changed_lines
from kontend.explanation.fix import Fix, Language
from kontend.explanation.go.proposals import proposed as proposed_in_go
from kontend.explanation.go.source import GoSource
from kontend.explanation.python.proposals import proposed
from kontend.explanation.python.source import Source
from kontend.explanation.remedies import Remedy

#: The changes that carry out a remedy, where they have another name.
_AS: Final = {Remedy.KEEP_LOCK: Remedy.LOCK_PATCH}


def with_lines(fix: Fix) -> Fix:
    """Return a fix with its lines before and after; as it was where several changes or none would carry it out."""
    if fix.place is None or fix.language is Language.ANY:
        return fix
    source = _source("".join(linecache.getlines(fix.place.file)), fix.language)
    if source is None:
        return fix
    remedy, line = _AS.get(fix.remedy, fix.remedy), fix.place.line
    change = proposed_in_go(source, remedy, line) if isinstance(source, GoSource) else proposed(source, remedy, line)
    if change is None:
        return fix
    before, after = changed_lines(source.data, change.edits)
    return replace(fix, before=before, after=after)


@lru_cache(maxsize=20)
def _source(text: str, language: Language) -> Source | GoSource | None:
    try:
        return (GoSource if language is Language.GO else Source)(text) if text else None
    except (SyntaxError, ValueError):
        return None
