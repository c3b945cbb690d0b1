"""The type system of field ownership: which parts of a schema are one field, and which are many.

Apply and ``managedFields`` need to know less than validation does, and in another shape: may a scalar, a list or a map
stand here; is a list one field, or are its items fields of their own, and named how; is a map one field; what is the
type of a key that no property names. :func:`type_of` answers that for a whole object, once for each schema.

Data without a schema is *deduced*: maps are owned key by key, lists as a whole.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.apply.field_set import scalar_json, value_json
from kontend.kube.schema.object_meta_schema import OBJECT_META
from kontend.kube.schema.tree import MISSING, Schema


class NoElement(ValueError):
    """A list item that cannot be distinguished from the others."""


class FieldType:
    """The values allowed at one place, and which parts of them are fields of their own."""

    __slots__ = (
        "deduced",
        "empty",
        "fields",
        "item",
        "keys",
        "list",
        "list_atomic",
        "loose",
        "loose_fields",
        "map",
        "map_atomic",
        "names",
        "scalar",
        "values",
    )

    def __init__(self) -> None:
        #: ``numeric``, ``string``, ``boolean``, ``untyped``, or empty where no scalar may stand.
        self.scalar = ""
        #: A list is allowed here; it is one field (atomic); the type of its items.
        self.list = False
        self.list_atomic = True
        self.item: FieldType | None = None
        #: For lists whose items have keys: name, name as JSON, and the default as JSON (or ``None``).
        self.keys: tuple[tuple[str, str, str | None], ...] = ()
        #: The names of the keys in the order of the schema, for messages.
        self.names: tuple[str, ...] = ()
        #: A map is allowed here; it is one field (atomic); its named fields, and the type of all others.
        self.map = False
        self.map_atomic = False
        self.fields: dict[str, FieldType] = {}
        self.values: FieldType | None = None
        #: A map of which nothing is known.
        self.deduced = False
        #: A value below may be a boolean in one object and a number in another, which Python takes for equal.
        self.loose = False
        self.loose_fields: tuple[tuple[str, FieldType], ...] = ()
        #: The object of this type before anything is set (root only).
        self.empty: dict[str, Any] = {}

    def element(self, item: Any) -> str:
        """Return the path element of an item of this list. Raises :class:`NoElement`."""
        if self.keys:
            if type(item) is not dict:
                what = "a null element" if item is None else "non-map elements"
                raise NoElement(f"associative list with keys may not have {what}")
            parts = []
            for name, label, default in self.keys:
                if name in item:
                    value = item[name]
                    parts.append(label + (value_json(value) if type(value) in (dict, list) else scalar_json(value)))
                elif default is not None:
                    parts.append(label + default)
            if not parts:
                names = " ".join(scalar_json(name) for name in self.names)
                raise NoElement(
                    f"associative list with keys has an element that omits all key fields [{names}] "
                    "(and doesn't have default values for any key fields)"
                )
            return "k:{" + ",".join(parts) + "}"
        if item is None:
            raise NoElement("associative list without keys has an element that's an explicit null")
        if type(item) is dict:
            raise NoElement("associative list without keys has an element that's a map type")
        if type(item) is list:
            raise NoElement("not supported: associative list with lists as elements")
        return "v:" + scalar_json(item)

    def __repr__(self) -> str:
        kinds = [self.scalar, "list" if self.list else "", "map" if self.map else ""]
        return f"FieldType({'|'.join(filter(None, kinds))})"


def _untyped(inner: FieldType | None, *, loose: bool = True) -> FieldType:
    made = FieldType()
    made.scalar = "untyped"
    made.list = made.map = True
    made.loose = loose
    made.map_atomic = inner is None
    made.item = inner or made
    made.values = made
    made.deduced = True
    return made


#: Anything, owned as a whole.
ATOMIC: Final = _untyped(None)
#: Anything: maps are owned key by key, lists as a whole.
DEDUCED: Final = _untyped(ATOMIC)
#: Types for which Python's equality is good enough: ``fieldsV1``, which is never compared, and numbers or strings.
_FIELDS_V1: Final = _untyped(None, loose=False)
_INT_OR_STRING: Final = _untyped(ATOMIC, loose=False)


def type_of(schema: Schema) -> FieldType:
    """Return the type of a whole object with this schema."""
    field_type = schema.field_type
    if field_type is None:
        field_type = schema.field_type = _Builder().root(schema)
    return field_type  # type: ignore[no-any-return]


class _Builder:
    """Turns a tree of schemas, which may contain itself, into types."""

    def __init__(self) -> None:
        self.made: dict[tuple[int, bool], FieldType] = {}

    def root(self, schema: Schema) -> FieldType:
        made = self.build(schema, False, whole=not schema.go_type)
        self._find_loose()
        made.empty = _empty(schema) if schema.go_type else {}
        return made

    def build(self, schema: Schema, preserve: bool, *, whole: bool = False) -> FieldType:
        preserve = preserve or schema.preserve_unknown
        known = self.made.get((id(schema), preserve))
        if known is not None:
            return known
        if schema.go_type == "RawExtension":
            return ATOMIC
        if schema.go_type == "FieldsV1":
            return _FIELDS_V1
        if schema.int_or_string and schema.go_type != "Quantity":
            return _INT_OR_STRING
        if not (schema.type or schema.go_type or schema.properties or schema.additional):
            return DEDUCED
        made = self.made[id(schema), preserve] = FieldType()
        kind = schema.type
        if schema.go_type == "Quantity":
            made.scalar = "untyped"
        elif kind == "object":
            self._build_map(made, schema, preserve, whole or schema.embedded)
        elif kind == "array":
            self._build_list(made, schema, preserve)
        elif kind == "":
            made.scalar = "untyped"
            made.loose = True
            self._build_map(made, schema, preserve, whole or schema.embedded)
            self._build_list(made, schema, preserve)
        elif kind in ("integer", "number"):
            made.scalar = "numeric"
        elif kind == "boolean":
            made.scalar = "boolean"
        else:
            made.scalar = "string" if schema.format in ("", "byte") else "untyped"
        return made

    def _build_map(self, made: FieldType, schema: Schema, preserve: bool, whole: bool) -> None:
        made.map = True
        made.map_atomic = schema.atomic
        for name, child in schema.properties.items():
            made.fields[name] = self.build(child, preserve)
        if whole:
            self._add_implied(made)
        if schema.additional is not None:
            made.values = self.build(schema.additional, preserve)
        elif preserve or not made.fields:
            made.values = DEDUCED
        made.deduced = not made.fields and made.values is not None and made.values.scalar == "untyped"

    def _build_list(self, made: FieldType, schema: Schema, preserve: bool) -> None:
        made.list = True
        made.item = ATOMIC if schema.items is None else self.build(schema.items, preserve)
        made.list_atomic = schema.list_type == "atomic"
        if schema.list_type == "map" and schema.items is not None:
            made.names = schema.map_keys
            fields = schema.items.properties
            made.keys = tuple(
                (name, scalar_json(name) + ":", _default_json(fields.get(name))) for name in sorted(schema.map_keys)
            )

    def _add_implied(self, made: FieldType) -> None:
        """Add the fields that every object has, independent of its definition."""
        made.fields["apiVersion"] = made.fields["kind"] = self.build(_STRING, False)
        made.fields["metadata"] = self.build(OBJECT_META, False)

    def _find_loose(self) -> None:
        types = list(self.made.values())
        changed = True
        while changed:
            changed = False
            for type_name in types:
                below = (*type_name.fields.values(), type_name.values, type_name.item)
                if not type_name.loose and any(child.loose for child in below if child is not None):
                    type_name.loose = changed = True
        for type_name in types:
            type_name.loose_fields = tuple((name, child) for name, child in type_name.fields.items() if child.loose)


_STRING: Final = Schema("string")


def _default_json(schema: Schema | None) -> str | None:
    return None if schema is None or schema.default is MISSING or schema.default is None else value_json(schema.default)


def _empty(schema: Schema) -> dict[str, Any]:
    """Return Go's zero value of a built-in struct as JSON: nested structs, and fields that are never omitted."""
    out: dict[str, Any] = {}
    for name, child in schema.properties.items():
        if child.go_field.omit_zero:
            continue
        if child.type == "object" and child.properties and not child.go_field.pointer:
            out[name] = _empty(child)
        elif child.go_type in _NULL_TIMES and not child.go_field.pointer:
            out[name] = None  # a struct to Go, and so never left out
        elif not child.go_field.omit_empty:
            out[name] = None if child.go_field.pointer else _ZERO.get(child.type)
    return out


_NULL_TIMES: Final = ("Time", "MicroTime")
_ZERO: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}
