"""Python of any version to `ast` nodes, through tree-sitter.

`ast.parse` knows the syntax of the running interpreter only: f-strings of Python 3.12 do not parse on 3.11, and
Python 2 parses nowhere. This builds the same nodes from tree-sitter's tree, so that the analysis reads one kind of
tree. Syntax that has no node in this interpreter becomes a tuple of its parts: calls inside it are still found.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from kontend.audit.python.source.expressions import (
    EXPRESSIONS,
    LOAD,
    OPERATORS,
    annotation,
    arguments,
    at,
    call_arguments,
    children,
    expression,
    field,
    first,
    store,
    text,
    unknown,
)


@cache
def _language() -> Language:
    return Language(tree_sitter_python.language())


def parse_any(source: bytes) -> tuple[ast.Module, int]:
    """Return the module and the line of the first syntax error, or 0 when there is none."""
    root = Parser(_language()).parse(source).root_node
    module = ast.Module(body=[], type_ignores=[])
    module.body = _statements(root.named_children)
    return module, _first_error(root)


def _first_error(root: Node) -> int:
    if not root.has_error:
        return 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            return node.start_point[0] + 1
        stack.extend(reversed([child for child in node.children if child.has_error or child.is_missing]))
    return root.start_point[0] + 1


def _statements(nodes: Iterable[Node]) -> list[ast.stmt]:
    return [statement for node in nodes if node.type != "comment" for statement in _statement(node)]


def _block(node: Node | None) -> list[ast.stmt]:
    return _statements(node.named_children) if node is not None else []


def _statement(node: Node) -> list[ast.stmt]:
    make = _STATEMENTS.get(node.type)
    if make is not None:
        return [at(statement, node) for statement in make(node)]
    if node.type == "ERROR" or node.type not in EXPRESSIONS:
        return _loose(node)
    return [at(ast.Expr(expression(node)), node)]


def _loose(node: Node) -> list[ast.stmt]:
    """Keep the parts of a statement that has no node: blocks as statements, the rest as expressions."""
    statements: list[ast.stmt] = []
    for child in children(node):
        if child.type == "block" or child.type in _STATEMENTS:
            statements += _block(child) if child.type == "block" else _statement(child)
        elif child.type in EXPRESSIONS:
            statements.append(at(ast.Expr(expression(child)), child))
        else:
            statements += _loose(child)
    return statements


def _expression_statement(node: Node) -> list[ast.stmt]:
    inner = children(node)
    if len(inner) == 1 and inner[0].type in ("assignment", "augmented_assignment"):
        return _assignment(inner[0])
    if len(inner) == 1:
        return [ast.Expr(expression(inner[0]))]
    return [ast.Expr(at(ast.Tuple([expression(child) for child in inner], LOAD), node))]


def _assignment(node: Node) -> list[ast.stmt]:
    left, right, kind = field(node, "left"), field(node, "right"), field(node, "type")
    if node.type == "augmented_assignment" and left is not None and right is not None:
        operator = OPERATORS.get(text(field(node, "operator")).removesuffix("="), ast.Add)
        return [ast.AugAssign(store(left), operator(), expression(right))]
    if kind is not None and left is not None:
        value = expression(right) if right is not None else None
        return [ast.AnnAssign(store(left), annotation(kind), value, int(left.type == "identifier"))]
    targets = [store(left)] if left is not None else []
    while right is not None and right.type == "assignment":  # a = b = value
        again = field(right, "left")
        targets += [store(again)] if again is not None else []
        right = field(right, "right")
    return [ast.Assign(targets, expression(right), lineno=node.start_point[0] + 1)]


def _function(node: Node, decorators: list[ast.expr] | None = None) -> list[ast.stmt]:
    kind = ast.AsyncFunctionDef if any(child.type == "async" for child in node.children) else ast.FunctionDef
    result = field(node, "return_type")
    made: Any = kind(
        name=text(field(node, "name")),
        args=arguments(field(node, "parameters")),
        body=_block(field(node, "body")) or [at(ast.Pass(), node)],
        decorator_list=decorators or [],
        returns=annotation(result) if result is not None else None,
    )
    made.type_params = []
    return [made]


def _class(node: Node, decorators: list[ast.expr] | None = None) -> list[ast.stmt]:
    bases, keywords = call_arguments(field(node, "superclasses"))
    made: Any = ast.ClassDef(
        name=text(field(node, "name")),
        bases=bases,
        keywords=keywords,
        body=_block(field(node, "body")) or [at(ast.Pass(), node)],
        decorator_list=decorators or [],
    )
    made.type_params = []
    return [made]


def _decorated(node: Node) -> list[ast.stmt]:
    decorators = [
        expression(child.named_children[0])
        for child in node.named_children
        if child.type == "decorator" and child.named_children
    ]
    definition = field(node, "definition")
    if definition is None:
        return []
    made = (_class if definition.type == "class_definition" else _function)(definition, decorators)
    return [at(statement, definition) for statement in made]


def _if(node: Node) -> list[ast.stmt]:
    made = ast.If(expression(field(node, "condition")), _block(field(node, "consequence")), [])
    last = made
    for child in node.children_by_field_name("alternative"):
        if child.type == "elif_clause":
            again = ast.If(expression(field(child, "condition")), _block(field(child, "consequence")), [])
            last.orelse = [at(again, child)]
            last = again
        else:
            last.orelse = _block(field(child, "body"))
    return [made]


def _for(node: Node) -> list[ast.stmt]:
    kind = ast.AsyncFor if any(child.type == "async" for child in node.children) else ast.For
    left = field(node, "left")
    target = store(left) if left is not None else unknown(node)
    return [kind(target, expression(field(node, "right")), _block(field(node, "body")), _else(node))]


def _while(node: Node) -> list[ast.stmt]:
    return [ast.While(expression(field(node, "condition")), _block(field(node, "body")), _else(node))]


def _else(node: Node) -> list[ast.stmt]:
    clause = field(node, "alternative") or next((child for child in node.children if child.type == "else_clause"), None)
    return _block(field(clause, "body")) if clause is not None else []


def _try(node: Node) -> list[ast.stmt]:
    handlers: list[ast.ExceptHandler] = []
    otherwise: list[ast.stmt] = []
    final: list[ast.stmt] = []
    for child in children(node):
        if child.type in ("except_clause", "except_group_clause"):
            handlers.append(_handler(child))
        elif child.type == "else_clause":
            otherwise = _block(field(child, "body"))
        elif child.type == "finally_clause":
            final = [statement for block in children(child) for statement in _block(block)]
    return [ast.Try(_block(field(node, "body")), handlers, otherwise, final)]


def _handler(node: Node) -> ast.ExceptHandler:
    parts = children(node)
    body = next((part for part in parts if part.type == "block"), None)
    caught = [part for part in parts if part.type != "block"]
    name = None
    kind = expression(caught[0]) if caught else None
    if caught and caught[0].type == "as_pattern":
        target = field(caught[0], "alias")
        name = text(target) if target is not None else None
        kind = expression(children(caught[0])[0])
    elif len(caught) > 1:
        name = text(caught[1]) if caught[1].type == "identifier" else None
    made: ast.ExceptHandler = at(ast.ExceptHandler(kind, name, _block(body) or [at(ast.Pass(), node)]), node)
    return made


def _with(node: Node) -> list[ast.stmt]:
    kind = ast.AsyncWith if any(child.type == "async" for child in node.children) else ast.With
    items = []
    for clause in children(node):
        if clause.type != "with_clause":
            continue
        for item in children(clause):
            value = field(item, "value") or next(iter(children(item)), None)
            target = None
            if value is not None and value.type == "as_pattern":
                alias = field(value, "alias")
                target = store(children(alias)[0]) if alias is not None and children(alias) else None
                value = children(value)[0]
            items.append(ast.withitem(expression(value), target))
    return [kind(items, _block(field(node, "body")))]


def _import(node: Node) -> list[ast.stmt]:
    return [ast.Import([_alias(child) for child in node.children_by_field_name("name")])]


def _import_from(node: Node) -> list[ast.stmt]:
    module = field(node, "module_name")
    name = text(module)
    level = len(name) - len(name.lstrip("."))
    names = [_alias(child) for child in node.children_by_field_name("name")]
    if any(child.type == "wildcard_import" for child in node.named_children):
        names = [ast.alias("*", None)]
    return [ast.ImportFrom(name.lstrip(".") or None, names, level)]


def _alias(node: Node) -> ast.alias:
    if node.type == "aliased_import":
        made = ast.alias(text(field(node, "name")), text(field(node, "alias")))
    else:
        made = ast.alias(text(node), None)
    done: ast.alias = at(made, node)
    return done


def _simple(make: Callable[[], ast.stmt]) -> Callable[[Node], list[ast.stmt]]:
    return lambda _: [make()]


def _delete(node: Node) -> list[ast.stmt]:
    targets: list[ast.expr] = []
    for child in children(node):
        made = expression(child)
        targets += made.elts if isinstance(made, ast.Tuple) else [made]
    for target in targets:
        if hasattr(target, "ctx"):
            target.ctx = ast.Del()
    return [ast.Delete(targets)]


def _raise(node: Node) -> list[ast.stmt]:
    cause = field(node, "cause")
    return [ast.Raise(first(node), expression(cause) if cause is not None else None)]


_STATEMENTS: dict[str, Callable[[Node], list[Any]]] = {
    "expression_statement": _expression_statement,
    "assignment": _assignment,
    "augmented_assignment": _assignment,
    "function_definition": _function,
    "class_definition": _class,
    "decorated_definition": _decorated,
    "if_statement": _if,
    "for_statement": _for,
    "while_statement": _while,
    "try_statement": _try,
    "with_statement": _with,
    "import_statement": _import,
    "import_from_statement": _import_from,
    "future_import_statement": lambda node: [
        ast.ImportFrom("__future__", [_alias(child) for child in node.children_by_field_name("name")], 0)
    ],
    "return_statement": lambda node: [ast.Return(first(node))],
    "raise_statement": _raise,
    "delete_statement": _delete,
    "pass_statement": _simple(ast.Pass),
    "break_statement": _simple(ast.Break),
    "continue_statement": _simple(ast.Continue),
    "global_statement": lambda node: [ast.Global([text(child) for child in children(node)])],
    "nonlocal_statement": lambda node: [ast.Nonlocal([text(child) for child in children(node)])],
    "assert_statement": lambda node: [ast.Assert(first(node) or unknown(node), None)],
}
