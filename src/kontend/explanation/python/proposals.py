"""The lines of a fix before and after, where the syntax leaves one way to write it."""

from __future__ import annotations

import linecache
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kontend.explanation.change import Change
from kontend.explanation.edits import changed_lines
from kontend.explanation.fix import Fix, Language
from kontend.explanation.python.changes import changes_of
from kontend.explanation.python.source import Source
from kontend.explanation.python.statements import statement_at
from kontend.explanation.remedies import Remedy

#: The changes that carry out a remedy, where they have another name.
_AS: Final = {Remedy.KEEP_LOCK: Remedy.LOCK_PATCH}


def with_lines(fix: Fix) -> Fix:
    """Return a fix with its lines before and after; as it was where several changes or none would carry it out."""
    if fix.place is None or fix.language is not Language.PYTHON:
        return fix
    source = _source("".join(linecache.getlines(fix.place.file)))
    if source is None:
        return fix
    remedy = _AS.get(fix.remedy, fix.remedy)
    changes = [change for change in changes_of(source, frozenset({fix.place.line})) if change.remedy is remedy]
    near = [change for change in changes if _is_at(source, change, fix.place.line)] or changes
    if len(near) != 1:
        return fix
    before, after = changed_lines(source.data, near[0].edits)
    return replace(fix, before=before, after=after)


@lru_cache(maxsize=20)
def _source(text: str) -> Source | None:
    try:
        return Source(text) if text else None
    except (SyntaxError, ValueError):
        return None


def _is_at(source: Source, change: Change, line: int) -> bool:
    """Return whether a change of the statement on a line."""
    statement = statement_at(source.tree, line)
    return statement is not None and statement.lineno <= change.line <= (statement.end_lineno or statement.lineno)
