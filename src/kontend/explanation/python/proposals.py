"""The change of Python code that carries out a remedy at a line, where the syntax leaves one."""

from __future__ import annotations

from kontend.explanation.change import Change
from kontend.explanation.python.changes import changes_of
from kontend.explanation.python.source import Source
from kontend.explanation.python.statements import statement_at
from kontend.explanation.remedies import Remedy


def proposed(source: Source, remedy: Remedy, line: int) -> Change | None:
    """Return the change of the statement on a line, or else of its function; None for several or none."""
    changes = [change for change in changes_of(source, frozenset({line})) if change.remedy is remedy]
    near = [change for change in changes if _is_at(source, change, line)] or changes
    return near[0] if len(near) == 1 else None


def _is_at(source: Source, change: Change, line: int) -> bool:
    """Return whether a change of the statement on a line."""
    statement = statement_at(source.tree, line)
    return statement is not None and statement.lineno <= change.line <= (statement.end_lineno or statement.lineno)
