"""Conditions of Go code, taken apart: what they ask, and whether it has to be true for the branch to be taken.

A search of the text found `IsConflict(err)` in `!IsConflict(err)` and in strings, comments and other calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kontend.audit.go.source import syntax
from kontend.audit.go.source.syntax import Node, text


def questions(condition: Node | None) -> Iterator[tuple[Node, bool]]:
    """Yield the parts of a condition that are joined by `&&` and `||`, each with whether the condition asks for it to
    be true.

    The branch of `a || b` is one of a as well as of b, so the two operators are not told apart.
    """
    waiting = [(condition, True)]
    while waiting:
        node, wanted = waiting.pop()
        if node is None:
            continue
        operator = text(syntax.field(node, "operator"))
        if node.type == "parenthesized_expression":
            waiting += [(child, wanted) for child in reversed(syntax.children(node))]
        elif node.type == "unary_expression" and operator == "!":
            waiting.append((syntax.field(node, "operand"), not wanted))
        elif node.type == "binary_expression" and operator in ("&&", "||"):
            waiting += [(syntax.field(node, "right"), wanted), (syntax.field(node, "left"), wanted)]
        else:
            yield node, wanted


def asks(condition: Node | None, *names: str, argument: str = "") -> bool:
    """Decide whether a condition asks for one of these calls to answer true, with this argument where one is named."""
    return any(
        wanted
        and node.type in syntax.CALL_TYPES
        and syntax.callee(node)[1] in names
        and (not argument or any(syntax.mentions(given, argument) for given in syntax.arguments(node)))
        for node, wanted in questions(condition)
    )


def compared_with_nil(condition: Node | None) -> Iterator[tuple[Node, bool]]:
    """Yield what a condition compares with nil, each with whether it asks for it to be nil."""
    for node, wanted in questions(condition):
        operator = text(syntax.field(node, "operator"))
        left, right = syntax.field(node, "left"), syntax.field(node, "right")
        if node.type == "binary_expression" and operator in ("==", "!=") and left is not None and right is not None:
            compared = left if right.type == "nil" else right if left.type == "nil" else None
            if compared is not None:
                yield compared, (operator == "==") is wanted


def only_failure(condition: Node | None) -> str:
    """Return the name of the variable of `err != nil`, where the condition asks nothing else."""
    every = list(questions(condition))
    failing = [node for node, is_nil in compared_with_nil(condition) if not is_nil and node.type == "identifier"]
    return text(failing[0]) if len(every) == len(failing) == 1 else ""


def named_like(node: Node | None, pattern: re.Pattern[str]) -> bool:
    """Decide whether an expression has a variable or a field in it whose name a pattern finds."""
    if node is None:
        return False
    names = syntax.descend(node, lambda inner: inner.type in ("identifier", "field_identifier"))
    return any(pattern.search(text(name)) for name in names)
