"""Decodes JSON into a built-in kind's Go type and encodes it again.

The server decodes a body into a Go struct and later encodes that struct again. So fields it does not know vanish, a
value of the wrong type is refused with the message of Go's JSON package, quantities and times become canonical,
empty optional fields disappear, and required ones appear with their zero value. :func:`decode` does both ways in one
walk; what it returns is what the server works on before it stores an object (see ``required_lists``).

Each struct is compiled, when first met, into a table from field name to the little that decoding it needs. Two kinds
of errors are distinguished as in Go: a type mismatch is noted and decoding goes on, while a type with its own JSON form
(a quantity, a time) stops everything at once and so wins over an earlier mismatch.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kontend.kube.encoding.decode_path import (
    At,
    DecodeError,
    DecodingErrors,
    Step,
    cannot_unmarshal,
    json_kind,
    unknown_path,
)
from kontend.kube.encoding.meta_time import MICROSECONDS, SECONDS, canonical_time
from kontend.kube.golang.base64 import decode_base64
from kontend.kube.golang.time import format_duration, parse_duration
from kontend.kube.quantity import canonical
from kontend.kube.schema.tree import Schema

Decoder: TypeAlias = "Callable[[Any, At, DecodingErrors], Any]"

_MOST_UNKNOWN: Final = 100


def decode(raw: Any, schema: Schema) -> tuple[dict[str, Any], list[str]]:
    """Return a value as the kind's Go type holds it, and the paths of the fields it does not know.

    ``raw`` is used up: parts of it become parts of the result.

    >>> from kontend.kube.kinds import schema_of
    >>> decode({"kind": "Deployment", "spec": {"replicas": 2, "x": 1}, "status": None},
    ...        schema_of("apps", "v1", "Deployment"))[1]
    ['spec.x']
    >>> decode({"data": 1}, schema_of("", "v1", "ConfigMap"))
    Traceback (most recent call last):
    kontend.kube.encoding.decode_path.DecodeError: json: cannot unmarshal number into Go struct field ...
    """
    run = DecodingErrors()
    try:
        value = decoder_of(schema)(raw, None, run)
    except ValueError as error:
        raise DecodeError(str(error)) from None
    if run.error is not None:
        raise DecodeError(run.error)
    unknown = run.unknown
    return value, list(dict.fromkeys(unknown))[:_MOST_UNKNOWN] if unknown else unknown


class _Field(Step):
    """The decoding of one field of a struct, and the rule for leaving it out."""

    __slots__ = ("decoder", "keep", "plain")

    def __init__(self, name: str, owner: str, schema: Schema) -> None:
        super().__init__(name, (*(embedded for embedded, _ in schema.go_field.inlined), name), owner)
        self.decoder = decoder_of(schema)
        #: Values of exactly this type need no decoding.
        self.plain = {"string": str, "boolean": bool}.get(schema.type) if not has_own_form(schema) else None
        #: Empty values are written too. A struct always is: only omitzero can leave one out.
        self.keep = schema.go_field.pointer or not (schema.go_field.omit_empty and _can_be_empty(schema))
        if schema.go_field.omit_zero:
            self.keep = False


def has_own_form(schema: Schema) -> bool:
    """Report whether the type's JSON is not simply that of a string, a number, a list or an object."""
    return schema.go_type in _OWN_FORM or schema.format == "byte" or schema.go_type.startswith("JSONSchemaPropsOr")


def _can_be_empty(schema: Schema) -> bool:
    """Report whether Go's omitempty ever applies: not to structs, and types with their own form are structs."""
    return schema.go_type not in _OWN_FORM and not (schema.type == "object" and schema.additional is None)


