"""Fields that an expression reads and no schema has, and constants that a field never equals.

Each is a typo that would make a ``never`` hold in silence.

The syntax tree is walked with the schemas of the objects that its names stand for. Where a schema allows any field, or
nothing is known of a value, every field may be there. Rejected: compiling expressions with declared types, as the rules
of definitions are. Fields that a schema leaves open cannot be named there at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from kontend.kube.cel.syntax import ast
from kontend.kube.schema.object_meta_schema import OBJECT_META
from kontend.kube.schema.tree import META_FIELDS, Schema

#: Finds the schema of a kind; None where the kind is not served.
SchemaOf = Callable[[str], Schema | None]
#: An index, an index that may be missing, and a field that may be.
_INDEXES: Final = ("_[_]", "_[?_]")
_OPTIONAL: Final = "_?._"
_EQUALITIES: Final = ("_==_", "_!=_")
#: The types of schemas whose values are equal to a value of Python at times.
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "array": list,
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
    "object": dict,
    "string": str,
}
_SCALARS: Final = ("boolean", "integer", "number", "string")


def unknown_field(tree: ast.Node, kind: str | None, schema_of: SchemaOf) -> str:
    """Describe the first field that no schema has; empty where there is none.

    ``kind`` is that of the variable ``object``; None for an expression over ``objects``.
    """
    walk = _Walk(schema_of)
    walk.of(tree, {} if kind is None else {"object": schema_of(kind)})
    return next(iter(walk.unknown), "")


def missing_field(schema: Schema, path: Sequence[str]) -> str:
    """Describe the first field of a path that a schema does not have; empty where there may be all of them.

    A path leads through lists into their elements.
    """
    at: Schema | None = schema
    for number, name in enumerate(path):
        is_list = at is not None and at.items is not None
        while at is not None and at.items is not None:
            at = at.items
        if at is None or (is_list and at.type in _SCALARS):  # an element of a list of texts
            return ""
        if number == 0 and name == "metadata":
            at = OBJECT_META
            continue
        if at.type in _SCALARS:
            return f"{path[number - 1]} has no fields"
        problem = _problem_of(at, name)
        if problem:
            return problem
        at = at.properties.get(name, at.additional)
    return ""


def _problem_of(schema: Schema, field: str) -> str:
    """Describe a field that a schema does not have; empty where it may be there."""
    if field in schema.properties or schema.additional is not None:
        return ""
    if schema.preserve_unknown or schema.embedded or not schema.properties or field in META_FIELDS:
        return ""
    close = get_close_matches(field, schema.properties, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"no schema has the field {field}{hint}; there are: {', '.join(sorted(schema.properties))}"


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
            return None if operand is None else self._field(operand, node, node.field)
        if isinstance(node, ast.Call) and node.function in (*_INDEXES, _OPTIONAL):
            return self._element(node, names)
        if isinstance(node, ast.Call) and node.function in _EQUALITIES:
            self._compared(node, names)
            return None
        if isinstance(node, ast.Comprehension):
            self._comprehension(node, names)
            return None
        for child in _children(node):
            self.of(child, names)
        return None

    def _field(self, schema: Schema, node: ast.Node, field: str) -> Schema | None:
        known = schema.properties.get(field)
        if known is not None:
            return known
        if schema.additional is not None:
            return schema.additional
        if problem := _problem_of(schema, field):
            self.unknown.append(f"{_text(node)}: {problem}")
            return None
        return OBJECT_META if field == "metadata" else None

    def _element(self, node: ast.Call, names: Mapping[str, Schema | None]) -> Schema | None:
        operand, index = node.args
        if isinstance(operand, ast.Ident) and operand.name == "objects" and isinstance(index, ast.Literal):
            schema = self._schema_of(str(index.value))
            return None if schema is None else Schema("array", items=schema)
        found = self.of(operand, names)
        self.of(index, names)
        if found is None:
            return None
        if isinstance(index, ast.Literal) and isinstance(index.value, str) and found.type == "object":
            return self._field(found, node, index.value)
        return found.items if found.items is not None else found.additional

    def _compared(self, node: ast.Call, names: Mapping[str, Schema | None]) -> None:
        """Note a field that is compared with a constant of another type: the two are never equal."""
        for one, other in (node.args, reversed(node.args)):
            found = self.of(one, names)
            if found is None or not isinstance(other, ast.Literal) or other.value is None:
                continue
            expected = _TYPES.get(found.type)
            if expected is not None and not found.int_or_string and not _is_one(other.value, expected):
                self.unknown.append(f"{_text(one)}: a value of type {found.type} is never equal to {other.value!r}")

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


def _is_one(value: object, expected: type | tuple[type, ...]) -> bool:
    """A value is of a type; a truth value is no number."""
    return isinstance(value, expected) and (isinstance(value, bool) == (expected is bool))


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
    if isinstance(node, ast.Call) and node.function in (*_INDEXES, _OPTIONAL):
        operand, index = node.args
        name = index.value if isinstance(index, ast.Literal) else "..."
        return f"{_text(operand)}.?{name}" if node.function == _OPTIONAL else f"{_text(operand)}[{name!r}]"
    return node.name if isinstance(node, ast.Ident) else "…"
