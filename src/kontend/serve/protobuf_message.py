"""Protobuf messages of built-in kinds, read into JSON.

The field numbers stand in the table of built-in kinds; the wire type follows from the Go type. Each struct is compiled,
when first met, into a table from tag (number and wire type together, as it stands on the wire) to a function that reads
the value into the object. What the table does not know is skipped, as Go does.

The result is JSON as a client could have sent it: zero values that Go always writes are in it, and decoding it like any
other body drops them where the type says so. An embedded struct is a message of its own on the wire, but its fields
belong to the outer object in JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from kontend.kube import kinds
from kontend.kube.go_time import format_duration
from kontend.kube.json_text import MalformedJSON, parse_json
from kontend.kube.schema import Schema
from kontend.serve.protobuf_wire import BYTES, FIXED64, VARINT, Malformed, signed, skip, span, unexpected_end, varint

#: Puts the value between two positions into an object; of a varint, the value itself is the first number.
Reader: TypeAlias = "Callable[[dict[str, Any], bytes, int, int], None]"
#: Makes a value of the bytes between two positions.
Value: TypeAlias = "Callable[[bytes, int, int], Any]"

_EPOCH: Final = datetime(1970, 1, 1)
_SCALARS: Final = {
    "string": Schema("string", go_type="string"),
    "bool": Schema("boolean", go_type="bool"),
    "int32": Schema("integer", format="int32", go_type="int32"),
    "int64": Schema("integer", format="int64", go_type="int64"),
}
_MESSAGES: dict[int, Message] = {}


class Message:
    """One struct on the wire."""

    __slots__ = ("_known", "_make", "_readers", "name")

    def __init__(self, name: str, make: Callable[[Message], None]) -> None:
        self.name = name
        self._make: Callable[[Message], None] | None = make
        self._readers: dict[int, Reader] = {}
        #: The Go name of each field number, for the one error that names it.
        self._known: dict[int, str] = {}

    def add(self, number: int, go_name: str, readers: dict[int, Reader]) -> None:
        """Say how to read a field, for each wire type it may come in."""
        self._known[number] = go_name
        for wire, reader in readers.items():
            self._readers[number << 3 | wire] = reader

    def read(self, out: dict[str, Any], data: bytes, pos: int, end: int) -> None:
        """Read the message between two positions into ``out``; what is there already is merged with."""
        if self._make is not None:
            # Before the call, because a message may contain itself.
            make, self._make = self._make, None
            make(self)
        readers = self._readers
        while pos < end:
            start = pos
            tag = data[pos]
            pos += 1
            if tag > 0x7F:
                tag, pos = varint(data, start, end)
            reader = readers.get(tag)
            if reader is None:
                pos = self._skip(tag, data, start, end)
                continue
            wire = tag & 7
            if wire == BYTES:
                stop = pos + 1 + data[pos] if pos < end else 0
                if stop and data[pos] < 0x80:
                    if stop > end:
                        raise unexpected_end()
                    pos += 1
                else:
                    pos, stop = span(data, pos, end)
                reader(out, data, pos, stop)
                pos = stop
            elif wire == VARINT:
                value, pos = varint(data, pos, end)
                reader(out, data, value, 0)
            else:
                if pos + 8 > end:
                    raise unexpected_end()
                reader(out, data, pos, pos + 8)
                pos += 8

    def _skip(self, tag: int, data: bytes, start: int, end: int) -> int:
        number, wire = signed(tag >> 3, 32), tag & 7
        if wire == 4:
            raise Malformed(f"proto: {self.name}: wiretype end group for non-group")
        if number <= 0:
            raise Malformed(f"proto: {self.name}: illegal tag {number} (wire type {tag})")
        if number in self._known:
            raise Malformed(f"proto: wrong wireType = {wire} for field {self._known[number]}")
        return skip(data, start, end)


def message_of(schema: Schema) -> Message:
    """The message of a struct's schema."""
    # Copies of a schema (one for each field of the type) share their properties, and the message keeps those alive.
    properties = schema.properties
    found = _MESSAGES.get(id(properties))
    if found is None:
        found = _MESSAGES[id(properties)] = Message(schema.go_type, partial(_fill, properties=properties, depth=0))
    return found


