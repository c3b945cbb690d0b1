"""The type checker: it finds the mistakes of an expression before it runs, and gives every node its type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kontend.kube.cel import types
from kontend.kube.cel.declarations import TYPE_NAMES, Overload, functions
from kontend.kube.cel.issues import Issues
from kontend.kube.cel.syntax.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    qualified_name,
)
from kontend.kube.cel.syntax.literals import check_literals
from kontend.kube.cel.types import Type, substitute


@dataclass(frozen=True, slots=True)
class Environment:
    """The names that an expression may use: variables, and the fields of object types."""

    variables: dict[str, Type]
    structs: dict[str, dict[str, Type]] = field(default_factory=dict)


_DYNAMIC: Final = frozenset({"dyn", "error"})


def check(tree: Node, source: str, environment: Environment) -> frozenset[str]:
    """Types the tree in place; returns the variables that it uses. Raises a ``CompileError`` with all mistakes."""
    issues = Issues(source)
    checker = _Checker(issues, environment)
    checker.visit(tree)
    issues.raise_any()
    for node in checker.seen:
        node.type = substitute(checker.mapping, node.type, free_is_dyn=True)
    check_literals(checker.seen, frozenset(checker.mixed), issues)
    issues.raise_any()
    return frozenset(checker.used)


class _Checker:
    def __init__(self, issues: Issues, environment: Environment) -> None:
        self.issues = issues
        self.structs = environment.structs
        self.scopes: list[dict[str, Type]] = [environment.variables]
        self.mapping: types.Mapping = {}
        self.fresh = 0
        self.seen: list[Node] = []
        self.used: set[str] = set()
        # Lists and maps inside a call of format() may mix types.
        self.mixed: set[int] = set()
        self.formats = 0

    def visit(self, node: Node) -> Type:
        node.type = self._type(node)
        self.seen.append(node)
        if self.formats:
            self.mixed.add(id(node))
        return node.type

    def _type(self, node: Node) -> Type:
        if isinstance(node, Literal):
            return node.type
        if isinstance(node, Ident):
            return self._lookup(node.name) or self._undeclared(node.at, node.name)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListLiteral):
            return self._list(node)
        if isinstance(node, MapLiteral):
            return self._map(node)
        if isinstance(node, Comprehension):
            return self._comprehension(node)
        assert isinstance(node, Message)
        return self._undeclared(node.at, node.name)

    # Names.

    def _lookup(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        for scope in reversed(self.scopes):
            if plain in scope:
                if scope is self.scopes[0]:
                    self.used.add(plain)
                return scope[plain]
        known = TYPE_NAMES.get(plain)
        return types.type_of(known) if known is not None else None

    def _undeclared(self, at: int, name: str) -> Type:
        self.issues.add(at, f"undeclared reference to '{name}' (in container '')")
        return types.ERROR

    def _select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name is not None:
            declared = self._lookup(name)
            if declared is not None:
                return declared
        result = self._field(node.operand, node.field, node.at, optional=False)
        return types.BOOL if node.test else substitute(self.mapping, result)

    def _field(self, operand: Node, field_name: str, at: int, *, optional: bool) -> Type:
        target = substitute(self.mapping, self.visit(operand))
        target, was_optional = types.unwrap_optional(target)
        result = types.ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            fields = self.structs.get(target.name)
            if fields is not None and field_name in fields:
                result = fields[field_name]
            else:
                self.issues.add(at, f"undefined field '{field_name}'")
        elif target.kind == "param":
            self._assign(types.DYN, target)
            result = types.DYN
        else:
            if target.kind not in _DYNAMIC:
                self.issues.add(at, f"type '{target}' does not support field selection")
            result = types.DYN
        return types.optional_of(result) if was_optional or optional else result

    # Calls.

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            literal = node.args[1]
            assert isinstance(literal, Literal)
            self.visit(literal)
            return substitute(self.mapping, self._field(node.args[0], literal.value, node.at, optional=True))
        self.formats += node.function == "format"
        result = self._plain_call(node)
        self.formats -= node.function == "format"
        return result

    def _plain_call(self, node: Call) -> Type:
        for arg in node.args:
            self.visit(arg)
        target = node.target
        table = functions()
        if target is not None:
            prefix = qualified_name(target)
            if prefix is not None and f"{prefix}.{node.function}" in table:
                node.function, node.target = f"{prefix}.{node.function}", None
                return self._resolve(node, table[node.function], None)
            self.visit(target)
        overloads = table.get(node.function.removeprefix("."))
        if overloads is None:
            return self._undeclared(node.at, node.function)
        node.function = node.function.removeprefix(".")
        return self._resolve(node, overloads, target)

    def _resolve(self, node: Call, overloads: list[Overload], target: Node | None) -> Type:
        if node.function in ("_&&_", "_||_"):
            return self._logic(node)
        given = [target.type] if target is not None else []
        given += [arg.type for arg in node.args]
        result: Type | None = None
        for overload in overloads:
            if overload.member != (target is not None):
                continue
            names: types.Mapping = {}
            params = [self._instantiate(param, names) for param in overload.params]
            produced = self._instantiate(overload.result, names)
            mapping = types.assignable(self.mapping, given, params)
            if mapping is None:
                continue
            self.mapping = mapping
            node.overloads.append(overload.params)
            produced = substitute(mapping, produced)
            if result is None:
                result = produced
            elif result.kind != "dyn" and result != produced:
                result = types.DYN
        if result is not None:
            return result
        shown = [str(substitute(self.mapping, argument, free_is_dyn=True)) for argument in given]
        signature = f"{shown[0]}.({', '.join(shown[1:])})" if target is not None else f"({', '.join(shown)})"
        self.issues.add(node.at, f"found no matching overload for '{node.function}' applied to '{signature}'")
        return types.ERROR

    def _logic(self, node: Call) -> Type:
        result = types.BOOL
        for arg in node.args:
            if not self._assign(arg.type, types.BOOL):
                self.issues.add(arg.at, f"expected type 'bool' but found '{arg.type}'")
                result = types.ERROR
        return result

    def _instantiate(self, kind: Type, names: types.Mapping) -> Type:
        if kind.kind == "param":
            if kind.name not in names:
                names[kind.name] = self._variable()
            return names[kind.name]
        if not kind.params:
            return kind
        return kind._replace(params=tuple(self._instantiate(inner, names) for inner in kind.params))

    def _variable(self) -> Type:
        self.fresh += 1
        return types.param(f"_var{self.fresh}")

    def _assign(self, left: Type, right: Type) -> bool:
        mapping = types.assignable(self.mapping, [left], [right])
        if mapping is None:
            return False
        self.mapping = mapping
        return True

    # Aggregates.

    def _list(self, node: ListLiteral) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            element_type = self._element(element, index in node.optional)
            joined = self._join(joined, element_type)
        return types.list_of(joined or self._variable())

    def _element(self, element: Node, optional: bool) -> Type:
        element_type = self.visit(element)
        if not optional:
            return element_type
        inner, was_optional = types.unwrap_optional(element_type)
        if not was_optional and inner.kind != "dyn":
            self.issues.add(element.at, f"expected type '{types.optional_of(inner)}' but found '{inner}'")
        return inner

    def _map(self, node: MapLiteral) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            keys = self._join(keys, self.visit(entry.key))
            values = self._join(values, self._element(entry.value, entry.optional))
        return types.map_of(keys or self._variable(), values or self._variable())

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._assign(previous, current):
            return previous if types.less_specific(previous, current) else current
        # That types are mixed is noted later, where it is known whether it matters.
        return types.DYN

    def _comprehension(self, node: Comprehension) -> Type:
        self.visit(node.range)
        initial = self.visit(node.init)
        over = substitute(self.mapping, node.range.type)
        first, second = types.DYN, types.DYN
        if over.kind == "list":
            first = second = over.params[0]
            if node.second:
                first = types.INT
        elif over.kind == "map":
            first, second = over.params
        elif over.kind in ("dyn", "error", "param"):
            self._assign(types.DYN, over)
        else:
            what = f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
            self.issues.add(node.range.at, what)
            first = second = types.ERROR
        self.scopes.append({node.accumulator: initial})
        inner = {node.variable: first}
        if node.second:
            inner[node.second] = second
        self.scopes.append(inner)
        self._expect(node.condition, types.BOOL)
        self._expect(node.step, initial)
        self.scopes.pop()
        result = self.visit(node.result)
        self.scopes.pop()
        return substitute(self.mapping, result)

    def _expect(self, node: Node, wanted: Type) -> None:
        actual = self.visit(node)
        if not self._assign(wanted, actual):
            self.issues.add(node.at, f"expected type '{wanted}' but found '{actual}'")
