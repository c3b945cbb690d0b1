"""What a rule may cost at worst, so that a definition with a rule that could take too long is refused.

The estimate is the server's own: one unit for reading a field, a tenth of a unit for a character of text, and a loop
costs its body times the most items that its list may have. How large values may grow is known from the schema
(``maxItems``, ``maxLength``) or, without a limit, from the size of a request. An estimate is a pair of the least and the
most; sums and products stop at the largest 64-bit number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from kontend.kube.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select
from kontend.kube.cel.expression import Expression
from kontend.kube.cel.schema_types import Declaration
from kontend.kube.cel.types import Type

_MOST: Final = 2**64 - 1
_TEXT: Final = 0.1
_PATTERN: Final = 0.25
_LIST: Final = 10
_MAP: Final = 30


class Range(NamedTuple):
    """The least and the most of a size or a cost."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Both together."""
        return Range(min(self.least + other.least, _MOST), min(self.most + other.most, _MOST))

    def times(self, other: Range) -> Range:
        """One for each of the other."""
        return Range(min(self.least * other.least, _MOST), min(self.most * other.most, _MOST))

    def scaled(self, factor: float) -> Range:
        """A cost from a size, rounded up."""
        return Range(_scale(self.least, factor), _scale(self.most, factor))

    def union(self, other: Range) -> Range:
        """Either of them."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scale(value: int, factor: float) -> int:
    if value > 0 and factor > 0 and float(value) > _MOST / factor:
        return _MOST
    return min(math.ceil(float(value) * factor), _MOST)


_ONE: Final = Range(1, 1)
_NOTHING: Final = Range(0, 0)
_UNKNOWN: Final = Range(0, _MOST)


class _Entries(NamedTuple):
    """How large the keys and the values of a literal may be."""

    keys: Range
    values: Range


class _Variable(NamedTuple):
    path: tuple[str, ...]
    size: Range | None
    entries: _Entries | None


def expression_cost(expression: Expression, declaration: Declaration) -> int:
    """The most that one evaluation may cost."""
    return _Estimate(declaration).cost(expression.tree).most


def _is_scalar(kind: Type) -> bool:
    if kind.name == "optional_type" and kind.params:
        return _is_scalar(kind.params[0])
    return kind.kind in ("bool", "double", "duration", "int", "timestamp", "uint")


class _Estimate:
    def __init__(self, root: Declaration) -> None:
        self.root = root
        self.paths: dict[int, tuple[str, ...]] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, _Entries] = {}
        self.scopes: dict[str, list[_Variable]] = {}

    # Sizes.

    def _path(self, node: Node) -> tuple[str, ...]:
        if isinstance(node, Ident) and self.scopes.get(node.name):
            return self.scopes[node.name][-1].path
        return self.paths.get(id(node), ())

    def _declared_size(self, path: tuple[str, ...]) -> Range | None:
        """The size that the schema gives to a path."""
        if not path:
            return None
        at: Declaration | None = self.root
        for name in path[1:]:
            if at is None:
                return None
            if name in ("@items", "@values"):
                at = at.element
            elif name == "@keys":
                at = at.keys
            else:
                at = (at.fields or {}).get(name, ("", None))[1]
        return None if at is None else Range(0, at.max_elements)

    def _size(self, node: Node) -> Range | None:
        known = self.sizes.get(id(node))
        if known is not None:
            return known
        if isinstance(node, Literal):
            length = len(node.value) if isinstance(node.value, (str, bytes)) else 1
            return Range(length, length)
        if isinstance(node, ListLiteral):
            return Range(len(node.elements), len(node.elements))
        if isinstance(node, MapLiteral):
            return Range(len(node.entries), len(node.entries))
        declared = self._declared_size(self._path(node))
        if declared is not None:
            self.sizes[id(node)] = declared
            return declared
        if _is_scalar(node.type):
            return _ONE
        if isinstance(node, Ident) and self.scopes.get(node.name):
            return self.scopes[node.name][-1].size
        return None

    def size(self, node: Node) -> Range:
        """How large a value may be, at worst without any limit."""
        found = self._size(node)
        return _UNKNOWN if found is None else found

    def item_size(self, node: Node) -> Range:
        """How large an item of a list may be."""
        path = self._path(node)
        found = self._declared_size((*path, "@items")) if path and path[0] != "@result" else None
        return _UNKNOWN if found is None else found

    def _entry_sizes(self, node: Node) -> _Entries | None:
        known = self.entries.get(id(node))
        if known is None and isinstance(node, Ident) and self.scopes.get(node.name):
            return self.scopes[node.name][-1].entries
        return known

    # Costs.

    def cost(self, node: Node) -> Range:
        """What a node costs, with everything in it."""
        if isinstance(node, Literal):
            return _NOTHING
        if isinstance(node, Ident):
            scope = self.scopes.get(node.name)
            self.paths[id(node)] = scope[-1].path if scope else (node.name,)
            return _ONE
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListLiteral):
            return self._list(node)
        if isinstance(node, MapLiteral):
            return self._map(node)
        assert isinstance(node, Comprehension)
        return self._bind(node) if _is_bind(node) else self._comprehension(node)

    def _select(self, node: Select) -> Range:
        total = self.cost(node.operand)
        if node.test:
            # Testing for a field is free.
            return total
        if node.operand.type.kind in ("map", "struct", "param"):
            total = total.plus(_ONE)
        self.paths[id(node)] = (*self._path(node.operand), node.field)
        return total

    def _list(self, node: ListLiteral) -> Range:
        total, items = Range(_LIST, _LIST), Range(_MOST if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            items = items.union(self.size(element))
        self.entries[id(node)] = _Entries(_ONE, items)
        return total

    def _map(self, node: MapLiteral) -> Range:
        start = Range(_MOST if node.entries else 0, 0)
        total, keys, values = Range(_MAP, _MAP), start, start
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys, values = keys.union(self.size(entry.key)), values.union(self.size(entry.value))
        self.entries[id(node)] = _Entries(keys, values)
        return total

    def _push(self, name: str, variable: _Variable) -> None:
        self.scopes.setdefault(name, []).append(variable)

    def _push_local(self, name: str, node: Node) -> None:
        self._push(name, _Variable(self._path(node), self._size(node), self._entry_sizes(node)))

    def _bind(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self._push_local(node.accumulator, node.init)
        total = total.plus(self.cost(node.result))
        self.scopes[node.accumulator].pop()
        self._same_size(node, node.result)
        return total

    def _same_size(self, node: Node, other: Node) -> None:
        size, entries = self._size(other), self._entry_sizes(other)
        if size is not None:
            self.sizes[id(node)] = size
        if entries is not None:
            self.entries[id(node)] = entries

    def _comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self._push_local(node.accumulator, node.init)
        entries, path = self._entry_sizes(node.range), self._path(node.range)
        is_list = node.range.type.kind == "list" or isinstance(node.range, ListLiteral)
        keys = _Variable((*path, "@indices" if is_list else "@keys"), entries.keys if entries else None, None)
        values = _Variable((*path, "@items" if is_list else "@values"), entries.values if entries else None, None)
        self._push(node.variable, keys if node.second or not is_list else values)
        if node.second:
            self._push(node.second, values)
        turn = self.cost(node.condition)
        turn = self.cost(node.step).plus(turn)
        self.scopes[node.variable].pop()
        if node.second:
            self.scopes[node.second].pop()
        total = total.plus(self.cost(node.result))
        self.scopes[node.accumulator].pop()
        count = self.size(node.range)
        if isinstance(node.init, Literal):
            self.sizes[id(node)] = self.size(node.init)
        elif isinstance(node.init, (ListLiteral, MapLiteral)):
            self.sizes[id(node)] = count
            step = self._entry_sizes(node.step)
            if step is not None:
                self.entries[id(node)] = step
        return total.plus(count.times(turn))

    def _call(self, node: Call) -> Range:
        costs = [self.cost(arg) for arg in node.args]
        if node.function == "dyn":
            self._same_size(node, node.args[0])
            return costs[0].plus(_ONE)
        total = self.cost(node.target) if node.target is not None else _NOTHING
        if node.function in ("_&&_", "_||_"):
            most = costs[0]
            for each in costs[1:]:
                most = most.plus(each)
            self.sizes[id(node)] = _ONE
            return Range(costs[0].least, most.most)
        if node.function == "_?_:_":
            return self._conditional(node, costs)
        arguments = _NOTHING
        for each in costs:
            arguments = arguments.plus(each)
        called: Range | None = None
        size: Range | None = None
        for kinds in node.overloads or [()]:
            cost, made = self._overload(node, kinds)
            called = cost if called is None else called.union(cost)
            size = made if size is None else size if made is None else size.union(made)
        if node.function == "_[_]":
            entries = self._entry_sizes(node.args[0])
            step = "@items" if node.args[0].type.kind == "list" else "@values"
            self.paths[id(node)] = (*self._path(node.args[0]), step)
            size = entries.values if entries else None
        if size is None:
            size = self._size(node)
        if size is not None:
            self.sizes[id(node)] = size
        return total.plus(arguments).plus(called or _ONE)

    def _conditional(self, node: Call, costs: list[Range]) -> Range:
        yes, no = node.args[1], node.args[2]
        first, second = self._entry_sizes(yes), self._entry_sizes(no)
        if first is not None and second is not None:
            self.entries[id(node)] = _Entries(first.keys.union(second.keys), first.values.union(second.values))
        self.sizes[id(node)] = self.size(yes).union(self.size(no))
        return costs[0].plus(costs[1].union(costs[2]))

    def _overload(self, node: Call, kinds: tuple[Type, ...]) -> tuple[Range, Range | None]:
        """The cost of one overload without its arguments, and the size of what it gives."""
        known = _FUNCTIONS.get(node.function)
        if known is not None:
            found = known(self, node, kinds)
            if found is not None:
                return found
        if node.function == "_+_" and kinds and kinds[0].kind in ("string", "bytes", "list"):
            return self._concatenation(node, kinds[0].kind)
        traversed = kinds and kinds[0].kind in ("string", "bytes") and node.function in ("_<_", "_<=_", "_>_", "_>=_")
        if traversed or node.function in ("_==_", "_!=_"):
            most = min(self.size(node.args[0]).most, self.size(node.args[1]).most)
            return Range(1 if most else 0, most).scaled(_TEXT), None
        return _ONE, None

    def _concatenation(self, node: Call, kind: str) -> tuple[Range, Range | None]:
        left, right = node.args
        size = self.size(left).plus(self.size(right))
        first, second = self._entry_sizes(left), self._entry_sizes(right)
        if first is not None and second is not None:
            self.entries[id(node)] = _Entries(first.keys.union(second.keys), first.values.union(second.values))
        return (_ONE if kind == "list" else size.scaled(_TEXT)), size


def _is_bind(node: Comprehension) -> bool:
    empty = isinstance(node.range, ListLiteral) and not node.range.elements
    return empty and isinstance(node.condition, Literal) and node.condition.value is False


# Functions that cost something else than one. Each gets the estimate, the call and the types of the overload.
_Cost = tuple[Range, Range | None] | None
_Function = Callable[[_Estimate, Call, tuple[Type, ...]], _Cost]


def _over_target(factor: float, *, keeps_size: bool = False) -> _Function:
    def run(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        if node.target is None:
            return None
        size = estimate.size(node.target)
        return size.scaled(factor), size if keeps_size else None

    return run


def _over_argument(factor: float, *, keeps_size: bool = False) -> _Function:
    def run(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        if not node.args:
            return None
        size = estimate.size(node.args[0])
        return size.scaled(factor), size if keeps_size else None

    return run


def _over_items(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    kind = node.target.type
    if not kind.params:
        return estimate.size(node.target).scaled(_TEXT), None
    each = _ONE
    if kind.params[0].kind in ("string", "bytes"):
        each = each.plus(estimate.item_size(node.target).scaled(_TEXT))
    return estimate.size(node.target).times(each), None


def _pattern(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size = estimate.size(node.target)
    cost = size.plus(_ONE).scaled(_TEXT).times(estimate.size(node.args[0]).scaled(_PATTERN))
    return cost, Range(0, size.most) if node.function != "matches" else None


def _contains(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    return estimate.size(node.target).scaled(_TEXT).times(estimate.size(node.args[0]).scaled(_TEXT)), None


def _in(estimate: _Estimate, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    return (estimate.size(node.args[1]), None) if len(kinds) > 1 and kinds[1].kind == "list" else None


def _replace(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size, old, new = estimate.size(node.target), estimate.size(node.args[0]), estimate.size(node.args[1])
    most = kept = 0
    if old.least == 0:
        most, kept = min(size.most + 1, _MOST), size.most
    elif new.most <= old.least:
        kept = size.most
    else:
        most = math.ceil(size.most / old.least)
    return size.scaled(2 * _TEXT), Range(0, min(most * new.most + kept, _MOST))


def _split(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    size = estimate.size(node.target)
    limit = node.args[1] if len(node.args) > 1 else None
    most = limit.value if isinstance(limit, Literal) and isinstance(limit.value, int) else size.most
    return size.scaled(2 * _TEXT), Range(0, most % (_MOST + 1))


def _join(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    count = estimate.size(node.target)
    size = count.times(estimate.item_size(node.target)) if node.target.type.params else _NOTHING
    if node.args:
        between = Range(max(0, count.least - 1), max(0, count.most - 1))
        size = size.plus(estimate.size(node.args[0]).times(between))
    return size.scaled(_TEXT), size


def _to_bytes(estimate: _Estimate, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    if not kinds or kinds[0].kind != ("string" if node.function == "bytes" else "bytes"):
        return None
    size = estimate.size(node.args[0])
    wide = Range(size.least, size.most * 4 % (_MOST + 1))
    return size.scaled(_TEXT), wide if node.function == "bytes" else Range(size.least // 4, size.most)


def _contains_ip(estimate: _Estimate, node: Call, kinds: tuple[Type, ...]) -> _Cost:
    size = Range(4, 16)
    cost = size.plus(size).scaled(_TEXT)
    if node.function == "containsCIDR":
        cost = cost.plus(size.scaled(_TEXT)).plus(_ONE)
    if len(kinds) > 1 and kinds[1].kind == "string":
        cost = cost.plus(estimate.size(node.args[0]).scaled(_TEXT))
    return cost, None


def _list_call(factor: float, *, squared: bool = False) -> _Function:
    def run(estimate: _Estimate, node: Call, kinds: tuple[Type, ...]) -> _Cost:
        source = node.args[0] if node.function == "@sortByAssociatedKeys" else node.target
        if source is None:
            return None
        size = estimate.size(source)
        wide = squared and node.function != "distinct" and kinds and kinds[-1].params[0].kind in ("string", "bytes")
        total = size.times(size) if squared else size
        return _allocating(total, factor + (_TEXT if wide else 0))

    return run


def _allocating(size: Range, factor: float) -> _Cost:
    return size.scaled(factor).plus(Range(1 + _LIST, 1 + _LIST)), size


def _constant(node: Node, otherwise: int) -> int:
    return max(0, node.value) if isinstance(node, Literal) and type(node.value) is int else otherwise


def _slice(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    start, end = _constant(node.args[0], 0), _constant(node.args[1], estimate.size(node.target).most)
    length = (end - start) % (_MOST + 1)
    return _allocating(Range(length, length), 1)


def _range(_estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    length = _constant(node.args[0], _MOST)
    return _allocating(Range(length, length), 1)


def _flatten(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    if node.target is None:
        return None
    depth = _constant(node.args[0], _MOST) if node.args else 1
    return _allocating(estimate.size(node.target), float(depth))


def _sets(factor: float) -> _Function:
    def run(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
        return estimate.size(node.args[0]).times(estimate.size(node.args[1])).scaled(factor).plus(_ONE), None

    return run


def _equals(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    left, right = node.args[0].type, node.args[1].type
    if left != right:
        return None
    if left.name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
        return _ONE, None
    if left.name == "kubernetes.NamedFormat":
        return Range(1, 64).scaled(_TEXT), None
    if left.name == "kubernetes.URL":
        return Range(1, estimate.size(node.args[1]).most).scaled(_TEXT), None
    return None


def _quote(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    size = estimate.size(node.args[0])
    return size.scaled(_TEXT), Range(size.least + 2, (size.most * 2 + 2) % (_MOST + 1))


def _validate(estimate: _Estimate, node: Call, _kinds: tuple[Type, ...]) -> _Cost:
    return estimate.size(node.args[0]).scaled(_TEXT).scaled(128 * _PATTERN), None


_FUNCTIONS: Final[dict[str, _Function]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_items),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _over_target(_TEXT, keeps_size=True)),
    **dict.fromkeys(("startsWith", "endsWith"), _over_argument(_TEXT)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _over_argument(_TEXT)),
    **dict.fromkeys(("find", "findAll", "matches"), _pattern),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_ip),
    **dict.fromkeys(("bytes", "string"), _to_bytes),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys", "distinct"), _list_call(2, squared=True)),
    "url": _over_argument(_TEXT, keeps_size=True),
    "ip.isCanonical": _over_argument(2 * _TEXT),
    "sets.equivalent": _sets(2),
    "contains": _contains,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "@in": _in,
    "format": _over_target(_TEXT),
    "strings.quote": _quote,
    "validate": _validate,
    "reverse": _list_call(1),
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
    "_==_": _equals,
}
