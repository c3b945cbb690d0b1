"""Generates an object from the schema of a CustomResourceDefinition: the required fields, with valid values.

Fields with a default are left to the server. Patterns are met by trial from a list of common values; a schema that
needs more than that (CEL rules, unusual patterns) needs an object by hand, and the server says which field is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

_NAME: Final = "example"
#: Values for patterns and formats, the most usual first.
_STRINGS: Final = (
    _NAME, "example.com", "example:1", "1", "1Gi", "100m", "10s", "1h", "v1", "1.0.0", "v1.0.0", "Example", "EXAMPLE",
    "a", "https://example.com", "/example", "10.0.0.1", "10.0.0.0/24", "* * * * *", "50%", "user@example.com",
    "0123456789abcdef0123456789abcdef",
)  # fmt: skip
_FORMATS: Final = {
    "date-time": "2024-01-01T00:00:00Z",
    "date": "2024-01-01",
    "byte": "ZXhhbXBsZQ==",
    "uri": "https://example.com",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "10.0.0.1",
    "ipv6": "2001:db8::1",
    "cidr": "10.0.0.0/24",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "duration": "10s",
    "mac": "02:00:00:00:00:01",
}


def example_object(crd: Mapping[str, Any], version: str, *, name: str = _NAME) -> dict[str, Any]:
    """Return an object of a definition in one of its versions.

    >>> from kontend.kube.crd.permissive import permissive_crd
    >>> example_object(permissive_crd("Widget.example.com/v1"), "v1")["spec"]
    {}
    """
    spec = crd["spec"]
    served = next(candidate for candidate in spec["versions"] if candidate["name"] == version)
    schema = (served.get("schema") or {}).get("openAPIV3Schema") or {}
    properties = schema.get("properties") or {}
    obj: dict[str, Any] = {
        "apiVersion": f"{spec['group']}/{version}",
        "kind": spec["names"]["kind"],
        "metadata": {"name": name},
    }
    names = dict.fromkeys([*(schema.get("required") or ()), "spec"])
    for field in names:
        if field in obj or field == "status":
            continue
        if field in properties:
            obj[field] = _value(properties[field])
        elif field == "spec" and schema.get("x-kubernetes-preserve-unknown-fields"):
            obj[field] = {}
    return obj


def _value(schema: Mapping[str, Any]) -> Any:
    if "default" in schema and schema.get("type") != "object":
        return schema["default"]
    if schema.get("enum"):
        return next((value for value in schema["enum"] if value is not None), None)
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _array(schema)
        case "string":
            return _string(schema)
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return True
    return {} if schema.get("x-kubernetes-preserve-unknown-fields") else _NAME


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = list(schema.get("required") or ())
    for part in schema.get("allOf") or ():
        required += part.get("required") or ()
    for choice in ("anyOf", "oneOf"):  # the first alternative that names fields
        alternatives = [part["required"] for part in schema.get(choice) or () if part.get("required")]
        required += alternatives[0] if alternatives else ()
    given = schema.get("default")
    value: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    for name in dict.fromkeys(required):
        if name not in value:
            value[name] = _value(properties.get(name) or schema.get("additionalProperties") or {})
    further = [name for name in properties if name not in value]
    while len(value) < schema.get("minProperties", 0):
        if further:
            name = further.pop(0)
            value[name] = _value(properties[name])
        elif isinstance(schema.get("additionalProperties"), dict):
            value[f"{_NAME}{len(value)}"] = _value(schema["additionalProperties"])
        else:
            break
    if schema.get("x-kubernetes-embedded-resource"):
        value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _NAME}, **value}
    return value


def _array(schema: Mapping[str, Any]) -> list[Any]:
    items, many = schema.get("items") or {}, schema.get("minItems", 0)
    values = [_value(items) for _ in range(many)]
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    for number, value in enumerate(values[1:], 1):  # elements of sets and maps have to differ
        if isinstance(value, str):
            values[number] = f"{value}{number}"
        elif isinstance(value, int) and not isinstance(value, bool):
            values[number] = value + number
        for key in keys:
            if isinstance(value.get(key), str):
                value[key] = f"{value[key]}{number}"
            elif isinstance(value.get(key), int):
                value[key] += number
    return values


def _string(schema: Mapping[str, Any]) -> str:
    least, most, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
    candidates = [_FORMATS[schema["format"]]] if schema.get("format") in _FORMATS else []
    candidates += [*_STRINGS, _NAME * math.ceil(least / len(_NAME))]
    if most is not None:
        candidates.append(_NAME[:most])
    for candidate in candidates:
        fits = len(candidate) >= least and (most is None or len(candidate) <= most)
        if fits and (pattern is None or _matches(pattern, candidate)):
            return candidate
    return _NAME


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _number(schema: Mapping[str, Any]) -> int | float:
    least, most, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    value: int | float = 1
    if least is not None and value <= least:
        value = least + 1 if schema.get("exclusiveMinimum") else least
    if most is not None and value >= most:
        value = most - 1 if schema.get("exclusiveMaximum") else most
    if step:
        value = math.ceil(value / step) * step
    return value
