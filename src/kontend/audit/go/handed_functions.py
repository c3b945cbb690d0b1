"""Functions that a caller hands to a helper, which runs them on the object that it writes.

A helper that patches says nothing about the fields: `patchStatus(ctx, obj, func(s *Status) { s.Phase = "Ready" })`.
The function may stand at the call, in a variable, be declared elsewhere, or be returned by a call (`SetPhase(p)`), and
the helper may take several. Asking only for literals at the call left most writers without fields, so that the
dangerous case, a second writer of a field, read as the mild one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction
from kontend.audit.go.source.scope import How, definitions, targets
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import resolve_function
from kontend.audit.go.source.workspace import Workspace

_HOPS = 4


@dataclass(frozen=True, slots=True)
class Callback:
    """The parameter of a helper that takes the change."""

    position: int
    parts: dict[int, list[str]] = field(default_factory=dict)
    """The part of the object that each argument of the change is: `["Status"]` for `change(&obj.Status)`."""
    repeated: bool = False
    """The helper takes any number of changes, from this position on."""


def callback_calls(function: GoFunction, name: str) -> Iterator[tuple[Node, bool]]:
    """Yield the calls of a parameter in a function, directly or of each of its elements."""
    elements = {
        text(targets(statement)[-1])
        for statement in syntax.assignments(function.node)
        if statement.type == "range_clause" and targets(statement) and text(syntax.field(statement, "right")) == name
    }
    for call in syntax.calls(function.node):
        operand, called = syntax.callee(call)
        if operand is None and (called == name or called in elements):
            yield call, called != name


def parts_given(call: Node) -> dict[int, list[str]]:
    """Return which parts of objects a call hands over, by position."""
    paths = [syntax.selector(argument) for argument in syntax.arguments(call)]
    return {position: path[1:] for position, path in enumerate(paths) if len(path) > 1 and "[]" not in path}


def handed(call: Node, callback: Callback) -> list[Node]:
    """Return the arguments of a call that are changes."""
    given = syntax.arguments(call)[callback.position :]
    return given if callback.repeated else given[:1]


def function_values(
    workspace: Workspace, file: GoFile, value: Node | None, hops: int = 0, index: int = 0
) -> Iterator[tuple[GoFile, Node]]:
    """Yield the functions that an expression may be, as literals or declarations, with their files."""
    stripped = syntax.strip(value)
    if stripped is None or hops > _HOPS:
        return
    if stripped.type == "func_literal":
        yield file, stripped
    elif stripped.type == "identifier":
        yield from _of_name(workspace, file, stripped, hops)
    elif stripped.type == "selector_expression":
        yield from _of_selector(workspace, file, stripped)
    elif stripped.type in ("call_expression", "type_conversion_expression"):
        function = resolve_function(workspace, file, stripped)
        if function is not None:
            yield from _returned(workspace, function, hops, index)
            return
        for argument in syntax.arguments(stripped):  # `Change(func(...) {...})` converts
            if argument.type == "func_literal":
                yield file, argument


def _of_name(workspace: Workspace, file: GoFile, node: Node, hops: int) -> Iterator[tuple[GoFile, Node]]:
    name = text(node)
    local = definitions(workspace, file, name, node)
    for definition in local:
        if definition.how is How.VALUE:
            yield from function_values(workspace, definition.file, definition.value, hops + 1, definition.index)
    if not local:
        for function in workspace.package(file.directory).functions.get(name, ()):
            if not function.receiver_type:
                yield function.file, function.node


def _of_selector(workspace: Workspace, file: GoFile, node: Node) -> Iterator[tuple[GoFile, Node]]:
    """Yield `pkg.Change` and the method value `r.change`, where one type of the package has such a method."""
    operand, name = syntax.field(node, "operand"), text(syntax.field(node, "field"))
    imported = file.imports.get(text(operand))
    directory = workspace.directory_of(imported, file.directory) if imported is not None else file.directory
    if directory is None:
        return
    named = workspace.package(directory).functions.get(name, [])
    found = [function for function in named if bool(function.receiver_type) == (imported is None)]
    if len(found) == 1:
        yield found[0].file, found[0].node


def _returned(workspace: Workspace, function: GoFunction, hops: int, index: int) -> Iterator[tuple[GoFile, Node]]:
    for statement in syntax.captures(function.node, "(return_statement) @r", "r"):
        around = syntax.enclosing(statement, "func_literal", "function_declaration", "method_declaration")
        if around != function.node:
            continue
        results = syntax.children(next(iter(syntax.children(statement)), None))
        passed_on = len(results) == 1 and index > 0  # `return f(x)` gives all the results of f
        value = results[0] if passed_on else results[index] if index < len(results) else None
        yield from function_values(workspace, function.file, value, hops + 1, index if passed_on else 0)
