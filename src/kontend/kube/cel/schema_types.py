"""Objects as rules see them: the schema as CEL types, and the JSON as CEL values.

Fields are named by identifiers, so other characters are escaped (``a-b`` is ``a__dash__b``) and reserved words are
wrapped (``__namespace__``); after a dot the word itself does as well (``self.namespace``). Fields whose schema says
nothing (unknown fields that are preserved) are not seen. Sizes are kept as well, because the cost of a rule is
estimated from how large its data may grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kontend.kube.cel import types
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import Duration, EvalError, MapList, SetList, Timestamp
from kontend.kube.golang.time import parse_date, parse_time
from kontend.kube.schema.openapi_node import additional_schema, as_mapping
from kontend.kube.schema.string_formats import parse_byte, parse_lenient_duration

MOST_REQUEST_BYTES: Final = 3 * 1024 * 1024

_RESERVED: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_STRING: Final[Mapping[str, Any]] = {"type": "string"}
_META: Final[Mapping[str, Any]] = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}


def escape(name: str) -> str | None:
    """Return the identifier for a field, or nothing when there is none.

    >>> escape("a-b"), escape("namespace"), escape("$x")
    ('a__dash__b', '__namespace__', None)
    """
    if not name or "0" <= name[0] <= "9":
        return None
    if name in _RESERVED:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z0-9_./-]+", name):
        return None
    return re.sub(r"__|[-./]", lambda match: _ESCAPES[match[0]], name)


def with_meta(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a resource's schema with what every resource has: its kind, its version and its names."""
    properties = as_mapping(node.get("properties"))
    implied = {"kind": _STRING, "apiVersion": _STRING, "metadata": _META}
    return {**node, "properties": {**properties, **implied}}


@dataclass(slots=True)
class Declaration:
    """A node of a schema as CEL sees it: ``fields`` by identifier, each with its own name."""

    type: Type
    node: Mapping[str, Any]
    min_size: int
    max_elements: int = 0
    fields: dict[str, tuple[str, Declaration]] | None = None
    element: Declaration | None = None
    keys: Declaration | None = None
    structs: dict[str, Declaration] = field(default_factory=dict)

    def selectable(self) -> dict[str, tuple[str, Declaration]]:
        """Return the fields by every name that may follow a dot: reserved words stand for themselves there."""
        fields = self.fields or {}
        reserved = {key: (key, declared) for key, declared in fields.values() if key in _RESERVED}
        return {**reserved, **fields}


def declare(node: Mapping[str, Any], *, resource: bool, name: str = "selfType") -> Declaration | None:
    """Return the declaration of a schema, or nothing when rules cannot see it."""
    structs: dict[str, Declaration] = {}
    declaration = _declare(node, resource, name, structs)
    if declaration is not None:
        declaration.structs = structs
    return declaration


_SIMPLE: Final = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}


def _declare(node: Mapping[str, Any], resource: bool, name: str, structs: dict[str, Declaration]) -> Declaration | None:
    if node.get("x-kubernetes-int-or-string") is True:
        return Declaration(types.DYN, node, 1, _max_length(node, MOST_REQUEST_BYTES - 2))
    if resource:
        node = with_meta(node)
    kind = node.get("type")
    if kind == "array":
        return _declare_list(node, name, structs)
    if kind == "object":
        return _declare_object(node, name, structs)
    if kind == "string":
        return _declare_string(node)
    simple = _SIMPLE.get(str(kind))
    return Declaration(simple[0], node, simple[1]) if simple else None


def _declare_list(node: Mapping[str, Any], name: str, structs: dict[str, Declaration]) -> Declaration | None:
    items = node.get("items")
    if not isinstance(items, Mapping):
        return None
    element = _declare(items, _embedded(items), f"{name}.@idx", structs)
    if element is None:
        return None
    most = node.get("maxItems")
    size = max(0, most) if most is not None else (MOST_REQUEST_BYTES - 2) // (element.min_size + 1)
    return Declaration(types.list_of(element.type), node, 2, size, element=element)


def _embedded(node: Mapping[str, Any]) -> bool:
    return node.get("x-kubernetes-embedded-resource") is True


def _declare_object(node: Mapping[str, Any], name: str, structs: dict[str, Declaration]) -> Declaration | None:
    additional = additional_schema(node)
    if additional is not None:
        value = _declare(additional, _embedded(additional), f"{name}.@elem", structs)
        if value is None:
            return None
        most = node.get("maxProperties")
        size = max(0, most) if most is not None else (MOST_REQUEST_BYTES - 2) // (value.min_size + 6)
        # The length of a key is not known, and counts as nothing.
        keys = Declaration(types.STRING, _STRING, 2, 0)
        return Declaration(types.map_of(types.STRING, value.type), node, 2, size, element=value, keys=keys)
    fields: dict[str, tuple[str, Declaration]] = {}
    required = frozenset(node.get("required") or ())
    smallest = 2
    for key, child in as_mapping(node.get("properties")).items():
        child = as_mapping(child)
        identifier = escape(key)
        declared = _declare(child, _embedded(child), f"{name}.{identifier or key}", structs)
        if declared is None:
            continue
        if identifier is not None:
            fields[identifier] = (key, declared)
        if key in required and child.get("default") is None:
            smallest += len(key.encode()) + declared.min_size + 4
    declaration = Declaration(types.struct(name), node, smallest, fields=fields)
    structs[name] = declaration
    return declaration


