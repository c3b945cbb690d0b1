"""From plain maps to a built-in kind's Go type, without JSON in between.

After a strategic merge patch the server has the new object as nested maps and copies it field by field into the struct.
What comes out is what decoding the same JSON gives, with three differences: the fields are visited in the order of the
struct, a misfit has the converter's own, much shorter message, and numbers are converted as Go converts them (a
whole float is an integer, an integer that is too large loses its upper bits).
"""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.encoding.decode import decode, has_own_form
from kontend.kube.encoding.decode_path import DecodeError
from kontend.kube.schema.tree import Schema

_KINDS: Final = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_WANTED: Final = {"string": str, "boolean": bool, "integer": int, "number": float}
_GO_KINDS: Final = {"string": "string", "boolean": "bool", "number": "float64"}


def from_unstructured(raw: Any, schema: Schema) -> tuple[dict[str, Any], list[str]]:
    """Return the object that ``raw`` becomes, and the sorted paths of the fields it does not know. ``raw`` is used up.

    >>> from kontend.kube.kinds import schema_of
    >>> from_unstructured({"spec": {"replicas": "three"}}, schema_of("apps", "v1", "Deployment"))
    Traceback (most recent call last):
    kontend.kube.encoding.decode_path.DecodeError: unrecognized type: int32
    """
    value, unknown = decode(_convert(raw, schema), schema)
    return value, sorted(unknown)


def _convert(value: Any, schema: Schema) -> Any:
    """Check a value and make its numbers fit, in place."""
    if value is None:
        return None
    kind = _KINDS[type(value)]
    if schema.format == "byte":
        return _octets(value, kind, schema)
    if has_own_form(schema):
        # On its way into such a type a value becomes JSON again, and a whole float is written without a fraction.
        value = int(value) if kind == "float64" and value.is_integer() else value
        return decode(value, schema)[0]
    if schema.type in _WANTED:
        return _scalar(value, schema)
    if schema.items is not None:
        if kind != "slice":
            raise DecodeError(f"cannot restore slice from {kind}")
        for index, item in enumerate(value):
            value[index] = _convert(item, schema.items)
    elif schema.additional is not None:
        if kind != "map":
            raise DecodeError(f"cannot restore map from {kind}")
        for key, item in value.items():
            value[key] = _convert(item, schema.additional)
    else:
        if kind != "map":
            raise DecodeError(f"cannot restore struct from: {kind}")
        for name, below in schema.properties.items():
            if name in value:
                value[name] = _convert(value[name], below)
    return value


def _octets(value: Any, kind: str, schema: Schema) -> Any:
    if kind not in ("string", "slice"):
        raise DecodeError(f"cannot restore slice from {kind}")
    try:
        return decode(value, schema)[0]
    except DecodeError as error:
        raise DecodeError(f"error decoding from json: {error.message}") from None


def _scalar(value: Any, schema: Schema) -> Any:
    given = type(value)
    if given is _WANTED[schema.type] and given is not int:
        return value
    if schema.type == "integer":
        if given is float and not value.is_integer():
            raise DecodeError(f"cannot convert float64 to {schema.go_name}")
        if given in (int, float):
            bits = 32 if schema.format == "int32" else 64
            return (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    elif schema.type == "number" and given is int:
        return value
    elif schema.type == "string" and given is int:
        # Go would convert it, to the character of that number; the converter knows better.
        raise DecodeError(f"cannot convert int64 to {schema.go_name}")
    raise DecodeError(f"unrecognized type: {_GO_KINDS.get(schema.type) or schema.format}")
