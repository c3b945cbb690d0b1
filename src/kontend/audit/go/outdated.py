"""Values that were computed from an object before a conflict retry, and are set on it inside.

Each attempt reads the object again and changes it. A value that was computed from the spec or the status before the
loop belongs to the version that was refused: after the conflict a condition says of the new spec what was true of the
old one. Names and labels do not count, because they are what the object is found by.
"""

from __future__ import annotations

from collections.abc import Iterator

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.workspace import Workspace

_CONTENT = ("Spec", "Status", "Data")
_CONDITIONS = ("SetStatusCondition",)
_KEYS = ("ObjectKeyFromObject",)
_HOPS = 3


def outdated(workspace: Workspace, file: GoFile, literal: Node, call: Node, parts: list[str]) -> str:
    """Return the assignment, as code, of a value that is older than the object that the closure has read again."""
    if len(parts) != 1 or not _outside(workspace, file, literal, parts[0], call):
        return ""
    for said, value in _set(literal, call, parts[0]):
        if any(_is_content(node) for node in _uses(value, parts[0])):
            continue  # merged into what this attempt has read: `merge(obj.Status.Items, item)`
        for name in syntax.descend(value, lambda node: node.type == "identifier"):
            if text(name) == parts[0] or not _outside(workspace, file, literal, text(name), name):
                continue
            if _computed_from(workspace, file, name, parts[0], 0):
                return said
    return ""


def _set(literal: Node, call: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Yield what the closure sets in the status of an object, with the values, up to the end of the write."""
    for statement in syntax.assignments(literal):
        if statement.type != "assignment_statement" or statement.start_byte > call.end_byte:
            continue
        for target, value in zip(targets(statement), values(statement), strict=False):
            if syntax.selector(target)[:2] == [name, "Status"] and len(syntax.selector(target)) > 2:
                yield " ".join(text(statement).split())[:100], value
    for setting in syntax.calls(literal):
        arguments = syntax.arguments(setting)
        conditions = syntax.callee(setting)[1] in _CONDITIONS and len(arguments) == 2
        if conditions and syntax.selector(arguments[0])[:2] == [name, "Status"]:
            yield " ".join(text(setting).split())[:100], arguments[1]


def _uses(value: Node, name: str) -> Iterator[Node]:
    return syntax.descend(value, lambda node: node.type == "identifier" and text(node) == name)


def _outside(workspace: Workspace, file: GoFile, literal: Node, name: str, use: Node) -> bool:
    """Decide whether every definition of a name that reaches a use stands before the closure."""
    reaching = definitions(workspace, file, name, use)
    return bool(reaching) and all(not syntax.inside(definition.node, literal) for definition in reaching)


def _computed_from(workspace: Workspace, file: GoFile, use: Node, name: str, hops: int) -> bool:
    """Decide whether the value of a variable was computed from the content of an object."""
    if hops > _HOPS:
        return False
    for definition in definitions(workspace, file, text(use), use):
        if definition.how is not How.VALUE or definition.value is None:
            continue
        for node in syntax.descend(definition.value, lambda node: node.type == "identifier"):
            if text(node) == name and _is_content(node):
                return True
            if text(node) != name and _computed_from(workspace, file, node, name, hops + 1):
                return True
    return False


def _is_content(node: Node) -> bool:
    """Decide whether an object is used for what it holds: its spec, its status, or as a whole in a call."""
    parent = node.parent
    if parent is not None and parent.type == "selector_expression":
        return text(syntax.field(parent, "field")) in _CONTENT
    if parent is not None and parent.type == "argument_list" and parent.parent is not None:
        return syntax.callee(parent.parent)[1] not in _KEYS
    return False
