"""From a checked tree to Python closures: one small function for each node, over a list of variables.

Static types choose the code: ``self.a < 3`` compiles to a comparison of Python integers, and only values of type
``dyn`` go through the functions that look at types. JSON is read as it is; where CEL sees something else (a time in a
string) the conversion is put at the place where the value is read, so that a rule pays only for what it touches.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from kontend.kube.cel.comprehensions import compile_comprehension
from kontend.kube.cel.cost.metering import metered
from kontend.kube.cel.declarations import TYPE_NAMES
from kontend.kube.cel.operations import (
    Frame,
    Run,
    check_constants,
    converted_value,
    field_reader,
    general_call,
    indexed,
    logic,
    map_field,
    specialised,
)
from kontend.kube.cel.schema_types import Declaration, converter
from kontend.kube.cel.syntax.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    qualified_name,
)
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import NONE, EvalError, NoOverload, Optional, TypeValue
from kontend.kube.schema.tree import MISSING

#: A compiled node, and the schema of its value while that is still JSON.
Compiled = tuple[Run, Mapping[str, Any] | None]


class Compiler:
    """Compiles the nodes of one expression. ``structs`` are the object types that it may meet."""

    def __init__(
        self, variables: list[str], schemas: Mapping[str, Declaration], structs: Mapping[str, Declaration]
    ) -> None:
        self.slots = {name: slot for slot, name in enumerate(variables)}
        self.raw: dict[str, Mapping[str, Any] | None] = {name: schemas[name].node for name in schemas}
        self.structs = structs
        self.size = len(variables)

    def value(self, node: Node) -> Run:
        """Return the node's value as CEL has it."""
        run, schema = self.compile(node)
        return run if schema is None else converted_value(run, schema)

    def compile(self, node: Node) -> Compiled:
        """Return the node's value, perhaps still as JSON."""
        if isinstance(node, Literal):
            constant = node.value
            return (lambda _: constant), None
        if isinstance(node, Ident):
            return self._name(node.name)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListLiteral):
            return self._list(node), None
        if isinstance(node, MapLiteral):
            return self._map(node), None
        assert isinstance(node, Comprehension)
        return compile_comprehension(self, node), None

    def bind(self, name: str, schema: Mapping[str, Any] | None) -> int:
        """Return a slot for a new variable; the caller restores ``slots`` and ``raw`` when its scope ends."""
        slot = self.size
        self.size += 1
        self.slots[name] = slot
        self.raw[name] = schema
        return slot

    def _name(self, name: str) -> Compiled:
        plain = name.removeprefix(".")
        slot = self.slots.get(plain)
        if slot is None:
            constant = TypeValue(TYPE_NAMES[plain].name)
            return (lambda _: constant), None
        schema = self.raw.get(plain)
        if schema is not None and converter(schema) is None:
            schema = None
        return operator.itemgetter(slot), schema

    # Fields.

    def _select(self, node: Select) -> Compiled:
        name = qualified_name(node)
        if name is not None and name not in self.slots and name.partition(".")[0] not in self.slots:
            return self._name(name)
        operand, _ = self.compile(node.operand)
        kind = node.operand.type
        if kind.kind == "struct" and kind.name in self.structs:
            key, declared = self._field(kind, node.field)
            if node.test:
                return (lambda frame: operand(frame).get(key) is not None), None
            return field_reader(operand, key, f"no such key: {node.field}", declared)
        if kind.name == "optional_type":
            return self._optional_field(self.value(node.operand), kind.params[0], node.field, node.test), None
        return map_field(operand, node.field, node.test), self._below(node.operand) if not node.test else None

    def _below(self, operand: Node) -> Mapping[str, Any] | None:
        """Return the schema of the values of a map, or the items of a list, that are still JSON."""
        schema = self.compile(operand)[1]
        if schema is None:
            return None
        inner = schema.get("additionalProperties") if schema.get("type") == "object" else schema.get("items")
        return inner if isinstance(inner, Mapping) and converter(inner) is not None else None

    def _field(self, kind: Type, name: str) -> tuple[str, Declaration]:
        return self.structs[kind.name].selectable()[name]

    def _optional_field(self, operand: Run, kind: Type, name: str, test: bool) -> Run:
        key, convert = name, None
        if kind.kind == "struct" and kind.name in self.structs:
            key, declared = self._field(kind, name)
            convert = converter(declared.node)
        is_object = kind.kind == "struct"

        def run(frame: Frame) -> Any:
            value = operand(frame)
            if isinstance(value, Optional):
                if not value.present:
                    return False if test else NONE
                value = value.value
            if not isinstance(value, dict):
                raise NoOverload
            content = value.get(key, MISSING)
            if content is MISSING or (content is None and is_object):
                return False if test else NONE
            if test:
                return True
            return Optional(convert(content) if convert is not None else content)

        return run

    # Calls.

    def _call(self, node: Call) -> Compiled:
        name = node.function
        if name == "_?._":
            field = node.args[1]
            assert isinstance(field, Literal)
            kind = node.args[0].type
            inner = kind.params[0] if kind.name == "optional_type" else kind
            # The operand stays JSON: each field is converted when it is read.
            operand = self.compile(node.args[0])[0] if inner is kind else self.value(node.args[0])
            return self._optional_field(operand, inner, field.value, False), None
        if name == "_[_]" and node.args[0].type.kind in ("list", "map"):
            container, _ = self.compile(node.args[0])
            return indexed(container, self.value(node.args[1]), node.args[0].type), self._below(node.args[0])
        if name == "_?_:_":
            return self._conditional(node), None
        if name in ("_&&_", "_||_"):
            terms = [self.value(arg) for arg in node.args]
            known = all(arg.type.kind == "bool" for arg in node.args)
            return logic(terms, name == "_||_", known), None
        args = [self.value(arg) for arg in ([node.target] if node.target is not None else []) + node.args]
        kinds = [arg.type for arg in ([node.target] if node.target is not None else []) + node.args]
        check_constants(node)
        args = metered(node, args)
        return specialised(name, args, kinds, node) or general_call(name, args), None

    def _conditional(self, node: Call) -> Run:
        condition, yes, no = (self.value(arg) for arg in node.args)

        def run(frame: Frame) -> Any:
            chosen = condition(frame)
            if chosen is True:
                return yes(frame)
            if chosen is False:
                return no(frame)
            raise NoOverload

        return run

    def _list(self, node: ListLiteral) -> Run:
        elements = [self.value(element) for element in node.elements]
        if all(isinstance(element, Literal) for element in node.elements) and not node.optional:
            constant = [element.value for element in node.elements if isinstance(element, Literal)]
            return lambda _: constant
        if not node.optional:
            return lambda frame: [element(frame) for element in elements]
        optional = node.optional

        def run(frame: Frame) -> Any:
            out = []
            for position, element in enumerate(elements):
                value = element(frame)
                if position not in optional:
                    out.append(value)
                elif value.present:
                    out.append(value.value)
            return out

        return run

    def _map(self, node: MapLiteral) -> Run:
        entries = []
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            entries.append((self.value(entry.key), self.value(entry.value), entry.optional))
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
        if all(isinstance(part, Literal) for part in parts):
            constant = {key([]): value([]) for key, value, _ in entries}
            return lambda _: constant

        def run(frame: Frame) -> Any:
            out: dict[Any, Any] = {}
            for key, value, optional in entries:
                name, content = key(frame), value(frame)
                if optional:
                    if not content.present:
                        continue
                    content = content.value
                if name in out:
                    raise EvalError(f"Failed with repeated key: {name}")
                out[name] = content
            return out

        return run
