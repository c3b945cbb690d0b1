"""The change of Go code that carries out a remedy at a line, where the syntax leaves one."""

from __future__ import annotations

from kontend.explanation.change import Change
from kontend.explanation.go.calls import WRITES, request_of
from kontend.explanation.go.changes import changes_of
from kontend.explanation.go.source import GoSource, below
from kontend.explanation.remedies import Remedy


def proposed(source: GoSource, remedy: Remedy, line: int) -> Change | None:
    """Return the change of a statement on a line, or of the patch that it sends; None for several or none."""
    changes = [change for change in changes_of(source, frozenset({line})) if change.remedy is remedy]
    statement = source.statement(line)
    if statement is None:
        return None
    here = [change for change in changes if statement[0] <= change.line <= statement[1]]
    if here or remedy is not Remedy.LOCK_PATCH:
        return here[0] if len(here) == 1 else None
    made = _made_before(source, line)
    return next((change for change in reversed(changes) if change.line in made), None)


def _made_before(source: GoSource, line: int) -> set[int]:
    """Return the lines before a line that make what it sends: a patch is often a variable."""
    function = next(
        (each for each in source.functions() if each.start_point.row < line <= each.end_point.row + 1), source.root
    )
    sent: set[str] = set()
    for call in below(function, "call_expression"):
        if call.start_point.row < line <= call.end_point.row + 1:
            for argument in request_of(source, call, WRITES)[2][1:]:
                sent.update(source.text(name) for name in below(argument, "identifier"))
    return {
        each.start_point.row + 1
        for kind in ("short_var_declaration", "assignment_statement", "var_spec")
        for each in below(function, kind)
        if each.start_point.row < line - 1
        and (named := each.child_by_field_name("left") or each.child_by_field_name("name")) is not None
        and sent & set(source.text(named).split(", "))
    }
