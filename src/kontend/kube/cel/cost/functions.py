"""Functions that cost more than one unit, and how large their results are.

Each gets the estimate, the call and the types of the overload, and gives the cost without that of the arguments, and
the size of the result where it is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol

from kontend.kube.cel.cost.range import LIST, MOST, NOTHING, ONE, PATTERN, TEXT, Range
from kontend.kube.cel.syntax.ast import Call, Literal, Node
from kontend.kube.cel.types import Type


class Sizes(Protocol):
    """The estimated sizes of the nodes of an expression."""

    def size(self, node: Node) -> Range:
        """Return the size of a value."""

    def item_size(self, node: Node) -> Range:
        """Return the size of an item of a list."""


_Cost = tuple[Range, Range | None] | None
_Function = Callable[[Sizes, Call, tuple[Type, ...]], _Cost]


def _over_target(factor: float, *, keeps_size: bool = False) -> _Function:
    def run(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        if node.target is None:
            return None
        size = estimate.size(node.target)
        return size.scaled(factor), size if keeps_size else None

    return run


def _over_argument(factor: float, *, keeps_size: bool = False) -> _Function:
    def run(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        if not node.args:
            return None
        size = estimate.size(node.args[0])
        return size.scaled(factor), size if keeps_size else None

    return run


def _over_items(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    kind = node.target.type
    if not kind.params:
        return estimate.size(node.target).scaled(TEXT), None
    item = ONE
    if kind.params[0].kind in ("string", "bytes"):
        item = item.plus(estimate.item_size(node.target).scaled(TEXT))
    return estimate.size(node.target).times(item), None


def _pattern(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size = estimate.size(node.target)
    cost = size.plus(ONE).scaled(TEXT).times(estimate.size(node.args[0]).scaled(PATTERN))
    return cost, Range(0, size.most) if node.function != "matches" else None


def _contains(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    return estimate.size(node.target).scaled(TEXT).times(estimate.size(node.args[0]).scaled(TEXT)), None


def _in(estimate: Sizes, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    return (estimate.size(node.args[1]), None) if len(kinds) > 1 and kinds[1].kind == "list" else None


def _replace(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size, old, new = estimate.size(node.target), estimate.size(node.args[0]), estimate.size(node.args[1])
    most = kept = 0
    if old.least == 0:
        most, kept = min(size.most + 1, MOST), size.most
    elif new.most <= old.least:
        kept = size.most
    else:
        most = math.ceil(size.most / old.least)
    return size.scaled(2 * TEXT), Range(0, min(most * new.most + kept, MOST))


def _split(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size = estimate.size(node.target)
    limit = node.args[1] if len(node.args) > 1 else None
    most = limit.value if isinstance(limit, Literal) and isinstance(limit.value, int) else size.most
    return size.scaled(2 * TEXT), Range(0, most % (MOST + 1))


def _join(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    count = estimate.size(node.target)
    size = count.times(estimate.item_size(node.target)) if node.target.type.params else NOTHING
    if node.args:
        between = Range(max(0, count.least - 1), max(0, count.most - 1))
        size = size.plus(estimate.size(node.args[0]).times(between))
    return size.scaled(TEXT), size


def _to_bytes(estimate: Sizes, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    if not kinds or kinds[0].kind != ("string" if node.function == "bytes" else "bytes"):
        return None
    size = estimate.size(node.args[0])
    wide = Range(size.least, size.most * 4 % (MOST + 1))
    return size.scaled(TEXT), wide if node.function == "bytes" else Range(size.least // 4, size.most)


def _contains_ip(estimate: Sizes, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    size = Range(4, 16)
    cost = size.plus(size).scaled(TEXT)
    if node.function == "containsCIDR":
        cost = cost.plus(size.scaled(TEXT)).plus(ONE)
    if len(kinds) > 1 and kinds[1].kind == "string":
        cost = cost.plus(estimate.size(node.args[0]).scaled(TEXT))
    return cost, None


def _list_call(factor: float, *, squared: bool = False) -> _Function:
    def run(estimate: Sizes, node: Call, kinds: tuple[Type, ...]) -> _Cost:
        source = node.args[0] if node.function == "@sortByAssociatedKeys" else node.target
        if source is None:
            return None
        size = estimate.size(source)
        wide = squared and node.function != "distinct" and kinds and kinds[-1].params[0].kind in ("string", "bytes")
        total = size.times(size) if squared else size
        return _allocating(total, factor + (TEXT if wide else 0))

    return run


def _allocating(size: Range, factor: float) -> _Cost:
    return size.scaled(factor).plus(Range(1 + LIST, 1 + LIST)), size


def _constant(node: Node, otherwise: int) -> int:
    return max(0, node.value) if isinstance(node, Literal) and type(node.value) is int else otherwise


def _slice(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    start, end = _constant(node.args[0], 0), _constant(node.args[1], estimate.size(node.target).most)
    length = (end - start) % (MOST + 1)
    return _allocating(Range(length, length), 1)


def _range(_estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    length = _constant(node.args[0], MOST)
    return _allocating(Range(length, length), 1)


def _flatten(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    depth = _constant(node.args[0], MOST) if node.args else 1
    return _allocating(estimate.size(node.target), float(depth))


def _sets(factor: float) -> _Function:
    def run(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        return estimate.size(node.args[0]).times(estimate.size(node.args[1])).scaled(factor).plus(ONE), None

    return run


def _equals(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    left, right = node.args[0].type, node.args[1].type
    if left != right:
        return None
    if left.name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
        return ONE, None
    if left.name == "kubernetes.NamedFormat":
        return Range(1, 64).scaled(TEXT), None
    if left.name == "kubernetes.URL":
        return Range(1, estimate.size(node.args[1]).most).scaled(TEXT), None
    return None


def _quote(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    size = estimate.size(node.args[0])
    return size.scaled(TEXT), Range(size.least + 2, (size.most * 2 + 2) % (MOST + 1))


def _validate(estimate: Sizes, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    return estimate.size(node.args[0]).scaled(TEXT).scaled(128 * PATTERN), None


COSTS: Final[dict[str, _Function]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_items),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _over_target(TEXT, keeps_size=True)),
    **dict.fromkeys(("startsWith", "endsWith"), _over_argument(TEXT)),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _over_argument(TEXT)
    ),
    **dict.fromkeys(("find", "findAll", "matches"), _pattern),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_ip),
    **dict.fromkeys(("bytes", "string"), _to_bytes),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys", "distinct"), _list_call(2, squared=True)),
    "url": _over_argument(TEXT, keeps_size=True),
    "ip.isCanonical": _over_argument(2 * TEXT),
    "sets.equivalent": _sets(2),
    "contains": _contains,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "@in": _in,
    "format": _over_target(TEXT),
    "strings.quote": _quote,
    "validate": _validate,
    "reverse": _list_call(1),
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
    "_==_": _equals,
}
