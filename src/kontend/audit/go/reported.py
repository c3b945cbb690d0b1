"""The way of a write's error upwards: from the call that returns it to the function that nobody in sight calls.

A lock turns a lost write of somebody else into an error of this one. Where a caller only logs that error, counts it or
turns it into a failed phase, the lock would lose the write itself or change what the object says, so a fix needs every
step of the way to return it.
"""

from __future__ import annotations

from itertools import islice

from kontend.audit.go.error_handling import error_use
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import function_around, outermost_function, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import callers
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import ErrorUse

_DEEP = 6


def reported(workspace: Workspace, file: GoFile, call: Node, depth: int = 0) -> bool:
    """Decide whether the error of a call is returned, and returned by all callers in sight."""
    if depth > _DEEP or error_use(call) is not ErrorUse.RETURNED:
        return False
    around = function_around(call)
    if around is None:
        return False
    if around.type == "func_literal":
        calling = _literal_calls(around)
        return bool(calling) and all(reported(workspace, file, other, depth + 1) for other in calling)
    function = file.function_at(call)
    if function is None:
        return False
    above = islice(callers(workspace, function), 30)
    return all(reported(workspace, other, outer, depth + 1) for other, outer in above)


def _literal_calls(literal: Node) -> list[Node]:
    """Return the calls whose error is the literal's: the one that it is given to, the one of it, those of its name."""
    parent = literal.parent
    if parent is not None and parent.type == "argument_list" and parent.parent is not None:
        return [parent.parent]
    if parent is not None and parent.type == "call_expression":
        return [parent]
    statement = syntax.enclosing(literal, "short_var_declaration", "assignment_statement", "var_spec")
    outer = outermost_function(literal)
    if statement is None or outer is None or literal not in values(statement):
        return []
    names = {text(target) for target in targets(statement)}
    return [
        call
        for call in syntax.calls(outer)
        if syntax.callee(call)[1] in names
        or any(argument.type == "identifier" and text(argument) in names for argument in syntax.arguments(call))
    ]
