"""What a name means at a place: the definitions that can reach it, and the type of an expression.

Go's blocks make this tractable without a compiler. A declaration is visible where its block encloses the use; an
assignment after it replaces it when it certainly runs (its block encloses the use too) and is one more possibility
when it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, GoType, parameters
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
_FUNCTIONS = ("func_literal", "function_declaration", "method_declaration")
_DEPTH = 12


class How(Enum):
    """How a definition gives its name a value."""

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
    """Whether control can flow from one node to a later one: no block between them leaves the function first."""
    if earlier.end_byte > later.start_byte:
        return False
    for parent in syntax.ancestors(earlier):
        if syntax.inside(later, parent):
            return not _exclusive(parent, earlier, later)
        if parent.type in ("func_literal",):
            return False
        if parent.type in ("block", "expression_case", "default_case", "type_case"):
            statements = syntax.children(parent)
            if statements and statements[-1].type == "statement_list":
                statements = syntax.children(statements[-1])
            if statements and statements[-1].type in (
                "return_statement",
                "continue_statement",
                "break_statement",
                "goto_statement",
            ):
                return False
    return False


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
    for statement, position in syntax.assignments_by_name(outer).get(name, ()):
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
        for each, kind in parameters(around):
            if each == name:
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
    found = workspace.package(file.directory).variables.get(name)
    return [Definition(How.PACKAGE, found[0], found[1], found[1])] if found else []


def resolve_function(workspace: Workspace, file: GoFile, call: Node) -> GoFunction | None:
    """Return the declared function a call reaches, when it is in sight: in this package, or in an imported one of
    the module."""
    operand, name = syntax.callee(call)
    if not name:
        return None
    count = len(syntax.arguments(call))
    if operand is not None and operand.type in ("identifier", "package_identifier") and text(operand) in file.imports:
        directory = workspace.directory_of(file.imports[text(operand)], file.directory)
        if directory is None:
            return None
        candidates = [each for each in workspace.package(directory).functions.get(name, ()) if not each.receiver_type]
        return candidates[0] if candidates else None
    candidates = workspace.package(file.directory).functions.get(name, [])
    if operand is None:
        return next((each for each in candidates if not each.receiver_type), None)
    methods = [each for each in candidates if each.receiver_type and len(each.parameters) == count]
    owner = type_of(workspace, file, operand)
    if owner is not None:
        exact = [each for each in methods if each.receiver_type == owner.name]
        if exact:
            return exact[0]
        directory = workspace.directory_of(owner.package, file.directory)
        if directory is not None and directory != file.directory:
            foreign = workspace.package(directory).functions.get(name, ())
            return next((each for each in foreign if each.receiver_type == owner.name), None)
    return methods[0] if len(methods) == 1 and owner is None else None


def type_of(workspace: Workspace, file: GoFile, node: Node | None, depth: int = 0) -> GoType | None:
    """Infer the type of an expression, or None when it cannot be told from the source in sight."""
    if node is None or depth > _DEPTH:
        return None
    if node.type == "type_assertion_expression":
        return file.type_of_node(syntax.field(node, "type"), _generics(file, node))
    stripped = syntax.strip(node)
    if stripped is not None and stripped is not node and stripped.type != node.type:
        return type_of(workspace, file, stripped, depth + 1)
    if node.type == "composite_literal":
        return file.type_of_node(syntax.field(node, "type"), _generics(file, node))
    if node.type == "identifier":
        return _identifier_type(workspace, file, node, depth)
    if node.type == "selector_expression":
        owner = type_of(workspace, file, syntax.field(node, "operand"), depth + 1)
        return field_type(workspace, file, owner, text(syntax.field(node, "field"))) if owner else None
    if node.type in ("index_expression", "slice_expression"):
        whole = type_of(workspace, file, syntax.field(node, "operand"), depth + 1)
        return whole.element() if whole else None
    if node.type in ("call_expression", "type_conversion_expression"):
        return _call_type(workspace, file, node, 0, depth)
    return None


def _generics(file: GoFile, node: Node) -> dict[str, Node]:
    function = file.function_at(node)
    return function.type_parameters if function else {}


def _identifier_type(workspace: Workspace, file: GoFile, node: Node, depth: int) -> GoType | None:
    for definition in reversed(definitions(workspace, file, text(node), node)):
        if definition.type_node is not None:
            return definition.file.type_of_node(definition.type_node, _generics(definition.file, definition.node))
        if definition.value is None:
            continue
        if definition.how is How.RANGE:
            whole = type_of(workspace, definition.file, definition.value, depth + 1)
            if whole is not None and definition.index == 1:
                return whole.element()
            continue
        value = definition.value
        if value.type in ("call_expression", "type_conversion_expression"):
            found = _call_type(workspace, definition.file, value, definition.index, depth + 1)
        else:
            found = type_of(workspace, definition.file, value, depth + 1)
        if found is not None:
            return found
    return None


def field_type(workspace: Workspace, file: GoFile, owner: GoType, name: str, depth: int = 0) -> GoType | None:
    """Return the type of a field, through embedded structs; `XList.Items` is known by convention."""
    struct = workspace.type(owner, file.directory)
    if struct is not None:
        if name in struct.fields:
            return struct.fields[name]
        if depth < 4:
            for embedded in struct.embedded:
                found = field_type(workspace, struct.file, embedded, name, depth + 1)
                if found is not None:
                    return found
    if name == "Items" and owner.name.endswith("List"):
        return GoType(owner.package, owner.name[: -len("List")] or owner.name, slice=True)
    return None


def _call_type(workspace: Workspace, file: GoFile, call: Node, index: int, depth: int) -> GoType | None:
    operand, name = syntax.callee(call)
    args = syntax.arguments(call)
    if operand is None and name == "new" and args:
        return file.type_of_node(args[0], _generics(file, call))
    if operand is None and name == "append" and args:
        return type_of(workspace, file, args[0], depth + 1)
    if name in ("DeepCopy", "DeepCopyObject") and operand is not None:
        return type_of(workspace, file, operand, depth + 1)
    if name in ("GetClient",):
        return GoType("sigs.k8s.io/controller-runtime/pkg/client", "Client")
    if name in ("GetAPIReader",):
        return GoType("sigs.k8s.io/controller-runtime/pkg/client", "Reader")
    given = _type_arguments(call)
    function = resolve_function(workspace, file, call)
    if function is not None and index < len(function.results):
        generics = dict(function.type_parameters)
        if given:
            for parameter, argument in zip(function.type_parameters, given, strict=False):
                if _is_parameter(function.results[index], parameter):
                    return file.type_of_node(argument, _generics(file, call))
        return function.file.type_of_node(function.results[index], generics)
    if given and index == 0:  # `ResourceAs[*v1.Widget](cfg)`: what it is asked for is what it gives
        return file.type_of_node(given[0], _generics(file, call))
    return None


def _type_arguments(call: Node) -> list[Node]:
    holder = syntax.field(call, "type_arguments")
    if holder is None and call.type == "type_conversion_expression":
        holder = syntax.field(call, "type", "type_arguments")
    return syntax.children(holder)


def _is_parameter(result: Node, name: str) -> bool:
    while result.type in ("pointer_type",):
        inner = next(iter(syntax.children(result)), None)
        if inner is None:
            return False
        result = inner
    return text(result) == name
