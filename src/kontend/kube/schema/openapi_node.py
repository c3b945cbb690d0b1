"""Schema nodes that can be relied on: every keyword has a value of its type, and nothing else is there.

The server decodes a definition into Go types before it looks at it, and refuses what does not fit them. A schema
that is read here may come from elsewhere, so keywords of the wrong type are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

#: A node of an OpenAPI schema.
Node: TypeAlias = Mapping[str, Any]

_TEXTS: Final = ("id", "$schema", "$ref", "description", "type", "format", "title", "pattern", "x-kubernetes-list-type",
                 "x-kubernetes-map-type")  # fmt: skip
_FLAGS: Final = (
    "nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
)  # fmt: skip
_COUNTS: Final = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_NUMBERS: Final = ("maximum", "minimum", "multipleOf")
_TEXT_LISTS: Final = ("required", "x-kubernetes-list-map-keys")
_NODES: Final = ("not",)
_NODE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_NODE_MAPS: Final = ("properties", "patternProperties", "definitions")
_RULE: Final[dict[str, type]] = {
    "rule": str, "message": str, "messageExpression": str, "reason": str, "fieldPath": str, "optionalOldSelf": bool,
}  # fmt: skip


def clean_node(raw: Any) -> dict[str, Any]:
    """Return a copy of a schema with only what fits.

    >>> clean_node({"type": "string", "maxLength": "5", "properties": {"a": 1}, "foo": 1})
    {'type': 'string', 'properties': {'a': {}}}
    """
    if not isinstance(raw, Mapping):
        return {}
    fitting: dict[str, Any] = {}
    for key, value in raw.items():
        cleaned = _clean(key, value)
        if cleaned is not None:
            fitting[key] = cleaned
    return fitting


def _clean(key: Any, value: Any) -> Any:
    """Return the value of one keyword, or nothing when it does not fit."""
    if value is None:
        return None
    if key in _TEXTS:
        return value if isinstance(value, str) else None
    if key in _FLAGS:
        return value if isinstance(value, bool) else None
    if key in _COUNTS or key in _NUMBERS:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
        return (int(value) if key in _COUNTS else value) if number and abs(value) < 2**63 else None
    if key in _NODES:
        return clean_node(value) if isinstance(value, Mapping) else None
    if key in _NODE_MAPS:
        return {str(name): clean_node(child) for name, child in value.items()} if isinstance(value, Mapping) else None
    if key in _TEXT_LISTS:
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else None
    if key in _NODE_LISTS:
        return [clean_node(item) for item in value] if isinstance(value, list) else None
    if key == "enum":
        return value if isinstance(value, list) else None
    if key in ("additionalProperties", "additionalItems"):
        return value if isinstance(value, bool) else clean_node(value) if isinstance(value, Mapping) else None
    if key == "items":
        return [clean_node(item) for item in value] if isinstance(value, list) else clean_node(value)
    if key == "x-kubernetes-validations":
        return [_clean_rule(item) for item in value] if isinstance(value, list) else None
    return value if key in ("default", "example", "externalDocs", "dependencies") else None


def _clean_rule(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        return {}
    return {key: value for key, value in raw.items() if key in _RULE and isinstance(value, _RULE[key])}


def as_mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is an object, else an empty one: a schema node that is not an object says nothing."""
    return value if isinstance(value, Mapping) else {}


def additional_schema(node: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of ``additionalProperties``, unless that is a boolean or missing."""
    schema = node.get("additionalProperties")
    return schema if isinstance(schema, Mapping) else None
