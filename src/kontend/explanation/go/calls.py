"""Calls of clients in Go code, and edits around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.go.source import GoSource, around, below
from kontend.explanation.remedies import Remedy

CLIENT: Final = "sigs.k8s.io/controller-runtime/pkg/client"
READS: Final = frozenset({"Get", "List"})
WRITES: Final = frozenset({"Create", "Update", "Patch", "Delete", "Apply", "DeleteAllOf"})
_CONTEXT: Final = "context.Context"


def new_change(remedy: Remedy, source: GoSource, *edits: Edit) -> Change:
    """Return a change with some edits, at the line of the first that is not an addition elsewhere."""
    ordered = tuple(sorted(edits))
    return Change(remedy, source.data.count(b"\n", 0, edits[0].start) + 1, ordered)


def insertion(at: int, text: str) -> Edit:
    """Return an edit that takes nothing away."""
    return Edit(at, at, text)


def method_call(source: GoSource, node: Node) -> tuple[str, str, list[Node]]:
    """Return the receiver, the name and the arguments of a call of a method; empty for all else."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "selector_expression":
        return "", "", []
    operand, name = function.child_by_field_name("operand"), function.child_by_field_name("field")
    if operand is None or name is None:
        return "", "", []
    given = [child for child in arguments.named_children if child.type != "comment"]
    return source.text(operand), source.text(name), given


def request_of(source: GoSource, node: Node, names: frozenset[str]) -> tuple[str, str, list[Node]]:
    """Return the same for a call of a client: its first argument is a context."""
    receiver, name, given = method_call(source, node)
    is_request = name in names and len(given) > 1 and _is_context(source, given[0])
    return (receiver, name, given) if is_request else ("", "", [])


def _is_context(source: GoSource, argument: Node) -> bool:
    """Return whether an argument is the context that a function around it was given, or one of package context."""
    if argument.type == "call_expression":
        package, _, _ = method_call(source, argument)
        return package == source.imports.get("context")
    if argument.type == "selector_expression":  # a context that is kept with other values
        return True
    name = source.text(argument)
    return argument.type == "identifier" and any(name in _contexts(source, outer) for outer in around(argument))


def _contexts(source: GoSource, function: Node) -> Iterator[str]:
    parameters = function.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        kind = parameter.child_by_field_name("type")
        if kind is not None and source.text(kind) == _CONTEXT:
            yield from (source.text(name) for name in parameter.children_by_field_name("name"))


def receiver_of(source: GoSource, function: Node) -> tuple[str, str]:
    """Return the name and the type of the receiver of a method, the type without its asterisk."""
    for parameter in below(function.child_by_field_name("receiver") or function, "parameter_declaration"):
        name, kind = parameter.child_by_field_name("name"), parameter.child_by_field_name("type")
        if name is not None and kind is not None:
            return source.text(name), source.text(kind).lstrip("*")
    return "", ""


def statement_before(statement: Node) -> Node | None:
    """Return the statement before another in its block."""
    found = statement.prev_named_sibling
    while found is not None and found.type == "comment":
        found = found.prev_named_sibling
    return found


def statements_of(block: Node) -> Iterator[Node]:
    """Yield the statements of a block."""
    for child in block.named_children:
        if child.type == "statement_list":
            yield from statements_of(child)
        elif child.type != "comment":
            yield child


def statements_after(node: Node) -> Iterator[Node]:
    """Yield what follows a statement in its block, comments included."""
    found = node.next_named_sibling
    while found is not None:
        yield found
        found = found.next_named_sibling


def whole_lines(source: GoSource, node: Node) -> Edit:
    """Return an edit that takes the lines of a node away."""
    start = source.data.rfind(b"\n", 0, node.start_byte) + 1
    end = source.data.find(b"\n", node.end_byte)
    return Edit(start, len(source.data) if end < 0 else end + 1, "")
