"""Fields that an expression reads and no schema has: a typo, which would make a ``never`` hold in silence.

The syntax tree is walked with the schemas of the objects that its names stand for. Where a schema allows any field, or
nothing is known of a value, every field may be there. Rejected: compiling expressions with declared types, as the rules
of definitions are. Fields that a schema leaves open cannot be named there at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from kontend.kube.cel.syntax import ast
from kontend.kube.schema.object_meta_schema import OBJECT_META
from kontend.kube.schema.tree import META_FIELDS, Schema

#: Finds the schema of a kind; None where the kind is not served.
SchemaOf = Callable[[str], Schema | None]
_INDEX: Final = "_[_]"


def unknown_field(tree: ast.Node, kind: str | None, schema_of: SchemaOf) -> str:
    """Describe the first field that no schema has; empty where there is none.

    ``kind`` is that of the variable ``object``; None for an expression over ``objects``.
    """
    walk = _Walk(schema_of)
    walk.of(tree, {} if kind is None else {"object": schema_of(kind)})
    return next(iter(walk.unknown), "")


class _Walk:
    """Follows the schemas through an expression."""

    def __init__(self, schema_of: SchemaOf) -> None:
        self._schema_of = schema_of
        self.unknown: list[str] = []

    def of(self, node: ast.Node, names: Mapping[str, Schema | None]) -> Schema | None:
        """The schema of the value of a node; None where it may be anything."""
        if isinstance(node, ast.Ident):
            return names.get(node.name)
        if isinstance(node, ast.Select):
            operand = self.of(node.operand, names)
            return None if operand is None else self._field(operand, node)
        if isinstance(node, ast.Call) and node.function == _INDEX:
            return self._element(node, names)
        if isinstance(node, ast.Comprehension):
            self._comprehension(node, names)
            return None
        for child in _children(node):
            self.of(child, names)
        return None

    def _field(self, schema: Schema, node: ast.Select) -> Schema | None:
        known = schema.properties.get(node.field)
        if known is not None:
            return known
        if schema.additional is not None:
            return schema.additional
        if schema.preserve_unknown or schema.embedded or not schema.properties or node.field in META_FIELDS:
            return OBJECT_META if node.field == "metadata" else None
        close = get_close_matches(node.field, schema.properties, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        there = ", ".join(sorted(schema.properties))
        self.unknown.append(f"{_text(node)}: no schema has the field {node.field}{hint}; there are: {there}")
        return None

    def _element(self, node: ast.Call, names: Mapping[str, Schema | None]) -> Schema | None:
        operand, index = node.args
        if isinstance(operand, ast.Ident) and operand.name == "objects" and isinstance(index, ast.Literal):
            schema = self._schema_of(str(index.value))
            return None if schema is None else Schema("array", items=schema)
        found = self.of(operand, names)
        self.of(index, names)
        if found is None:
            return None
        return found.items if found.items is not None else found.additional

    def _comprehension(self, node: ast.Comprehension, names: Mapping[str, Schema | None]) -> None:
        over = self.of(node.range, names)
        items = over.items if over is not None else None
        # Of two variables the first is the index.
        inner = {**names, node.variable: None if node.second else items}
        if node.second:
            inner[node.second] = items
        inner[node.accumulator] = self.of(node.init, names)  # a name for a value is a fold over nothing
        for child in (node.condition, node.step, node.result):
            self.of(child, inner)


def _children(node: ast.Node) -> Iterator[ast.Node]:
    if isinstance(node, ast.Call):
        if node.target is not None:
            yield node.target
        yield from node.args
    elif isinstance(node, ast.ListLiteral):
        yield from node.elements
    elif isinstance(node, (ast.MapLiteral, ast.Message)):
        for entry in node.entries:
            if isinstance(entry.key, ast.Node):
                yield entry.key
            yield entry.value


def _text(node: ast.Node) -> str:
    """A chain of fields as it is written."""
    if isinstance(node, ast.Select):
        return f"{_text(node.operand)}.{node.field}"
    if isinstance(node, ast.Call) and node.function == _INDEX:
        return f"{_text(node.args[0])}[...]"
    return node.name if isinstance(node, ast.Ident) else "…"
