"""The uses of a variable that holds an object of a cache: the ones that change it, and the ones that pass it on.

A use is judged by the syntax around it. `obj.Spec.Size = 3` changes what the pointer points to, `obj = other` does not;
`status := &obj.Status` and `labels := obj.Labels` share memory with the object, `phase := obj.Status.Phase` does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import definitions, may_reach, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import container
from kontend.audit.go.source.workspace import Workspace

_COPIES = ("DeepCopy", "DeepCopyObject", "Copy", "Clone")
_BUILTIN_CHANGES = ("delete", "clear")


class Shape(Enum):
    """The part of the cache that a variable holds."""

    OBJECT = "object"  # the object itself, or a part of it that shares its memory
    LIST = "list"  # a list of such objects; the list is the reader's own


class Use(Enum):
    """The effect of a use on the object."""

    CHANGED = "changed"
    ALIASED = "aliased"
    RETURNED = "returned"
    PASSED = "passed"
    CALLED = "called"


@dataclass(frozen=True, slots=True)
class Seen:
    """One use: its kind, the node that shows it, and the position of the argument or result, or the new variable."""

    use: Use
    node: Node
    position: int = 0
    shape: Shape = Shape.OBJECT
    whole: bool = True
    """The object itself is passed, rather than a part of it."""


def uses(workspace: Workspace, file: GoFile, body: Node, name: str, made: Node, shape: Shape) -> Iterator[Seen]:
    """Yield what happens to the object that `name` got at the node `made`: a statement, or a function for a
    parameter."""
    for identifier in syntax.descend(body, lambda node: node.type == "identifier" and text(node) == name):
        if identifier.parent is None or identifier.parent.type in ("parameter_declaration", "keyed_element"):
            continue
        if syntax.inside(identifier, made) and made.type != body.type and _is_target(identifier, made):
            continue
        if _holds(workspace, file, identifier, name, made):
            seen = _judged(workspace, file, identifier, shape)
            if seen is not None:
                yield seen


def _is_target(identifier: Node, statement: Node) -> bool:
    return any(target == identifier for target in targets(statement))


def _holds(workspace: Workspace, file: GoFile, use: Node, name: str, made: Node) -> bool:
    """Decide whether a variable still holds the object at a use: no definition on the way may be a copy.

    `if shared { obj = obj.DeepCopy() }` leaves both possible; the author thought of copying, so nothing is said.
    """
    reaching = definitions(workspace, file, name, use)
    if any(definition.value is not None and is_copy(definition.value) for definition in reaching):
        return False
    if not any(definition.node == made for definition in reaching):
        return False
    assigned = made.type in ("short_var_declaration", "assignment_statement", "var_spec")
    return not assigned or may_reach(made, use)  # `if shared { obj = lister.Get() } else { client.Get(obj) }`


def is_copy(value: Node) -> bool:
    """Decide whether a value is a copy of something."""
    node = syntax.strip(value)
    while node is not None and node.type == "call_expression":
        operand, called = syntax.callee(node)
        if called in _COPIES:
            return True
        node = syntax.strip(operand)
    return False


def _judged(workspace: Workspace, file: GoFile, identifier: Node, shape: Shape) -> Seen | None:
    """Judge one use by the expression that the identifier is the root of and by what is around that."""
    node, path, pointed = _expression(identifier)
    if shape is Shape.LIST:
        if not path or path[0] != "[]":
            return _list_use(node, path)
        path = path[1:]
    parent = node.parent
    if parent is None:
        return None
    if _assigned_to(node):
        return Seen(Use.CHANGED, node) if path or pointed else None
    if parent.type in ("inc_statement", "dec_statement"):
        return Seen(Use.CHANGED, node) if path or pointed else None
    shares = not path or pointed or container(workspace, file, _unary(node)) in ("map", "list")
    if parent.type == "argument_list" and parent.parent is not None:
        return _argument(parent.parent, node, path, shares=shares)
    if parent.type == "call_expression" and syntax.field(parent, "function") == node and len(path) >= 1:
        return Seen(Use.CALLED, parent, whole=len(path) == 1)
    if not shares:
        return None
    return _stored(node, Shape.OBJECT)


def _expression(identifier: Node) -> tuple[Node, list[str], bool]:
    """Climb from a variable to the largest expression that it is the root of: its fields, and whether it is a pointer
    into the object or what a pointer points to."""
    node, path, pointed = identifier, list[str](), False
    while (parent := node.parent) is not None:
        if parent.type == "selector_expression" and syntax.field(parent, "operand") == node:
            path.append(text(syntax.field(parent, "field")))
        elif parent.type == "index_expression" and syntax.field(parent, "operand") == node:
            path.append("[]")
        elif parent.type == "unary_expression" and text(parent)[:1] in "&*":
            pointed = True
        elif parent.type not in ("parenthesized_expression", "type_assertion_expression"):
            break
        node = parent
    return node, path, pointed


def _unary(node: Node) -> Node:
    return syntax.strip(node) or node


def _assigned_to(node: Node) -> bool:
    holder = node.parent
    statement = holder.parent if holder is not None and holder.type == "expression_list" else holder
    return statement is not None and statement.type == "assignment_statement" and node in targets(statement)


def _argument(call: Node, node: Node, path: list[str], *, shares: bool) -> Seen | None:
    operand, called = syntax.callee(call)
    arguments = syntax.arguments(call)
    position = arguments.index(node) if node in arguments else 0
    if operand is None and called in _BUILTIN_CHANGES:
        return Seen(Use.CHANGED, call) if path and position == 0 else None
    if operand is None and called == "append":
        return _stored(call, Shape.LIST) if not path and position > 0 else None
    return Seen(Use.PASSED, call, position, whole=not path) if shares else None


def _list_use(node: Node, path: list[str]) -> Seen | None:
    """A list of objects is ranged over, copied to another name, appended to or returned."""
    if path or node.parent is None:
        return None
    if node.parent.type == "range_clause" and syntax.field(node.parent, "right") == node:
        named = targets(node.parent)
        return Seen(Use.ALIASED, node.parent, 1) if len(named) == 2 else None
    if node.parent.type == "argument_list" and node.parent.parent is not None:
        call = node.parent.parent
        if syntax.callee(call) == (None, "append"):
            return _stored(call, Shape.LIST)
        arguments = syntax.arguments(call)
        return Seen(Use.PASSED, call, arguments.index(node), Shape.LIST) if node in arguments else None
    return _stored(node, Shape.LIST)


def _stored(node: Node, shape: Shape) -> Seen | None:
    """Return the use that stores a value: in another variable, or in the result of the function."""
    holder = node.parent
    while holder is not None and holder.type == "parenthesized_expression":
        holder = holder.parent
    statement = holder.parent if holder is not None and holder.type == "expression_list" else holder
    if statement is None:
        return None
    if statement.type == "return_statement":
        results = syntax.children(next(iter(syntax.children(statement)), None))
        at = next((at for at, value in enumerate(results) if syntax.inside(node, value)), 0)
        return Seen(Use.RETURNED, statement, at, shape)
    if statement.type in ("short_var_declaration", "assignment_statement", "var_spec"):
        right = values(statement)
        held = next((at for at, value in enumerate(right) if syntax.inside(node, value)), None)
        left = targets(statement)
        if held is not None and held < len(left) and left[held].type == "identifier":
            return Seen(Use.ALIASED, statement, held, shape)
    return None
