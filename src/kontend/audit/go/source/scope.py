"""The definitions of a name that can reach a use, and whether control can flow from one node to another.

Go's blocks make this tractable without a compiler. A declaration is visible where its block encloses the use; an
assignment after it replaces it when it certainly runs (its block encloses the use too) and is one more possibility
when it may.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, parameters
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.workspace import Workspace

_SCOPES = (
    "block",
    "if_statement",
    "for_statement",
    "expression_switch_statement",
    "type_switch_statement",
    "expression_case",
    "default_case",
    "type_case",
    "communication_case",
    "func_literal",
    "function_declaration",
    "method_declaration",
    "source_file",
)
_NEAREST = 100
_FUNCTIONS = ("func_literal", "function_declaration", "method_declaration")


class How(Enum):
    """The way a definition gives its name a value."""

    VALUE = "value"
    RANGE = "range"
    PARAMETER = "parameter"
    DECLARED = "declared"
    RECEIVER = "receiver"
    PACKAGE = "package"


@dataclass(frozen=True, slots=True)
class Definition:
    """One way a name got its value."""

    how: How
    file: GoFile
    node: Node
    value: Node | None = None
    index: int = 0
    type_node: Node | None = None
    closure: bool = False
    reassigned: bool = False


def scope_of(node: Node) -> Node:
    """Return the block-like node in which a declaration at `node` is visible."""
    return syntax.enclosing(node, *_SCOPES) or node


_HEADS = ("if_statement", "for_statement", "expression_switch_statement", "type_switch_statement")


def runs_in(node: Node) -> Node:
    """Return the block that a node certainly runs in: the head of an `if` runs whenever the `if` is reached."""
    scope = scope_of(node)
    while scope.type in _HEADS:
        branches = (
            scope.child_by_field_name("consequence"),
            scope.child_by_field_name("alternative"),
            scope.child_by_field_name("body"),
        )
        if any(branch is not None and syntax.inside(node, branch) for branch in branches):
            break
        parent = scope.parent
        if parent is not None and parent.type == "if_statement" and parent.child_by_field_name("alternative") == scope:
            break
        node, scope = scope, scope_of(scope)
    return scope


def may_reach(earlier: Node, later: Node) -> bool:
    """Decide whether control can flow from one node to a later one: no block between them leaves the function."""
    if earlier.end_byte > later.start_byte:
        return False
    left: Node | None = None
    for parent in syntax.ancestors(earlier):
        if left is not None:  # a `break` or `continue` was met: control goes on after the loop that it belongs to
            if syntax.inside(later, parent):
                return False
            if parent == left:
                left = None
            continue
        if syntax.inside(later, parent):
            return not _exclusive(parent, earlier, later)
        if parent.type in ("func_literal",):
            return False
        if parent.type in ("block", "expression_case", "default_case", "type_case"):
            statements = syntax.children(parent)
            if statements and statements[-1].type == "statement_list":
                statements = syntax.children(statements[-1])
            last = statements[-1].type if statements else ""
            if last in ("return_statement", "goto_statement"):
                return False
            if last in ("break_statement", "continue_statement"):
                left = syntax.enclosing(statements[-1], *(_LEFT if last == "break_statement" else _LEFT[:1]))
                if left is None or syntax.inside(later, left):
                    return False
                if parent == left:
                    left = None
    return False


_LEFT = ("for_statement", "expression_switch_statement", "type_switch_statement", "select_statement")


def _exclusive(parent: Node, earlier: Node, later: Node) -> bool:
    if parent.type == "if_statement":
        branches = [parent.child_by_field_name(name) for name in ("consequence", "alternative")]
        sides = [
            next((at for at, branch in enumerate(branches) if branch and syntax.inside(node, branch)), None)
            for node in (earlier, later)
        ]
        return None not in sides and sides[0] != sides[1]
    return parent.type in ("expression_switch_statement", "type_switch_statement", "select_statement")


def function_around(node: Node) -> Node | None:
    """Return the innermost function or function literal around a node."""
    return syntax.enclosing(node, *_FUNCTIONS)


def outermost_function(node: Node) -> Node | None:
    """Return the declared function around a node."""
    return syntax.enclosing(node, "function_declaration", "method_declaration")


def targets(statement: Node) -> list[Node]:
    """Return what an assignment, declaration or range clause assigns to."""
    if statement.type == "var_spec":
        return statement.children_by_field_name("name")
    return syntax.children(syntax.field(statement, "left"))


def values(statement: Node) -> list[Node]:
    """Return the right-hand sides of an assignment or declaration."""
    if statement.type == "var_spec":
        return syntax.children(syntax.field(statement, "value"))
    return syntax.children(syntax.field(statement, "right"))


def definitions(workspace: Workspace, file: GoFile, name: str, use: Node) -> list[Definition]:
    """Return the definitions of `name` that can reach `use`, the surest last."""
    outer = outermost_function(use)
    if outer is None or not name:
        return _package_variable(workspace, file, name)
    reaching: list[Definition] = []
    certainly = False
    literal = syntax.enclosing(use, "func_literal")
    named = syntax.assignments_by_name(outer).get(name, [])
    # Only the nearest definitions matter; names with thousands of them are in generated code.
    last = bisect_left(named, use.end_byte, key=lambda entry: entry[0].start_byte)
    for statement, position in named[max(0, last - _NEAREST) : last]:
        looping = statement.type == "range_clause" and statement.start_byte < use.start_byte
        if (statement.end_byte > use.start_byte and not looping) or syntax.inside(use, statement):
            continue
        scope = scope_of(statement)
        declares = statement.type != "assignment_statement"
        certain = syntax.inside(use, scope)
        if declares and not certain:
            continue
        closure = literal is not None and not syntax.inside(statement, literal)
        made = _definition(file, statement, position, closure=closure, reassigned=bool(reaching) and not declares)
        if certain:
            reaching, certainly = [made], True
        else:
            reaching.append(made)
    if certainly:
        return reaching
    return (_parameter(file, name, use) or _package_variable(workspace, file, name)) + reaching


def _definition(file: GoFile, statement: Node, position: int, *, closure: bool, reassigned: bool) -> Definition:
    if statement.type == "range_clause":
        source = syntax.field(statement, "right")
        return Definition(How.RANGE, file, statement, source, position, closure=closure)
    right = values(statement)
    kind = syntax.field(statement, "type") if statement.type == "var_spec" else None
    if not right:
        return Definition(How.DECLARED, file, statement, None, 0, kind, closure)
    if len(right) == 1:
        return Definition(How.VALUE, file, statement, right[0], position, kind, closure, reassigned)
    value = right[position] if position < len(right) else None
    return Definition(How.VALUE, file, statement, value, 0, kind, closure, reassigned)


def _parameter(file: GoFile, name: str, use: Node) -> list[Definition]:
    around = function_around(use)
    closure = False
    while around is not None:
        for parameter, kind in parameters(around):
            if parameter == name:
                return [Definition(How.PARAMETER, file, around, None, 0, kind, closure)]
        for declaration in syntax.children(syntax.field(around, "receiver")):
            if text(syntax.field(declaration, "name")) == name:
                return [Definition(How.RECEIVER, file, around, None, 0, syntax.field(declaration, "type"), closure)]
        for declaration in syntax.children(syntax.field(around, "result")):
            if text(syntax.field(declaration, "name")) == name:
                return [Definition(How.DECLARED, file, around, None, 0, syntax.field(declaration, "type"), closure)]
        closure = True
        around = function_around(around)
    return []


def _package_variable(workspace: Workspace, file: GoFile, name: str) -> list[Definition]:
    variable = workspace.package(file.directory).variables.get(name)
    return [Definition(How.PACKAGE, variable[0], variable[1], variable[1])] if variable else []
