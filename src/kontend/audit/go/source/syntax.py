"""The thin layer over tree-sitter: parsing, text, and walking up and down a tree.

Everything above speaks of nodes and their field names; nothing above builds parsers or queries. Trees tolerate
errors: a file that does not compile still gives the functions that do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import ParamSpec, TypeVar

import tree_sitter_go
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

__all__ = [
    "CALL_TYPES",
    "Node",
    "ancestors",
    "arguments",
    "assignments",
    "between",
    "calls",
    "children",
    "descend",
    "enclosing",
    "field",
    "forget",
    "inside",
    "line",
    "makes_call",
    "mentions",
    "nearby_calls",
    "parse",
    "previous",
    "remembered",
    "root_identifier",
    "selector",
    "strip",
    "takes_copy",
    "text",
]


_P = ParamSpec("_P")
_T = TypeVar("_T")
_MEMORIES: list[Callable[[], None]] = []


def remembered(maxsize: int) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Cache the last results of a function of nodes, until `forget` is called: a node keeps its whole tree alive."""

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        cached = lru_cache(maxsize)(function)
        _MEMORIES.append(cached.cache_clear)
        return cached  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Drop all cached results of functions of nodes, so that their trees can go."""
    for clear in _MEMORIES:
        clear()


@cache
def _language() -> Language:
    return Language(tree_sitter_go.language())


@cache
def _query(source: str) -> Query:
    return Query(_language(), source)


def parse(source: bytes) -> Tree:
    """Parse Go source; never raises for wrong code.

    The grammar wants a line end after the last declaration, which Go does not.
    """
    return Parser(_language()).parse(source if source.endswith(b"\n") else source + b"\n")


def captures(node: Node, query: str, name: str) -> list[Node]:
    """Run a query below `node` and return the nodes captured as `name`, in source order."""
    nodes = QueryCursor(_query(query)).captures(node).get(name, [])
    return sorted(nodes, key=lambda node: node.start_byte)


def first_error(root: Node) -> int:
    """Return the line of the first syntax error, or 0.

    `new(value)` is valid since Go 1.26, which the grammar does not know yet, so errors around it do not count. They do
    count where braces do not match: a file that is cut in the middle may well hold a `new(` above the cut.
    """
    if not root.has_error:
        return 0
    source = root.text or b""
    lines = source.split(b"\n")
    excused = not unbalanced(source)
    for node in captures(root, "(ERROR) @error", "error"):
        if not excused or not any(b"new(" in row for row in lines[max(0, line(node) - 4) : node.end_point[0] + 1]):
            return line(node)
    return 0 if excused and any(b"new(" in row for row in lines) else len(lines)


def unbalanced(source: bytes) -> bool:
    """Decide whether a file has more opening than closing braces, or fewer.

    Braces in strings count too, so this is only a hint: it costs a thousandth of parsing and tells which of the files
    without a write are worth parsing, because they may have been cut before their first one.
    """
    return source.count(b"{") != source.count(b"}")


def text(node: Node | None) -> str:
    """Return the source text of a node, or nothing."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")


def line(node: Node) -> int:
    """Return the 1-based line a node begins at."""
    return node.start_point[0] + 1


def field(node: Node | None, *names: str) -> Node | None:
    """Follow field names down from a node."""
    for name in names:
        if node is None:
            return None
        node = node.child_by_field_name(name)
    return node


def children(node: Node | None) -> list[Node]:
    """Return named children without comments."""
    if node is None:
        return []
    return [child for child in node.named_children if child.type != "comment"]


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the parents of a node, innermost first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def enclosing(node: Node, *types: str) -> Node | None:
    """Return the innermost parent of one of the given types."""
    return next((parent for parent in ancestors(node) if parent.type in types), None)


def inside(node: Node, outer: Node) -> bool:
    """Decide whether `node` lies within `outer`."""
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def previous(node: Node) -> Node | None:
    """Return the sibling before a node that is not a comment."""
    sibling = node.prev_named_sibling
    while sibling is not None and sibling.type == "comment":
        sibling = sibling.prev_named_sibling
    return sibling


