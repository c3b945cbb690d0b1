"""Limits what an evaluation costs while it runs, as kube-apiserver does.

The last slot of a frame holds what is left. A loop charges for the nodes of its body at every turn, and functions that
go through texts and lists charge for their sizes: what takes time. The numbers follow cel-go's (one for a node, a tenth
for a character, a quarter for a character of a pattern), but parts of a body that are skipped are charged too, and
constant work outside of loops is not, so that a limit may be met a little earlier or later than there.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.cel.operations import Frame, Run
from kontend.kube.cel.syntax.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select
from kontend.kube.cel.values import EvalError

#: The cost limits of one expression, and of all rules of an object together: kube-apiserver's numbers.
PER_CALL_LIMIT: Final = 1_000_000
OBJECT_BUDGET: Final = 10_000_000

_CHARACTER: Final = 0.1
_PATTERN: Final = 0.25
_LIST, _MAP = 10, 30
#: Functions that take time in proportion to their arguments.
_GO_THROUGH: Final = frozenset(
    {"_+_", "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "contains", "startsWith", "endsWith", "indexOf",
     "lastIndexOf", "lowerAscii", "upperAscii", "replace", "split", "join", "substring", "trim", "reverse", "charAt",
     "format", "matches", "find", "findAll", "sum", "min", "max", "isSorted", "distinct", "sort", "flatten", "slice",
     "sets.contains", "sets.equivalent", "sets.intersects", "quantity", "isQuantity", "url", "isURL", "ip", "isIP",
     "cidr", "isCIDR", "semver", "isSemver", "string", "bytes", "int", "uint", "double", "duration", "timestamp"}
)  # fmt: skip
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
#: Every part of the one argument is compared with those of the other.
_PRODUCTS: Final = frozenset({"sets.contains", "sets.equivalent", "sets.intersects", *_PATTERNS})


class CostExceeded(Exception):
    """Ends an evaluation that has used up its limit; not an EvalError, which loops and logic may absorb."""


def meter(limit: float) -> list[float]:
    """Return the last slot of a frame: what is left, and sizes of arguments on top of it."""
    return [limit]


class CostLimit(EvalError):
    """An evaluation that was ended; the text is cel-go's."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def charge(frame: Frame, cost: float) -> None:
    """Take a cost off what is left."""
    left = frame[-1]
    left[0] -= cost
    if left[0] < 0:
        raise CostExceeded


def turn_cost(parts: list[Node]) -> int:
    """Return the cost of one turn of a loop, without the loops inside of it."""
    return 1 + sum(_cost(part) for part in parts)


def _cost(node: Node) -> int:
    if isinstance(node, Select):
        return 1 + _cost(node.operand)
    if isinstance(node, Call):
        return 1 + sum(_cost(part) for part in node.args) + (_cost(node.target) if node.target is not None else 0)
    if isinstance(node, Ident):
        return 1
    if isinstance(node, ListLiteral):
        return _LIST + sum(_cost(element) for element in node.elements)
    if isinstance(node, MapLiteral):
        return _MAP + sum(_cost(entry.value) for entry in node.entries)
    if isinstance(node, Comprehension):
        return 1 + _cost(node.range) + _cost(node.init) + _cost(node.result)
    return 0


def metered(node: Call, args: list[Run]) -> list[Run]:
    """Return the arguments of a call, so that they charge for their sizes before the function sees them."""
    name = node.function
    if name not in _GO_THROUGH or not args:
        return args
    if name not in _PRODUCTS or len(args) < 2:
        return [_measured(arg, 1.0) for arg in args]
    weight = _PATTERN / _CHARACTER if name in _PATTERNS else 1.0
    other = node.args[-1]
    if isinstance(other, Literal):
        return [_measured(args[0], 1 + weight * _size(other.value)), *args[1:]]
    return [_pushed(args[0]), _multiplied(args[1], weight), *args[2:]]


def _size(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        return len(value) * _CHARACTER
    if isinstance(value, (list, dict)):
        return float(len(value))
    return 0.0


def _measured(arg: Run, weight: float) -> Run:
    def run(frame: Frame) -> Any:
        value = arg(frame)
        size = _size(value)
        if size:
            charge(frame, size * weight)
        return value

    return run


def _pushed(arg: Run) -> Run:
    """Keep the size of an argument beside what is left, for the argument after it."""

    def run(frame: Frame) -> Any:
        value = arg(frame)
        frame[-1].append(_size(value))
        return value

    return run


def _multiplied(arg: Run, weight: float) -> Run:
    def run(frame: Frame) -> Any:
        value = arg(frame)
        charge(frame, (1 + frame[-1].pop()) * (1 + weight * _size(value)))
        return value

    return run
