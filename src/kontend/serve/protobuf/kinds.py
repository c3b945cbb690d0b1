"""The protobuf messages of built-in kinds, made from their schemas.

The field numbers stand in the table of built-in kinds; the wire type follows from the Go type. What is read is JSON as
a client could have sent it: zero values that Go always writes are in it, and decoding it like any other body drops them
where the type says so. An embedded struct is a message of its own on the wire, while its fields belong to the outer
object in JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kontend.kube import kinds
from kontend.kube.schema.tree import Schema
from kontend.serve.protobuf.message import (
    Message,
    Reader,
    Value,
    int32,
    int64,
    mapping,
    nested,
    number,
    numbers,
    one,
    repeated,
    text,
)
from kontend.serve.protobuf.values import VALUES, double
from kontend.serve.protobuf.wire import BYTES, FIXED64

_PROPS: Final = "apiextensions/v1.JSONSchemaProps"
_MESSAGES: dict[int, Message] = {}


def message_of(schema: Schema) -> Message:
    """Return the message of a struct's schema."""
    # Copies of a schema (one for each field of the type) share their properties, and the message keeps those alive.
    properties = schema.properties
    message = _MESSAGES.get(id(properties))
    if message is None:
        message = _MESSAGES[id(properties)] = Message(schema.go_type, partial(_fill, properties=properties, depth=0))
    return message


def _fill(message: Message, *, properties: dict[str, Schema], depth: int) -> None:
    """Add the fields; those of embedded structs, which lie deeper, become messages that read into the same object."""
    embedded: dict[tuple[str, int], dict[str, Schema]] = {}
    for name, schema in properties.items():
        if len(schema.go_field.inlined) > depth:
            embedded.setdefault(schema.go_field.inlined[depth], {})[name] = schema
        else:
            message.add(schema.go_field.number, _go_name(name), _readers(name, schema))
    for (go_type, field_number), inner in embedded.items():
        if field_number:  # else TypeMeta, which travels in the envelope
            part = Message(go_type, partial(_fill, properties=inner, depth=depth + 1))
            message.add(field_number, go_type, {BYTES: part.read})


def _go_name(name: str) -> str:
    return "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]


def _readers(name: str, schema: Schema) -> dict[int, Reader]:
    """Return the reader of a field for each wire type."""
    narrow = _narrow(schema)
    if narrow is not None:
        return number(name, narrow)
    if schema.type == "number":
        return {FIXED64: one(name, double)}
    if schema.go_type not in VALUES:
        if schema.items is not None:
            narrow = _narrow(schema.items)
            return numbers(name, narrow) if narrow is not None else {BYTES: repeated(name, _value(schema.items))}
        if schema.additional is not None:
            return {BYTES: mapping(name, _value(schema.additional))}
    value = _value(schema)
    if value is text:
        return {BYTES: name}
    return {BYTES: nested(name, message_of(schema)) if schema.properties else one(name, value)}


def _narrow(schema: Schema) -> Callable[[int], int | bool] | None:
    if schema.type == "boolean":
        return bool
    if schema.type == "integer":
        return int32 if schema.format == "int32" else int64
    return None


def _value(schema: Schema) -> Value:
    """Return the reader of a value that stands alone: an element of a list, the value of a map."""
    value = VALUES.get(schema.go_type) or _SCHEMA_OR.get(schema.go_type)
    if value is not None:
        return value
    if schema.type == "string":
        return VALUES["[]byte"] if schema.format == "byte" else text
    return message_of(schema).value


def _schema_or(go_type: str) -> Value:
    """Return the types of a CustomResourceDefinition that hold a schema or something simpler."""
    or_bool = go_type == "JSONSchemaPropsOrBool"

    def fill(message: Message) -> None:
        props = message_of(kinds.type_schema(_PROPS))
        message.add(2 if or_bool else 1, "Schema", {BYTES: nested("schema", props)})
        if or_bool:
            message.add(1, "Allows", number("simple", bool))
        elif go_type == "JSONSchemaPropsOrArray":
            message.add(2, "JSONSchemas", {BYTES: repeated("simple", props.value)})
        else:
            message.add(2, "Property", {BYTES: repeated("simple", text)})

    message = Message(go_type, fill)

    def value(data: bytes, pos: int, stop: int) -> Any:
        decoded = message.value(data, pos, stop)
        if "schema" in decoded and (or_bool or "simple" not in decoded):
            return decoded["schema"]
        return decoded.get("simple", False if or_bool else None)

    return value


_SCHEMA_OR: Final = {
    name: _schema_or(name)
    for name in ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
}
