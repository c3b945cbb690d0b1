"""The worst-case cost of a rule; a definition whose rules could take too long is refused.

The estimate is the server's own: one unit for reading a field, a tenth of a unit for a character of text, and a loop
costs its body times the most items that its list may have. How large values may grow is known from the schema
(``maxItems``, ``maxLength``) or, without a limit, from the size of a request.
"""

from __future__ import annotations

from typing import NamedTuple

from kontend.kube.cel.cost.functions import COSTS
from kontend.kube.cel.cost.range import LIST, MAP, MOST, NOTHING, ONE, TEXT, UNKNOWN, Range
from kontend.kube.cel.expression import Expression
from kontend.kube.cel.recursion import headroom
from kontend.kube.cel.schema_types import Declaration
from kontend.kube.cel.syntax.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select
from kontend.kube.cel.types import Type


class _Entries(NamedTuple):
    """The largest sizes of the keys and the values of a literal."""

    keys: Range
    values: Range


class _Variable(NamedTuple):
    path: tuple[str, ...]
    size: Range | None
    entries: _Entries | None


def expression_cost(expression: Expression, declaration: Declaration) -> int:
    """Return the most that one evaluation may cost."""
    with headroom():
        return Estimate(declaration).cost(expression.tree).most


def _is_scalar(kind: Type) -> bool:
    if kind.name == "optional_type" and kind.params:
        return _is_scalar(kind.params[0])
    return kind.kind in ("bool", "double", "duration", "int", "timestamp", "uint")


class Estimate:
    """The estimate of one expression: sizes and costs of its nodes."""

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
        """Return the size that the schema gives to a path."""
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
            return ONE
        if isinstance(node, Ident) and self.scopes.get(node.name):
            return self.scopes[node.name][-1].size
        return None

    def size(self, node: Node) -> Range:
        """Return the largest size of a value, which may be unlimited."""
        known_size = self._size(node)
        return UNKNOWN if known_size is None else known_size

    def item_size(self, node: Node) -> Range:
        """Return the largest size of an item of a list."""
        path = self._path(node)
        known_size = self._declared_size((*path, "@items")) if path and path[0] != "@result" else None
        return UNKNOWN if known_size is None else known_size

    def _entry_sizes(self, node: Node) -> _Entries | None:
        known = self.entries.get(id(node))
        if known is None and isinstance(node, Ident) and self.scopes.get(node.name):
            return self.scopes[node.name][-1].entries
        return known

    # Costs.

    def cost(self, node: Node) -> Range:
        """Return the cost of a node and of everything in it."""
        if isinstance(node, Literal):
            return NOTHING
        if isinstance(node, Ident):
            scope = self.scopes.get(node.name)
            self.paths[id(node)] = scope[-1].path if scope else (node.name,)
            return ONE
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
            total = total.plus(ONE)
        self.paths[id(node)] = (*self._path(node.operand), node.field)
        return total

    def _list(self, node: ListLiteral) -> Range:
        total, items = Range(LIST, LIST), Range(MOST if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            items = items.union(self.size(element))
        self.entries[id(node)] = _Entries(ONE, items)
        return total

    def _map(self, node: MapLiteral) -> Range:
        start = Range(MOST if node.entries else 0, 0)
        total, keys, values = Range(MAP, MAP), start, start
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
            return costs[0].plus(ONE)
        total = self.cost(node.target) if node.target is not None else NOTHING
        if node.function in ("_&&_", "_||_"):
            most = costs[0]
            for argument_cost in costs[1:]:
                most = most.plus(argument_cost)
            self.sizes[id(node)] = ONE
            return Range(costs[0].least, most.most)
        if node.function == "_?_:_":
            return self._conditional(node, costs)
        arguments = NOTHING
        for argument_cost in costs:
            arguments = arguments.plus(argument_cost)
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
        return total.plus(arguments).plus(called or ONE)

    def _conditional(self, node: Call, costs: list[Range]) -> Range:
        yes, no = node.args[1], node.args[2]
        first, second = self._entry_sizes(yes), self._entry_sizes(no)
        if first is not None and second is not None:
            self.entries[id(node)] = _Entries(first.keys.union(second.keys), first.values.union(second.values))
        self.sizes[id(node)] = self.size(yes).union(self.size(no))
        return costs[0].plus(costs[1].union(costs[2]))

    def _overload(self, node: Call, kinds: tuple[Type, ...]) -> tuple[Range, Range | None]:
        """Return the cost of one overload without its arguments, and the size of what it gives."""
        known = COSTS.get(node.function)
        if known is not None:
            special = known(self, node, kinds)
            if special is not None:
                return special
        if node.function == "_+_" and kinds and kinds[0].kind in ("string", "bytes", "list"):
            return self._concatenation(node, kinds[0].kind)
        traversed = kinds and kinds[0].kind in ("string", "bytes") and node.function in ("_<_", "_<=_", "_>_", "_>=_")
        if traversed or node.function in ("_==_", "_!=_"):
            most = min(self.size(node.args[0]).most, self.size(node.args[1]).most)
            return Range(1 if most else 0, most).scaled(TEXT), None
        return ONE, None

    def _concatenation(self, node: Call, kind: str) -> tuple[Range, Range | None]:
        left, right = node.args
        size = self.size(left).plus(self.size(right))
        first, second = self._entry_sizes(left), self._entry_sizes(right)
        if first is not None and second is not None:
            self.entries[id(node)] = _Entries(first.keys.union(second.keys), first.values.union(second.values))
        return (ONE if kind == "list" else size.scaled(TEXT)), size


def _is_bind(node: Comprehension) -> bool:
    empty = isinstance(node.range, ListLiteral) and not node.range.elements
    return empty and isinstance(node.condition, Literal) and node.condition.value is False
