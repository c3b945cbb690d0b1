"""The other direction, for tests only: JSON as protobuf, as Go would write it.

Written against the schemas and nothing else of ours, so that a mistake in reading does not cancel out.
"""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, datetime
from typing import Any

from kontend.kube.golang.time import parse_duration
from kontend.kube.schema.tree import Schema


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def delimited(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def request(api_version: str, kind: str, message: bytes) -> bytes:
    """A whole body: magic, type and object."""
    meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"k8s\0" + delimited(1, meta) + delimited(2, message) + delimited(3, b"") + delimited(4, b"")


def struct_bytes(value: dict[str, Any], properties: dict[str, Schema], depth: int = 0) -> bytes:
    """The message of an object whose fields are described by ``properties``."""
    out: list[tuple[int, bytes]] = []
    embedded: dict[int, dict[str, Schema]] = {}
    for name, schema in properties.items():
        if len(schema.go_field.inlined) > depth:
            if schema.go_field.inlined[depth][1]:
                embedded.setdefault(schema.go_field.inlined[depth][1], {})[name] = schema
        elif value.get(name) is not None:
            out.append((schema.go_field.number, field_bytes(schema.go_field.number, value[name], schema)))
    for field, inner in embedded.items():
        out.append((field, delimited(field, struct_bytes(value, inner, depth + 1))))
    return b"".join(content for _, content in sorted(out, key=lambda pair: pair[0]))


def field_bytes(field: int, value: Any, schema: Schema) -> bytes:
    if schema.type in ("boolean", "integer"):
        return number(field, value)
    if schema.type == "number":
        return varint(field << 3 | 1) + struct.pack("<d", value)
    if schema.items is not None and schema.go_type != "ExtraValue":
        return b"".join(field_bytes(field, _or_zero(item, schema.items), schema.items) for item in value)
    if schema.additional is not None:
        inner = schema.additional
        entries = [
            delimited(1, key.encode()) + (field_bytes(2, item, inner) if item is not None else b"")
            for key, item in sorted(value.items())
        ]
        return b"".join(delimited(field, entry) for entry in entries)
    return delimited(field, content_bytes(value, schema))


def _or_zero(item: Any, schema: Schema) -> Any:
    if item is not None:
        return item
    return {"string": "", "boolean": False, "integer": 0, "number": 0}.get(schema.type, {})


def content_bytes(value: Any, schema: Schema) -> bytes:
    kind = schema.go_type
    if kind == "Quantity":
        return delimited(1, str(value).encode())
    if kind == "IntOrString":
        if isinstance(value, int):
            return number(1, 0) + number(2, value) + delimited(3, b"")
        return number(1, 1) + number(2, 0) + delimited(3, value.encode())
    if kind in ("Time", "MicroTime"):
        moment = datetime.fromisoformat(value).astimezone(UTC)
        return number(1, int(moment.timestamp())) + number(2, moment.microsecond * 1000 if kind == "MicroTime" else 0)
    if kind == "Duration":
        return number(1, parse_duration(value))
    if kind in ("RawExtension", "FieldsV1", "JSON"):
        return delimited(1, json.dumps(value).encode())
    if kind == "ExtraValue":
        return b"".join(delimited(1, item.encode()) for item in value)
    if kind.startswith("JSONSchemaPropsOr"):
        return _schema_or(value, kind)
    if schema.format == "byte":
        return base64.b64decode(value)
    if schema.type == "string":
        return str(value).encode()
    return struct_bytes(value, schema.properties)


def _schema_or(value: Any, kind: str) -> bytes:
    from kontend.kube.kinds import type_schema

    props = type_schema("apiextensions/v1.JSONSchemaProps").properties
    if isinstance(value, bool):
        return number(1, value)
    if isinstance(value, dict):
        content = delimited(2 if kind.endswith("Bool") else 1, struct_bytes(value, props))
        return number(1, True) + content if kind.endswith("Bool") else content
    return b"".join(
        delimited(2, item.encode() if isinstance(item, str) else struct_bytes(item, props)) for item in value
    )