def _fill(message: Message, *, properties: dict[str, Schema], depth: int) -> None:
    """Add the fields; those of embedded structs, which lie deeper, become messages that read into the same object."""
    embedded: dict[tuple[str, int], dict[str, Schema]] = {}
    for name, schema in properties.items():
        if len(schema.inlined) > depth:
            embedded.setdefault(schema.inlined[depth], {})[name] = schema
        else:
            message.add(schema.number, _go_name(name), _readers(name, schema))
    for (go_type, number), inner in embedded.items():
        if number:  # else TypeMeta, which travels in the envelope
            part = Message(go_type, partial(_fill, properties=inner, depth=depth + 1))
            message.add(number, go_type, {BYTES: part.read})


def _go_name(name: str) -> str:
    return "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]


def _readers(name: str, schema: Schema) -> dict[int, Reader]:
    """How a field is read, by wire type."""
    if schema.go_type == "ExtraValue":  # a list with a name of its own is a message around that list
        return {BYTES: _one(name, _list_message())}
    if schema.type == "array":
        assert schema.items is not None
        return _repeated(name, schema.items)
    if schema.additional is not None:
        return {BYTES: _map(name, schema.additional)}
    narrow = _narrowed(schema)
    if narrow is not None:

        def number(out: dict[str, Any], _data: bytes, value: int, _stop: int) -> None:
            out[name] = narrow(value)

        return {VARINT: number}
    if schema.go_type == "float64":
        return {FIXED64: _one(name, _double)}
    value = _VALUES.get(schema.go_type) or _VALUES.get(schema.type if schema.format != "byte" else "[]byte")
    if value is not None:
        return {BYTES: _text_field(name) if value is _text else _one(name, value)}
    return {BYTES: _struct(name, message_of(schema))}


def _narrowed(schema: Schema) -> Callable[[int], int | bool] | None:
    if schema.type == "boolean":
        return bool
    if schema.type == "integer":
        bits = 32 if schema.format == "int32" else 64
        return lambda value: value if value < 0x8000_0000 else signed(value, bits)
    return None


def _text_field(name: str) -> Reader:
    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        try:
            out[name] = data[pos:stop].decode()
        except UnicodeDecodeError:
            out[name] = _text(data, pos, stop)

    return read


def _one(name: str, value: Value) -> Reader:
    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        out[name] = value(data, pos, stop)

    return read


def _struct(name: str, message: Message) -> Reader:
    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        inner = out.get(name)
        if inner is None:
            inner = out[name] = {}
        message.read(inner, data, pos, stop)

    return read


