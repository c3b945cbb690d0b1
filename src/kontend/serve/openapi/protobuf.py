"""An OpenAPI 2 document in protobuf, the only form in which Go clients ask for it.

The messages are those of gnostic (``openapi.v2.Document``). One table for each says which JSON field goes where; what a
table does not name is left out, except extensions (``x-...``), which travel as YAML and JSON is YAML.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import orjson

#: Encodes a value as the field of that number.
Field: TypeAlias = "Callable[[int, Any], bytes]"
Fields: TypeAlias = "dict[str, tuple[int, Field]]"


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, value: Any) -> bytes:
    return _delimited(number, str(value).encode())


def _integer(number: int, value: Any) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _double(number: int, value: Any) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    return _delimited(number, _delimited(2, orjson.dumps(value)))


def _each(field: Field) -> Field:
    return lambda number, values: b"".join(field(number, value) for value in values)


def _message(fields: Fields, extensions: int = 0) -> Field:
    def encode(number: int, value: Mapping[str, Any]) -> bytes:
        return _delimited(number, _content(fields, extensions, value))

    return encode


def _content(fields: Fields, extensions: int, value: Mapping[str, Any]) -> bytes:
    parts = []
    for name, item in value.items():
        if name in fields:
            number, field = fields[name]
            parts.append(field(number, item))
        elif extensions and name.startswith("x-"):
            parts.append(_delimited(extensions, _text(1, name) + _any(2, item)))
    return b"".join(parts)


def _named(inner: Field) -> Field:
    """Return a map: repeated pairs of a name and a value."""

    def encode(number: int, value: Mapping[str, Any]) -> bytes:
        return b"".join(_delimited(number, _text(1, name) + inner(2, item)) for name, item in value.items())

    return encode


def _wrapped(number: int, inner: Field) -> Field:
    """Return a message with one field, which holds the value."""
    return lambda outer, value: _delimited(outer, inner(number, value))


def _schema(number: int, value: Mapping[str, Any]) -> bytes:
    return _delimited(number, _content(_SCHEMA, 31, value))


def _additional(number: int, value: Any) -> bytes:
    inner = _integer(2, value) if isinstance(value, bool) else _schema(1, value)
    return _delimited(number, inner)


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        inner = _message(_BODY)(1, value)
    elif value["in"] == "path":
        inner = _delimited(2, _message(_IN_PATH)(4, value))
    else:
        inner = _delimited(2, _message(_IN_QUERY)(3, value))
    return _delimited(number, _delimited(1, inner))


_SCHEMA: Final[Fields] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _integer),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _integer),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _integer),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _each(_text)),
    "enum": (20, _each(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, _wrapped(1, _text)),
    "items": (23, _wrapped(1, _schema)),
    "properties": (25, _wrapped(1, _named(_schema))),
    "example": (30, _any),
}
_BODY: Final[Fields] = {"name": (2, _text), "in": (3, _text), "required": (4, _integer), "schema": (5, _schema)}
_IN_QUERY: Final[Fields] = {"in": (2, _text), "name": (4, _text), "type": (6, _text), "uniqueItems": (20, _integer)}
_IN_PATH: Final[Fields] = {
    "required": (1, _integer),
    "in": (2, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _integer),
}
_RESPONSE: Final[Fields] = {"description": (1, _text), "schema": (2, _wrapped(1, _schema))}
_OPERATION: Final = _message(
    {
        "tags": (1, _each(_text)),
        "operationId": (5, _text),
        "produces": (6, _each(_text)),
        "consumes": (7, _each(_text)),
        "parameters": (8, _each(_parameter)),
        "responses": (9, _wrapped(1, _named(_wrapped(1, _message(_RESPONSE))))),
    },
    13,
)
_PATH: Final = _message(
    {
        "get": (2, _OPERATION),
        "put": (3, _OPERATION),
        "post": (4, _OPERATION),
        "delete": (5, _OPERATION),
        "patch": (8, _OPERATION),
        "parameters": (9, _each(_parameter)),
    }
)
_INFO: Final[Fields] = {"title": (1, _text), "version": (2, _text)}
_DOCUMENT: Final[Fields] = {
    "swagger": (1, _text),
    "info": (2, _message(_INFO)),
    "paths": (8, _wrapped(2, _named(_PATH))),
    "definitions": (9, _wrapped(1, _named(_schema))),
}


def encode_document(document: Mapping[str, Any]) -> bytes:
    """Return the document as an ``openapi.v2.Document``."""
    return _content(_DOCUMENT, 16, document)
