"""The statement of a place, and the calls in it.

The line of a call says where it was made, and not with what: what a call is given is read from the syntax tree of its
statement. Regular expressions over the line were tried before: they missed calls on several lines, and took comments
and strings for code.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache

from kontend.runtime.source_location import SourceLocation


def tree_of(file: str) -> ast.Module | None:
    """Return the syntax tree of a file as it was loaded; None where it cannot be read."""
    return parsed("".join(linecache.getlines(file)))


@lru_cache(maxsize=100)
def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text; None where it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def statement_at(tree: ast.AST, line: int) -> ast.stmt | None:
    """Return the innermost statement on a line."""
    return next(reversed([*enclosing(tree, line)]), None)


def enclosing(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """Yield the statements around a line, outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node
        if not isinstance(node, ast.expr):
            yield from enclosing(node, line)


def calls_at(place: SourceLocation | None) -> dict[str, ast.Call]:
    """Return the calls in the statement of a place, by the name of what they call."""
    tree = tree_of(place.file) if place is not None else None
    statement = statement_at(tree, place.line) if tree is not None and place is not None else None
    if statement is None:
        return {}
    # Of a compound statement only its head runs on this line.
    parts = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
    calls = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return {name_of(call): call for call in reversed(calls)}


def name_of(call: ast.Call) -> str:
    """Return the last name of what is called: ``patch`` in ``api.status.patch(…)``."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword of a call; None where it is not given."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def is_given(call: ast.Call, name: str, value: object) -> bool:
    """Return whether a call has a keyword with a constant value.

    >>> is_given(ast.parse("merge_from(base, lock=False)", mode="eval").body, "lock", False)
    True
    """
    given = keyword_of(call, name)
    return isinstance(given, ast.Constant) and given.value is value