def descend(node: Node, want: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield every node below and including `node` that is wanted, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        if want(current):
            yield current
        stack.extend(reversed(current.named_children))


CALL_TYPES = ("call_expression", "type_conversion_expression")
_CALLS = "[(call_expression) (type_conversion_expression)] @call"
_ASSIGNMENTS = "[(short_var_declaration) (assignment_statement) (var_spec) (range_clause) (inc_statement)] @assign"


# The same functions are asked about many times over. A node keeps its tree alive, so a key cannot come to mean another
# node.
@remembered(2048)
def calls(node: Node) -> tuple[Node, ...]:
    """Return the calls below a node; `F[T](x)` with one argument is parsed as a conversion and counts as a call."""
    return tuple(captures(node, _CALLS, "call"))


_GENERATED = 1000
"""More calls or assignments than this in one function are generated code; only the nearest ones are looked at then."""


def between(nodes: tuple[Node, ...], start: int, end: int) -> tuple[Node, ...]:
    """Return the nodes of a sorted tuple that begin in a range of bytes, at most the last 500 of them."""
    limit = 500 if len(nodes) <= _GENERATED else 30
    first = bisect_left(nodes, start, key=lambda node: node.start_byte)
    last = bisect_left(nodes, end, key=lambda node: node.start_byte)
    return nodes[max(first, last - limit) : last]


def nearby_calls(node: Node, use: Node) -> tuple[Node, ...]:
    """Return the calls below a node that are nearest to a use, at most 120 on either side of it.

    Looking at all of them for each write would take quadratic time.
    """
    every = calls(node)
    limit = 120 if len(every) <= _GENERATED else 15
    if len(every) <= 2 * limit:
        return every
    position = bisect_left(every, use.start_byte, key=lambda call: call.start_byte)
    return every[max(0, position - limit) : position + limit]


@remembered(2048)
def assignments(node: Node) -> tuple[Node, ...]:
    """Return declarations with a value, assignments and range clauses below a node."""
    return tuple(captures(node, _ASSIGNMENTS, "assign"))


def mentions(node: Node | None, *names: str) -> bool:
    """Report if an expression has one of these names in it: as a variable, a field, a type or a function."""
    if node is None:
        return False
    kinds = ("identifier", "field_identifier", "type_identifier", "package_identifier")
    return any(text(inner) in names for inner in descend(node, lambda inner: inner.type in kinds))


def makes_call(node: Node | None, *names: str) -> bool:
    """Report if one of these functions is called below a node, on whatever operand."""
    return node is not None and any(callee(call)[1] in names for call in calls(node))


def takes_copy(node: Node | None) -> bool:
    """Report if an expression calls a generated copy function."""
    return makes_call(node, "DeepCopy", "DeepCopyObject", "DeepCopyInto")


@remembered(1024)
def assignments_by_name(node: Node) -> dict[str, list[tuple[Node, int]]]:
    """Return the assignments below a node to plain names, with the position of the name on the left."""
    by_name: dict[str, list[tuple[Node, int]]] = {}
    for statement in assignments(node):
        left = (
            statement.children_by_field_name("name")
            if statement.type == "var_spec"
            else children(field(statement, "left"))
        )
        for position, target in enumerate(left):
            if target.type == "identifier":
                by_name.setdefault(text(target), []).append((statement, position))
    return by_name


def strip(node: Node | None) -> Node | None:
    """Remove what does not change the identity of an expression: `&x`, `*x`, `(x)`, `x.(T)`."""
    while node is not None:
        if node.type == "unary_expression" and text(node)[:1] in "&*":
            node = field(node, "operand")
        elif node.type == "parenthesized_expression":
            node = next(iter(children(node)), None)
        elif node.type == "type_assertion_expression":
            node = field(node, "operand")
        else:
            return node
    return None


def selector(node: Node | None) -> list[str]:
    """Return a dotted path as its parts; calls and indices end the path that can be named.

    `r.cfg.Client` gives `["r", "cfg", "Client"]`, `f(x).y` gives `[]`.
    """
    parts: list[str] = []
    node = strip(node)
    while node is not None:
        if node.type == "selector_expression":
            parts.append(text(field(node, "field")))
            node = strip(field(node, "operand"))
        elif node.type == "index_expression":
            parts.append("[]")
            node = strip(field(node, "operand"))
        elif node.type in ("identifier", "package_identifier", "type_identifier"):
            return [text(node), *reversed(parts)]
        else:
            return []
    return []


def root_identifier(node: Node | None) -> str:
    """Return the variable an expression starts from: `o` for `&o.Items[i].Status`."""
    parts = selector(node)
    return parts[0] if parts else ""


def arguments(call: Node) -> list[Node]:
    """Return the arguments of a call."""
    if call.type == "type_conversion_expression":
        operand = field(call, "operand")
        return [operand] if operand is not None else []
    return children(field(call, "arguments"))


def callee(call: Node) -> tuple[Node | None, str]:
    """Return the operand and the name called: `(r.Status(), "Patch")`, `(None, "updateStatus")`."""
    function = field(call, "function")
    if call.type == "type_conversion_expression":
        function = field(call, "type")
    if function is not None and function.type in ("generic_type", "index_expression", "type_instantiation_expression"):
        function = field(function, "type") or field(function, "operand") or next(iter(children(function)), None)
    if function is None:
        return None, ""
    if function.type == "selector_expression":
        return field(function, "operand"), text(field(function, "field"))
    if function.type == "qualified_type":
        return field(function, "package"), text(field(function, "name"))
    if function.type in ("identifier", "type_identifier"):
        return None, text(function)
    return function, ""