def _declare_string(node: Mapping[str, Any]) -> Declaration:
    form = node.get("format")
    if form == "byte":
        most = node.get("maxLength")
        return Declaration(types.BYTES, node, 2, max(0, most) if most is not None else MOST_REQUEST_BYTES - 2)
    if form == "duration":
        return Declaration(types.DURATION, node, 3, 32)
    if form == "date":
        return Declaration(types.TIMESTAMP, node, 12, 12)
    if form == "date-time":
        return Declaration(types.TIMESTAMP, node, 21, 32)
    enum = [len(value.encode()) for value in node.get("enum") or () if isinstance(value, str)]
    unbounded = max(enum, default=0) if node.get("enum") else MOST_REQUEST_BYTES - 2
    return Declaration(types.STRING, node, 2, _max_length(node, unbounded))


def _max_length(node: Mapping[str, Any], unbounded: int) -> int:
    # A character may take four bytes.
    most = node.get("maxLength")
    return max(0, most) * 4 if most is not None else unbounded


# From JSON to CEL.

Convert = Callable[[Any], Any]
_NULL_DATA: Final = "invalid data, got null for schema with nullable=false"
_TEXTS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "duration": ("Invalid duration {0}: {1}", lambda text: Duration(parse_lenient_duration(text))),
    "date": ("Invalid date formatted string {0}: {1}", lambda text: Timestamp(parse_date(text))),
    "date-time": (
        "Invalid date-time formatted string {0}: {1}",
        lambda text: Timestamp(parse_time(text, zone_required=False)),
    ),
    "byte": ("Invalid byte formatted string {0}: {1}", parse_byte),
}


def converter(node: Mapping[str, Any]) -> Convert | None:
    """Return the conversion from JSON to a CEL value; nothing when the JSON is one already."""
    kind = node.get("type")
    if node.get("x-kubernetes-int-or-string") is True:
        return None
    if kind == "integer":
        return _to_int
    if kind == "number":
        return _to_double
    if kind == "string":
        return _text_converter(str(node.get("format") or ""))
    if kind == "array":
        return _list_converter(node)
    if kind == "object":
        return _object_converter(node)
    return None


def _to_int(value: Any) -> Any:
    if type(value) is float:
        raise EvalError("invalid data, expected int, got float64")
    return value


def _to_double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _text_converter(form: str) -> Convert | None:
    if form not in _TEXTS:
        return None
    complaint, parse = _TEXTS[form]

    def convert(value: Any) -> Any:
        if type(value) is not str:
            return value
        try:
            return parse(value)
        except ValueError as error:
            raise EvalError(complaint.format(value, error)) from None

    return convert


def _list_converter(node: Mapping[str, Any]) -> Convert | None:
    items = as_mapping(node.get("items"))
    inner = converter(items)
    kind = node.get("x-kubernetes-list-type")
    keys = tuple(node.get("x-kubernetes-list-map-keys") or ())
    # Integers are only wrong in ways that validation has refused already; copying lists of them would cost.
    if inner is _to_int:
        inner = None
    if inner is None and kind not in ("set", "map"):
        return None

    def convert(value: Any) -> Any:
        if type(value) is not list:
            return value
        out = value if inner is None else [None if item is None else inner(item) for item in value]
        if kind == "set":
            return SetList(out)
        return MapList(out, keys) if kind == "map" else out

    return convert


def _object_converter(node: Mapping[str, Any]) -> Convert | None:
    additional = additional_schema(node)
    inner = converter(additional) if additional is not None else None
    converters = {key: converter(as_mapping(child)) for key, child in as_mapping(node.get("properties")).items()}
    known = {key: change for key, change in converters.items() if change is not None and change is not _to_int}
    if inner is _to_int:
        inner = None
    if inner is None and not known:
        return None

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            return value
        out = dict(value)
        for key, child in out.items():
            change = known.get(key, inner)
            if change is not None and child is not None:
                out[key] = change(child)
        return out

    return convert


_EXPECTED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "object": ((dict,), "invalid data, expected a map for the provided schema with type=object"),
    "array": ((list,), "invalid data, expected an array for the provided schema with type=array"),
    "string": ((str,), "invalid data, expected string, got {0}"),
    "integer": ((int,), "invalid data, expected int, got {0}"),
    "number": ((int, float), "invalid data, expected float, got {0}"),
    "boolean": ((bool,), "invalid data, expected bool, got {0}"),
}
_GO_TYPES: Final = {
    str: "string", int: "int64", float: "float64", bool: "bool", dict: "map[string]interface {}",
    list: "[]interface {}",
}  # fmt: skip


def data_problem(value: Any, node: Mapping[str, Any]) -> str:
    """Return CEL's message about JSON that does not fit its schema (an update may leave such data alone)."""
    if value is None:
        return "" if node.get("nullable") is True else _NULL_DATA
    if node.get("x-kubernetes-int-or-string") is True:
        wrong = type(value) not in (int, str)
        return "invalid data, expected XIntOrString value to be either a string or integer" if wrong else ""
    expected = _EXPECTED.get(str(node.get("type")))
    if expected is not None and type(value) not in expected[0]:
        return expected[1].format(_GO_TYPES.get(type(value), ""))
    below: list[tuple[Any, Mapping[str, Any]]] = []
    if type(value) is list:
        below = [(item, as_mapping(node.get("items"))) for item in value]
    elif type(value) is dict:
        properties, additional = as_mapping(node.get("properties")), additional_schema(node)
        for key, child in value.items():
            schema = properties.get(key, additional)
            if isinstance(schema, Mapping) and not (child is None and key in properties):
                below.append((child, schema))
    return next((problem for child, schema in below if (problem := data_problem(child, schema))), "")
