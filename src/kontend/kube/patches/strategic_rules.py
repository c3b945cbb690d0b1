"""The merge rules of a schema for strategic merge patches, and the server's messages for bad patches.

Both directions, applying a patch and making one, ask the same questions: which field is this, is it merged or replaced,
by which key. Most mistakes have no code of their own in the server, which then answers 500 without a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kontend.kube.errors import ApiError, rejected
from kontend.kube.field_errors import go_float
from kontend.kube.schema.tree import Schema

MARKER: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
ORDER: Final = "$setElementOrder"
DELETIONS: Final = "$deleteFromPrimitiveList"

GO_MAP: Final = "map[string]interface {}"
GO_LIST: Final = "[]interface {}"


@lru_cache(maxsize=64)
def _split(strategy: str) -> tuple[bool, str]:
    parts = strategy.split(",") if strategy else []
    return "retainKeys" in parts, next((part for part in parts if part != "retainKeys"), "")


def strategy_of(field: Schema) -> tuple[bool, str]:
    """Return whether keys are retained, and how the values are merged."""
    return _split(field.patch_strategy)


def field_of(schema: Schema | None, key: str) -> Schema:
    field = schema.properties.get(key) if schema is not None else None
    if field is not None:
        return field
    kind = go_kind_of(schema)
    if kind != "struct":
        raise failure(f"merging an object in json but data type is not struct, instead is: {kind}")
    name = schema.go_type if schema is not None else ""
    raise failure(f'unable to find api field in struct {name} for the json field "{key}"')


def list_field_of(schema: Schema | None, key: str) -> Schema:
    field = field_of(schema, key)
    if field.type != "array":
        raise failure(f"expected slice or array type, but got: {go_kind_of(schema)}")
    if field.items is not None and field.items.type == "array":
        raise failure("unexpected slice of slice")
    return field


def go_kind_of(schema: Schema | None) -> str:
    if schema is None:
        return "interface"
    if schema.type == "object":
        return "map" if schema.additional is not None and not schema.properties else "struct"
    return {"array": "slice", "integer": "int64", "number": "float64", "boolean": "bool"}.get(schema.type, "string")


def go_type_of(value: Any) -> str:
    """Return the Go type of a JSON value."""
    if isinstance(value, dict):
        return GO_MAP
    if isinstance(value, list):
        return GO_LIST
    if value is None:
        return "%!s(<nil>)"
    return {str: "string", bool: "bool", int: "int64", float: "float64"}.get(type(value), type(value).__name__)


def go_print(value: Any) -> str:
    """Return a value as Go's ``%v`` prints it.

    >>> go_print({"b": [1, "x", None], "a": True})
    'map[a:true b:[1 x <nil>]]'
    """
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{key}:{go_print(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_print, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)


def percent_s(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({go_type_of(value)}={go_print(value)})"


def failure(message: str) -> ApiError:
    """Return an error that the server has no code for: it answers 500 without a reason."""
    return ApiError(message)


def no_merge_key(item: Mapping[str, Any], key: str) -> ApiError:
    return failure(f"map: {go_print(item)} does not contain declared merge key: {key}")


def bad_type(expected: Any, actual: Any) -> ApiError:
    return failure(f"expected a {go_type_of(expected)}, but received a {go_type_of(actual)}")


def are_maps(*lists: list[Any]) -> bool:
    """Report whether the items are objects; all items must be of one type, and none a list."""
    kind: str | None = None
    for inner in lists:
        for item in inner:
            this = go_type_of(item)
            if kind is None:
                kind = this
                if kind == GO_LIST:
                    raise rejected("lists of lists are not supported")
            elif kind != this:
                raise failure(f"list element types are not identical: {go_print(list(lists))}")
    return kind == GO_MAP


def same(one: Any, other: Any) -> bool:
    """Equality of scalars in which 1, 1.0 and true are three different things."""
    return type(one) is type(other) and bool(one == other)


def check_merge_keys(items: Sequence[Any], key: str) -> None:
    for item in items:
        if not isinstance(item, dict):
            raise bad_type({}, item)
        if key not in item:
            raise no_merge_key(item, key)