def _repeated(name: str, items: Schema) -> dict[int, Reader]:
    """A list comes as one field for each element; numbers also packed into one."""
    element = _readers("", items)
    narrow = _narrowed(items)
    if narrow is None:
        one = element[BYTES]

        def append(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
            entry: dict[str, Any] = {}
            one(entry, data, pos, stop)
            out.setdefault(name, []).append(entry[""])

        return {BYTES: append}

    def add(out: dict[str, Any], _data: bytes, value: int, _stop: int) -> None:
        out.setdefault(name, []).append(narrow(value))

    def packed(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        while pos < stop:
            value, pos = varint(data, pos, stop)
            add(out, data, value, 0)

    return {VARINT: add, BYTES: packed}


def _map(name: str, values: Schema) -> Reader:
    """A map comes as entries, each with the key as field 1 and the value as field 2."""
    readers = _readers("value", values)
    # An entry without a value has the zero value, which is what an empty one reads as.
    empty: dict[str, Any] = {}
    if BYTES in readers and values.type != "array":
        readers[BYTES](empty, b"", 0, 0)
    entry = Message("MapEntry", lambda _message: None)
    entry.add(1, "Mapkey", {BYTES: _text_field("key")})
    entry.add(2, "Mapvalue", readers)

    def read(out: dict[str, Any], data: bytes, pos: int, stop: int) -> None:
        found: dict[str, Any] = {}
        entry.read(found, data, pos, stop)
        mapping = out.get(name)
        if mapping is None:
            mapping = out[name] = {}
        mapping[found.get("key", "")] = found["value"] if "value" in found else empty.get("value")

    return read


def _text(data: bytes, pos: int, stop: int) -> str:
    return data[pos:stop].decode("utf-8", "replace")


def _base64(data: bytes, pos: int, stop: int) -> str:
    return base64.b64encode(data[pos:stop]).decode()


def _double(data: bytes, pos: int, _stop: int) -> float:
    found: float = struct.unpack_from("<d", data, pos)[0]
    if found - found != 0:
        raise Malformed(f"json: unsupported value: {'NaN' if found != found else '+Inf' if found > 0 else '-Inf'}")
    return found


def _simple(fields: dict[int, tuple[str, str]], name: str) -> Message:
    """A message of plain fields: number to name and Go type."""

    def fill(message: Message) -> None:
        for number, (field, go_type) in fields.items():
            message.add(number, field, _readers(field, _SCALARS[go_type]))

    return Message(name, fill)


def _list_message() -> Value:
    message = Message("ExtraValue", lambda each: each.add(1, "Items", _repeated("items", _SCALARS["string"])))
    return lambda data, pos, stop: _fields(message, data, pos, stop).get("items", [])


def _fields(message: Message, data: bytes, pos: int, stop: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    message.read(out, data, pos, stop)
    return out


_QUANTITY: Final = _simple({1: ("String_", "string")}, "Quantity")
_INT_OR_STRING: Final = _simple(
    {1: ("Type", "int64"), 2: ("IntVal", "int32"), 3: ("StrVal", "string")}, "IntOrString"
)
_TIMESTAMP: Final = _simple({1: ("Seconds", "int64"), 2: ("Nanos", "int32")}, "Timestamp")
_DURATION: Final = _simple({1: ("Duration", "int64")}, "Duration")


def _quantity(data: bytes, pos: int, stop: int) -> str:
    text: str = _fields(_QUANTITY, data, pos, stop).get("String_", "0")
    return text


def _int_or_string(data: bytes, pos: int, stop: int) -> int | str:
    found = _fields(_INT_OR_STRING, data, pos, stop)
    kind = found.get("Type", 0)
    if kind not in (0, 1):
        raise Malformed("impossible IntOrString.Type")
    value: int | str = found.get("StrVal", "") if kind else found.get("IntVal", 0)
    return value


def _moment(data: bytes, pos: int, stop: int, *, micros: bool) -> str | None:
    if pos == stop:
        return None
    found = _fields(_TIMESTAMP, data, pos, stop)
    # Truncated towards zero, and the fraction of whole seconds is dropped: so does the server.
    fraction = int(found.get("Nanos", 0) / 1000) if micros else 0
    try:
        moment = _EPOCH + timedelta(seconds=found.get("Seconds", 0), microseconds=fraction)
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None
    return moment.isoformat(timespec="microseconds" if micros else "seconds") + "Z"


def _time(data: bytes, pos: int, stop: int) -> str | None:
    return _moment(data, pos, stop, micros=False)


def _micro_time(data: bytes, pos: int, stop: int) -> str | None:
    return _moment(data, pos, stop, micros=True)


def _duration(data: bytes, pos: int, stop: int) -> str:
    return format_duration(_fields(_DURATION, data, pos, stop).get("Duration", 0))


def _raw_json(go_type: str) -> Value:
    message = Message(go_type, lambda each: each.add(1, "Raw", {BYTES: _one("raw", lambda d, p, s: d[p:s])}))

    def value(data: bytes, pos: int, stop: int) -> Any:
        raw = _fields(message, data, pos, stop).get("raw", b"")
        try:
            return parse_json(raw)[0] if raw else None
        except MalformedJSON as error:
            raise Malformed(f"json: error calling MarshalJSON for type {go_type}: {error.message}") from None

    return value


def _one_of(go_type: str) -> Value:
    """The types of a CustomResourceDefinition that hold a schema or something simpler."""

    or_bool = go_type == "JSONSchemaPropsOrBool"

    def fill(message: Message) -> None:
        props = kinds.type_schema("apiextensions/v1.JSONSchemaProps")
        message.add(2 if or_bool else 1, "Schema", _readers("schema", props))
        if or_bool:
            message.add(1, "Allows", _readers("simple", _SCALARS["bool"]))
        elif go_type == "JSONSchemaPropsOrArray":
            message.add(2, "JSONSchemas", _repeated("simple", props))
        else:
            message.add(2, "Property", _repeated("simple", _SCALARS["string"]))

    message = Message(go_type, fill)

    def value(data: bytes, pos: int, stop: int) -> Any:
        found = _fields(message, data, pos, stop)
        if "schema" in found and (or_bool or "simple" not in found):
            return found["schema"]
        return found.get("simple", False if or_bool else None)

    return value


_VALUES: Final[dict[str, Value]] = {
    "string": _text,
    "[]byte": _base64,
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _micro_time,
    "Duration": _duration,
    "RawExtension": _raw_json("runtime.RawExtension"),
    "FieldsV1": _raw_json("*v1.FieldsV1"),
    "JSON": _raw_json("v1.JSON"),
    **{
        name: _one_of(name)
        for name in ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
    },
}
