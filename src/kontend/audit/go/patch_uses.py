"""The uses of a patch: writes that send it, and everything else that gets it.

A lock changes the bytes of a patch: under it, `patch.Data(obj)` holds a resourceVersion and is never `{}`. A guard
against empty patches would never fire again, and a status with a time stamp would be written without end. So the value
is followed from its constructor through variables, parameters and results, and every use must be known to be harmless.

Searching for reads of `Data` instead was tried first: an alias, a struct field or a helper in another package hid the
read, and one such guard costs an endless loop of writes. A use that is not understood therefore counts as a read; the
price is a fix that somebody types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import function_around, may_reach, outermost_function, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import callers, resolve_function
from kontend.audit.go.source.workspace import Workspace

_DEEP = 4
_ASSIGNMENTS = ("short_var_declaration", "assignment_statement", "var_spec")


@dataclass(slots=True)
class Uses:
    """The fate of a patch.

    `read` means that a use other than a write was found, or one that is not in sight. `repeated` means that one value
    may be sent twice: the version of a locked base is old after the first.
    """

    read: bool = False
    repeated: bool = False
    _seen: set[tuple[str, int, int]] = field(default_factory=set)


def uses_of(workspace: Workspace, file: GoFile, constructor: Node) -> Uses:
    """Follow the value of a patch constructor to all its uses."""
    uses = Uses()
    _follow(workspace, file, constructor, uses, 0)
    return uses


def _follow(workspace: Workspace, file: GoFile, node: Node, uses: Uses, depth: int) -> None:
    """Judge one expression whose value is the patch by what is around it."""
    place = (file.path, node.start_byte, node.end_byte)
    if place in uses._seen:
        return
    uses._seen.add(place)
    while node.parent is not None and node.parent.type == "parenthesized_expression":
        node = node.parent
    parent = node.parent
    if parent is None or depth > _DEEP:
        uses.read = True
    elif parent.type == "argument_list" and parent.parent is not None:
        _argument(workspace, file, parent.parent, node, uses, depth)
    elif parent.type == "selector_expression":
        uses.read = uses.read or text(syntax.field(parent, "field")) != "Type"
    elif parent.type == "binary_expression":
        uses.read = uses.read or not any(side.type == "nil" for side in syntax.children(parent))
    elif parent.type in ("expression_list", *_ASSIGNMENTS):
        _assigned_or_returned(workspace, file, parent, node, uses, depth)
    else:
        uses.read = True


def _argument(workspace: Workspace, file: GoFile, call: Node, node: Node, uses: Uses, depth: int) -> None:
    write = recognise(workspace, file, call)
    if write is not None:
        uses.read = uses.read or write.patch is None or not syntax.inside(node, write.patch)
        return
    function = resolve_function(workspace, file, call)
    position = next((at for at, arg in enumerate(syntax.arguments(call)) if syntax.inside(node, arg)), None)
    if function is None or function.body is None or position is None or position >= len(function.parameters):
        uses.read = True
        return
    name = function.parameters[position][0]
    if name and name != "_":
        _held(workspace, function.file, function.body, function.body, name, uses, depth + 1)


def _assigned_or_returned(workspace: Workspace, file: GoFile, parent: Node, node: Node, uses: Uses, depth: int) -> None:
    statement = parent if parent.type in _ASSIGNMENTS else parent.parent
    if statement is not None and statement.type == "return_statement":
        _returned(workspace, file, statement, uses, depth)
        return
    outer = outermost_function(node)
    if statement is None or statement.type not in _ASSIGNMENTS or outer is None:
        uses.read = True
        return
    right = values(statement)
    position = next((at for at, value in enumerate(right) if syntax.inside(node, value)), None)
    left = targets(statement)
    if position is None or position >= len(left) or left[position].type != "identifier":
        uses.read = True
        return
    name = text(left[position])
    if name != "_":
        _held(workspace, file, outer, node, name, uses, depth)


def _returned(workspace: Workspace, file: GoFile, statement: Node, uses: Uses, depth: int) -> None:
    """A function that makes the patch for its callers: each call is the value; a function literal is not followed."""
    function = file.function_at(statement)
    if function is None or function_around(statement) != function.node:
        uses.read = True
        return
    calling = list(callers(workspace, function))
    uses.read = uses.read or not calling
    for other, call in calling:
        _follow(workspace, other, call, uses, depth + 1)


def _held(workspace: Workspace, file: GoFile, scope: Node, made: Node, name: str, uses: Uses, depth: int) -> None:
    """Follow every use of a variable. Another variable of the same name is followed too, which costs at most a fix."""
    sending: list[Node] = []
    for identifier in _named(scope, name):
        _follow(workspace, file, identifier, uses, depth)
        call = syntax.enclosing(identifier, "call_expression")
        if call is not None:
            sending.append(call)
    uses.repeated = uses.repeated or any(_runs_again(made, call) for call in sending)
    uses.repeated = uses.repeated or any(
        may_reach(first, second) for first in sending for second in sending if first != second
    )


def _named(scope: Node, name: str) -> Iterator[Node]:
    """Yield the uses of a variable: its identifiers that are neither declared nor assigned to."""
    for node in syntax.descend(scope, lambda node: node.type == "identifier" and text(node) == name):
        holder = node.parent
        if holder is None or holder.type == "parameter_declaration" or holder.type == "keyed_element":
            continue
        statement = holder.parent if holder.type == "expression_list" else holder
        if statement is not None and statement.type in _ASSIGNMENTS and node in targets(statement):
            continue
        yield node


def _runs_again(made: Node, call: Node) -> bool:
    """Decide whether a call can run several times for a value that is made once: in a loop, or in a function literal
    that somebody else calls.

    A literal that is deferred or called where it stands runs once.
    """
    for parent in syntax.ancestors(call):
        if syntax.inside(made, parent):
            return False
        if parent.type == "for_statement":
            return True
        if parent.type == "func_literal":
            around = parent.parent
            if around is None or around.type != "call_expression" or syntax.field(around, "function") != parent:
                return True
    return False
