"""The syntax tree of an expression.

Macros are expanded while parsing, into :class:`Comprehension`: the checker and the cost estimate then see what the
server sees. ``at`` is the offset that an error about the node points to. The checker fills in ``type``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kontend.kube.cel.types import ERROR, Type

ACCUMULATOR = "@result"


@dataclass(slots=True, kw_only=True)
class Node:
    """Any expression."""

    at: int = 0
    type: Type = ERROR


@dataclass(slots=True)
class Literal(Node):
    """A constant; its type is known from the start."""

    value: Any = None


@dataclass(slots=True)
class Ident(Node):
    """A name."""

    name: str = ""


@dataclass(slots=True)
class Select(Node):
    """``operand.field``, or ``has(operand.field)``."""

    operand: Node
    field: str
    test: bool = False


@dataclass(slots=True)
class Call(Node):
    """A function, an operator or a method (then ``target`` is set)."""

    function: str
    args: list[Node]
    target: Node | None = None
    #: The parameters of the overloads that fit, filled in by the checker.
    overloads: list[tuple[Type, ...]] = field(default_factory=list)


@dataclass(slots=True)
class ListLiteral(Node):
    """``[a, ?b]``: ``optional`` holds the indices with a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True)
class Entry:
    """One ``key: value`` of a map or a message."""

    at: int
    key: Node | str
    value: Node
    optional: bool = False


@dataclass(slots=True)
class MapLiteral(Node):
    """``{a: b, ?c: d}``."""

    entries: list[Entry]


@dataclass(slots=True)
class Message(Node):
    """``Name{field: value}``."""

    name: str
    entries: list[Entry]


@dataclass(slots=True)
class Comprehension(Node):
    """A fold over a list or a map. ``macro`` names the macro it came from, for those that are run directly."""

    macro: str
    range: Node
    variable: str
    second: str
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node
    body: list[Node] = field(default_factory=list)


def qualified_name(node: Node) -> str | None:
    """Return the dotted name that a chain of names spells, or nothing."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        prefix = qualified_name(node.operand)
        return f"{prefix}.{node.field}" if prefix is not None else None
    return None
