"""Changes of an object's resourceVersion: assignments to the field, and calls of its setter."""

from __future__ import annotations

from collections.abc import Iterator

from kontend.audit.go.source import syntax
from kontend.audit.go.source.scope import targets, values
from kontend.audit.go.source.syntax import Node

_WINDOW = 20_000
_PATHS = (["ResourceVersion"], ["ObjectMeta", "ResourceVersion"])
"""The field, with or without the embedded struct that holds it."""


def version_changes(scope: Node, use: Node, name: str) -> Iterator[Node]:
    """Yield what gives a variable's object a resourceVersion, or takes it away, before a use.

    The whole of its metadata replaced is such a change, too.
    """
    start = max(scope.start_byte, use.start_byte - _WINDOW)
    for statement in syntax.between(syntax.assignments(scope), start, use.start_byte):
        if statement.type == "assignment_statement" and any(
            parts[:1] == [name] and parts[1:] in (*_PATHS, ["ObjectMeta"])
            for parts in map(syntax.selector, targets(statement))
        ):
            yield statement
    for call in syntax.between(syntax.calls(scope), start, use.start_byte):
        operand, called = syntax.callee(call)
        if called == "SetResourceVersion" and syntax.selector(operand) in ([name], [name, "ObjectMeta"]):
            yield call


def version_given(change: Node) -> list[Node]:
    """Return what a change of a version sets it to."""
    return syntax.arguments(change) if change.type in syntax.CALL_TYPES else values(change)


def empties(change: Node) -> bool:
    """Recognise a change that leaves no version: `obj.ResourceVersion = ""`, `obj.SetResourceVersion("")`."""
    return [node.text for node in version_given(change)] == [b'""']
