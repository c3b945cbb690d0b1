"""Expressions of tree-sitter's Python tree, as `ast` nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tree_sitter import Node

OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "|": ast.BitOr, "&": ast.BitAnd, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift, "@": ast.MatMult,
}  # fmt: skip
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "in": ast.In,
    "not in": ast.NotIn, "is": ast.Is, "is not": ast.IsNot, "<>": ast.NotEq,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert}
LOAD = ast.Load()


def text(node: Node | None) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def children(node: Node | None) -> list[Node]:
    """Return named children without comments."""
    if node is None:
        return []
    return [child for child in node.named_children if child.type not in ("comment", "line_continuation", "ERROR")]


def field(node: Node, name: str) -> Node | None:
    """Return a field of a node."""
    return node.child_by_field_name(name)


def at(made: Any, node: Node) -> Any:
    """Give a node its position."""
    made.lineno, made.col_offset = node.start_point[0] + 1, node.start_point[1]
    made.end_lineno, made.end_col_offset = node.end_point[0] + 1, node.end_point[1]
    return made


def store(node: Node) -> Any:
    """Return an assignment target."""
    made = expression(node)
    stack = [made]
    while stack:
        inner = stack.pop()
        if hasattr(inner, "ctx"):
            inner.ctx = ast.Store()
        stack += getattr(inner, "elts", [])
        if isinstance(inner, ast.Starred):
            stack.append(inner.value)
    return made


def annotation(node: Node) -> Any:
    """Return an annotation; only its text matters, so that generic types are left to `ast`."""
    try:
        made = ast.parse(text(node).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return unknown(node)
    for inner in ast.walk(made):
        if hasattr(inner, "lineno"):
            at(inner, node)
    return made


def arguments(node: Node | None) -> ast.arguments:
    """Return the parameters of a function."""
    made = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
    after_star = False
    for child in children(node):
        if child.type == "positional_separator":
            made.posonlyargs, made.args = made.args, []
            continue
        if child.type == "keyword_separator":
            after_star = True
            continue
        name, kind, default = _parameter(child)
        label = text(name)
        argument = at(ast.arg(label.lstrip("*"), annotation(kind) if kind is not None else None), child)
        if label.startswith("**"):
            made.kwarg = argument
        elif label.startswith("*"):
            made.vararg, after_star = argument, True
        elif after_star:
            made.kwonlyargs.append(argument)
            made.kw_defaults.append(expression(default) if default is not None else None)
        else:
            made.args.append(argument)
            if default is not None:
                made.defaults.append(expression(default))
    return made


def _parameter(node: Node) -> tuple[Node | None, Node | None, Node | None]:
    """Return the name, the annotation and the default of a parameter."""
    if node.type in ("identifier", "list_splat_pattern", "dictionary_splat_pattern", "tuple_pattern"):
        return node, None, None
    name = field(node, "name") or next(iter(children(node)), None)
    return name, field(node, "type"), field(node, "value")


def first(node: Node) -> ast.expr | None:
    """Return the first part of a node as an expression."""
    inner = children(node)
    return expression(inner[0]) if inner else None


def expression(node: Node | None) -> Any:
    """Return an expression; one without a node of its own becomes a tuple of its parts."""
    if node is None:
        return ast.Constant(None, lineno=0, col_offset=0, end_lineno=0, end_col_offset=0)
    make = EXPRESSIONS.get(node.type)
    return at(_unstarred(make(node), node), node) if make is not None else unknown(node)


def unknown(node: Node) -> Any:
    """Return a tuple of the parts of a node."""
    return at(ast.Tuple([expression(child) for child in children(node) if child.type in EXPRESSIONS], LOAD), node)


def _call(node: Node) -> ast.expr:
    given = field(node, "arguments")
    function = expression(field(node, "function"))
    if given is not None and given.type == "generator_expression":
        return ast.Call(function, [expression(given)], [])
    positional, keywords = call_arguments(given)
    return ast.Call(function, positional, keywords)


def _unstarred(made: ast.expr, node: Node) -> ast.expr:
    """Move a star to the front: `[*map(f, a)]` may begin a pattern, where the grammar takes `*map` before the call."""
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Starred):
        made.func = made.func.value
    elif isinstance(made, ast.Attribute | ast.Subscript) and isinstance(made.value, ast.Starred):
        made.value = made.value.value
    else:
        return made
    return ast.Starred(at(made, node), LOAD)


def call_arguments(node: Node | None) -> tuple[list[ast.expr], list[ast.keyword]]:
    """Return positional and keyword arguments."""
    positional: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for child in children(node):
        if child.type == "keyword_argument":
            made = ast.keyword(text(field(child, "name")), expression(field(child, "value")))
            keywords.append(at(made, child))
        elif child.type == "dictionary_splat":
            keywords.append(at(ast.keyword(None, first(child) or unknown(child)), child))
        else:
            positional.append(expression(child))
    return positional, keywords


def _dictionary(node: Node) -> ast.expr:
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for child in children(node):
        if child.type == "pair":
            keys.append(expression(field(child, "key")))
            values.append(expression(field(child, "value")))
        elif child.type == "dictionary_splat":
            keys.append(None)
            values.append(first(child) or unknown(child))
    return ast.Dict(keys, values)


def _string(node: Node) -> ast.expr:
    """Return a constant, or a joined string where there are interpolations; old and new f-strings alike."""
    if not any(child.type == "interpolation" for child in node.named_children):
        return ast.Constant(_literal(node))
    parts: list[ast.expr] = []
    for child in node.named_children:
        if child.type == "interpolation":
            inner = field(child, "expression") or next(iter(children(child)), None)
            parts.append(at(ast.FormattedValue(expression(inner), -1, None), child))
        elif child.type == "string_content":
            parts.append(at(ast.Constant(text(child)), child))
    return ast.JoinedStr(parts)


def _literal(node: Node) -> Any:
    source = text(node)
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "".join(text(child) for child in node.named_children if child.type == "string_content")


def _concatenated(node: Node) -> ast.expr:
    parts = [expression(child) for child in children(node)]
    if all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
        return ast.Constant("".join(part.value for part in parts))
    flat: list[ast.expr] = []
    for part in parts:
        flat += part.values if isinstance(part, ast.JoinedStr) else [part]
    return ast.JoinedStr(flat)


def _number(node: Node) -> ast.expr:
    source = text(node)
    try:
        return ast.Constant(ast.literal_eval(source.rstrip("lL")) if len(source) < 400 else 0)
    except (ValueError, SyntaxError):
        return ast.Constant(0)


def _binary(node: Node) -> ast.expr:
    operator = OPERATORS.get(text(field(node, "operator")), ast.Add)
    return ast.BinOp(expression(field(node, "left")), operator(), expression(field(node, "right")))


def _boolean(node: Node) -> ast.expr:
    operator = ast.Or() if text(field(node, "operator")) == "or" else ast.And()
    left, right = expression(field(node, "left")), expression(field(node, "right"))
    values = left.values if isinstance(left, ast.BoolOp) and type(left.op) is type(operator) else [left]
    return ast.BoolOp(operator, [*values, right])


def _comparison(node: Node) -> ast.expr:
    operators = [
        _COMPARISONS.get(" ".join(text(token).split()), ast.Eq)() for token in node.children_by_field_name("operators")
    ]
    operands = [expression(child) for child in children(node)]
    return ast.Compare(operands[0] if operands else unknown(node), operators, operands[1:])


def _conditional(node: Node) -> ast.expr:
    parts = [expression(child) for child in children(node)]
    return ast.IfExp(parts[1], parts[0], parts[2]) if len(parts) == 3 else ast.Tuple(parts, LOAD)


def _subscript(node: Node) -> ast.expr:
    given = [expression(child) for child in node.children_by_field_name("subscript")]
    index = given[0] if len(given) == 1 else at(ast.Tuple(given, LOAD), node)
    return ast.Subscript(expression(field(node, "value")), index, LOAD)


def _slice(node: Node) -> ast.expr:
    parts: list[ast.expr | None] = [None, None, None]
    position = 0
    for child in node.children:
        if child.type == ":":
            position += 1
        elif child.is_named and position < 3:
            parts[position] = expression(child)
    return ast.Slice(*parts)


def _comprehension(make: Callable[[Any, list[ast.comprehension]], ast.expr]) -> Callable[[Node], ast.expr]:
    def convert(node: Node) -> ast.expr:
        generators: list[ast.comprehension] = []
        for child in children(node):
            if child.type == "for_in_clause":
                left = field(child, "left")
                target = store(left) if left is not None else unknown(child)
                is_async = int(any(token.type == "async" for token in child.children))
                rights = [expression(right) for right in child.children_by_field_name("right")]
                source = rights[0] if len(rights) == 1 else at(ast.Tuple(rights, LOAD), child)
                generators.append(ast.comprehension(target, source, [], is_async))
            elif child.type == "if_clause" and generators:
                generators[-1].ifs.append(first(child) or unknown(child))
        return make(field(node, "body"), generators)

    return convert


def _dict_comprehension(body: Node | None, generators: list[ast.comprehension]) -> ast.expr:
    key = expression(field(body, "key")) if body is not None else expression(None)
    value = expression(field(body, "value")) if body is not None else expression(None)
    return ast.DictComp(key, value, generators)


def _lambda(node: Node) -> ast.expr:
    return ast.Lambda(arguments(field(node, "parameters")), expression(field(node, "body")))


def _sequence(make: Callable[[list[ast.expr]], ast.expr]) -> Callable[[Node], ast.expr]:
    return lambda node: make([expression(child) for child in children(node)])


def _attribute(node: Node) -> ast.expr:
    return ast.Attribute(expression(field(node, "object")), text(field(node, "attribute")), LOAD)


def _parenthesized(node: Node) -> ast.expr:
    inner = children(node)
    made: ast.expr = expression(inner[0]) if len(inner) == 1 else unknown(node)
    return made


def _unary(node: Node) -> ast.expr:
    operator = _UNARY.get(text(field(node, "operator")), ast.USub)
    return ast.UnaryOp(operator(), expression(field(node, "argument")))


def _named(node: Node) -> ast.expr:
    name = field(node, "name")
    target = store(name) if name is not None else unknown(node)
    return ast.NamedExpr(target, expression(field(node, "value")))


EXPRESSIONS: dict[str, Callable[[Node], Any]] = {
    "identifier": lambda node: ast.Name(text(node), LOAD),
    "keyword_identifier": lambda node: ast.Name(text(node), LOAD),
    "attribute": _attribute,
    "call": _call,
    "subscript": _subscript,
    "slice": _slice,
    "string": _string,
    "concatenated_string": _concatenated,
    "integer": _number,
    "float": _number,
    "true": lambda _: ast.Constant(True),
    "false": lambda _: ast.Constant(False),
    "none": lambda _: ast.Constant(None),
    "ellipsis": lambda _: ast.Constant(...),
    "dictionary": _dictionary,
    "list": _sequence(lambda parts: ast.List(parts, LOAD)),
    "list_pattern": _sequence(lambda parts: ast.List(parts, LOAD)),
    "tuple": _sequence(lambda parts: ast.Tuple(parts, LOAD)),
    "tuple_pattern": _sequence(lambda parts: ast.Tuple(parts, LOAD)),
    "pattern_list": _sequence(lambda parts: ast.Tuple(parts, LOAD)),
    "expression_list": _sequence(lambda parts: ast.Tuple(parts, LOAD)),
    "set": _sequence(ast.Set),
    "list_comprehension": _comprehension(lambda body, generators: ast.ListComp(expression(body), generators)),
    "set_comprehension": _comprehension(lambda body, generators: ast.SetComp(expression(body), generators)),
    "generator_expression": _comprehension(lambda body, generators: ast.GeneratorExp(expression(body), generators)),
    "dictionary_comprehension": _comprehension(_dict_comprehension),
    "binary_operator": _binary,
    "boolean_operator": _boolean,
    "comparison_operator": _comparison,
    "unary_operator": _unary,
    "not_operator": lambda node: ast.UnaryOp(ast.Not(), expression(field(node, "argument"))),
    "conditional_expression": _conditional,
    "named_expression": _named,
    "lambda": _lambda,
    "await": lambda node: ast.Await(first(node) or unknown(node)),
    "yield": lambda node: (
        ast.YieldFrom(first(node) or unknown(node))
        if any(child.type == "from" for child in node.children)
        else ast.Yield(first(node))
    ),
    "list_splat": lambda node: ast.Starred(first(node) or unknown(node), LOAD),
    "list_splat_pattern": lambda node: ast.Starred(first(node) or unknown(node), LOAD),
    "parenthesized_expression": _parenthesized,
    "parenthesized_list_splat": _parenthesized,
    "as_pattern": _parenthesized,
    "type": _parenthesized,
    "interpolation": _parenthesized,
}