class StructDecoder:
    """Decodes one struct; compiled on first use, because structs contain each other."""

    __slots__ = ("always", "fields", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.fields: dict[str, _Field] | None = None
        #: The fields that are there even when nothing was said about them: name, zero value, struct.
        self.always: list[tuple[str, Any, StructDecoder | None]] = []

    def compile(self) -> dict[str, _Field]:
        """Make the table of fields."""
        fields: dict[str, _Field] = {}
        always: list[tuple[str, Any, StructDecoder | None]] = []
        for name, child in self.schema.properties.items():
            field = fields[name] = _Field(name, self.schema.go_type, child)
            if child.go_field.omit_zero or (child.go_field.pointer and child.go_field.omit_empty):
                continue
            if child.go_field.pointer:
                always.append((name, None, None))
            elif isinstance(field.decoder, StructDecoder):
                always.append((name, None, field.decoder))
            elif not (child.go_field.omit_empty and _can_be_empty(child)):
                always.append((name, _zero(child), None))
        self.always, self.fields = always, fields
        return fields

    def __call__(self, value: Any, at: At, run: DecodingErrors) -> Any:
        fields = self.fields
        if fields is None:
            fields = self.compile()
        out: dict[str, Any] = {}
        if type(value) is dict:
            for key, item in value.items():
                field = fields.get(key)
                if field is None:
                    run.unknown.append(unknown_path(at, key))
                elif type(item) is field.plain:
                    if item or field.keep:
                        out[key] = item
                elif item is not None:
                    result = field.decoder(item, (at, field), run)
                    if result or field.keep:
                        out[key] = result
        elif value is not None:
            run.mismatch(value, self.schema.go_name, at)
        for name, constant, struct in self.always:
            if name not in out:
                out[name] = constant if struct is None else struct({}, None, run)
        return out


def decoder_of(schema: Schema) -> Decoder:
    """Return the decoder of a schema, made when first asked for."""
    decoder: Decoder | None = schema.decoder
    if decoder is None:
        decoder = schema.decoder = _make_decoder(schema)
    return decoder


def _make_decoder(schema: Schema) -> Decoder:
    own = _OWN_FORM.get(schema.go_type)
    if own is not None:
        return own
    name = schema.go_name or schema.go_type
    if schema.format == "byte":
        return _bytes
    if schema.type == "array":
        assert schema.items is not None
        return _list_decoder(schema.items, name)
    if schema.type == "object":
        return StructDecoder(schema) if schema.additional is None else _map_decoder(schema.additional, name)
    if schema.type == "integer":
        return _integer_decoder(31 if schema.format == "int32" else 63, name)
    if schema.type == "number":
        return _number_decoder(name)
    return _plain_decoder(str if schema.type == "string" else bool, name)


def _zero(schema: Schema) -> Any:
    """Return the value that Go writes for a field that was never set."""
    if schema.go_type in _OWN_FORM:
        return _OWN_ZERO.get(schema.go_type)
    if schema.format == "byte":
        return None
    return {"string": "", "boolean": False, "integer": 0, "number": 0}.get(schema.type)


def _plain_decoder(wanted: type, go_name: str) -> Decoder:
    zero = wanted()

    def plain(value: Any, at: At, run: DecodingErrors) -> Any:
        if type(value) is wanted:
            return value
        if value is not None:
            run.mismatch(value, go_name, at)
        return zero

    return plain


def _integer_decoder(bits: int, go_name: str) -> Decoder:
    least, most = -(1 << bits), (1 << bits) - 1

    def integer(value: Any, at: At, run: DecodingErrors) -> Any:
        if type(value) is int and least <= value <= most:
            return value
        if value is not None:
            run.mismatch(value, go_name, at, literal=True)
        return 0

    return integer


def _number_decoder(go_name: str) -> Decoder:
    def number(value: Any, at: At, run: DecodingErrors) -> Any:
        if type(value) is int:
            return value
        if type(value) is float:
            return int(value) if value.is_integer() and abs(value) < 1e21 else value
        if value is not None:
            run.mismatch(value, go_name, at)
        return 0

    return number


def _list_decoder(items: Schema, go_name: str) -> Decoder:
    plain = {"string": str}.get(items.type) if not has_own_form(items) else None

    def many(value: Any, at: At, run: DecodingErrors) -> Any:
        if type(value) is list:
            decoder = decoder_of(items)
            for index, item in enumerate(value):
                if type(item) is not plain:
                    value[index] = decoder(item, (at, index), run)
            return value
        if value is not None:
            run.mismatch(value, go_name, at)
        return []

    return many


def _map_decoder(values: Schema, go_name: str) -> Decoder:
    plain = {"string": str}.get(values.type) if not has_own_form(values) else None

    def mapping(value: Any, at: At, run: DecodingErrors) -> Any:
        if type(value) is dict:
            decoder = decoder_of(values)
            for key, item in value.items():
                if type(item) is not plain:
                    value[key] = decoder(item, (at, key), run)
            return value
        if value is not None:
            run.mismatch(value, go_name, at)
        return {}

    return mapping


def _bytes(value: Any, at: At, run: DecodingErrors) -> str:
    if isinstance(value, str):
        try:
            return base64.b64encode(decode_base64(value)).decode()
        except ValueError as error:
            run.error = run.error or str(error)
            return ""
    if isinstance(value, list):
        octets = bytearray()
        for item in value:
            if item is None or (type(item) is int and 0 <= item <= 255):
                octets.append(item or 0)
            else:
                run.mismatch(item, "uint8", at, literal=True)
        return base64.b64encode(octets).decode()
    if value is not None:
        run.mismatch(value, "[]uint8", at)
    return ""


def _quantity(value: Any, _at: At, _run: DecodingErrors) -> str:
    if isinstance(value, str):
        return canonical(value)
    if value is None:
        return "0"
    # Any other JSON is taken as the text of a quantity: good for numbers, hopeless for the rest.
    return canonical(str(value) if type(value) is not bool else "true")


def _text(value: Any, at: At, run: DecodingErrors) -> str:
    """Return the string inside a type with its own JSON form."""
    if not isinstance(value, str):
        run.error = None
        raise DecodeError(cannot_unmarshal(json_kind(value), "string", at))
    return value


def _time(value: Any, at: At, run: DecodingErrors) -> str | None:
    return None if value is None else canonical_time(_text(value, at, run), SECONDS)


def _micro_time(value: Any, at: At, run: DecodingErrors) -> str | None:
    return None if value is None else canonical_time(_text(value, at, run), MICROSECONDS)


def _duration(value: Any, at: At, run: DecodingErrors) -> str:
    return "0s" if value is None else format_duration(parse_duration(_text(value, at, run)))


def _int_or_string(value: Any, at: At, _run: DecodingErrors) -> int | str:
    if isinstance(value, str) or (type(value) is int and -(1 << 31) <= value < 1 << 31):
        return value
    if value is None:
        return 0
    raise DecodeError(cannot_unmarshal(json_kind(value, literal=True), "int32", at))


def _anything(value: Any, _at: At, _run: DecodingErrors) -> Any:
    return value


def one_of(go_type: str, props: Schema) -> Decoder:
    """Return the decoder of the types of a CustomResourceDefinition that hold a schema or something simpler.

    Inside them nothing is strict: unknown fields vanish without a warning.
    """

    decoders: dict[type, Decoder] = {
        dict: decoder_of(props),
        list: _list_decoder(props if go_type == "JSONSchemaPropsOrArray" else _STRING, f"[]{props.go_name}"),
    }

    def either(value: Any, at: At, _run: DecodingErrors) -> Any:
        if go_type == "JSONSchemaPropsOrBool":
            if isinstance(value, bool):
                return value
            if not isinstance(value, dict):
                raise DecodeError("boolean or JSON schema expected")
        decoder = decoders.get(type(value))
        if decoder is None:
            return None
        inner = DecodingErrors()
        result = decoder(value, at, inner)
        if inner.error is not None:
            raise DecodeError(inner.error)
        return None if result == [] else result

    return either


_OWN_FORM: Final[dict[str, Decoder]] = {
    "Quantity": _quantity,
    "Time": _time,
    "MicroTime": _micro_time,
    "Duration": _duration,
    "IntOrString": _int_or_string,
    "RawExtension": _anything,
    "FieldsV1": _anything,
    "JSON": _anything,
}
_STRING: Final = Schema("string", go_name="string")
_OWN_ZERO: Final = {"Quantity": "0", "Duration": "0s", "IntOrString": 0}
