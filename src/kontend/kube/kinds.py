"""The built-in kinds: the resources that the server serves, and the schema of each type.

Everything comes from one table made from the Go types (``tools/make_kinds.py`` says what is in it). Nothing is read
before it is asked for, and asking for a kind builds only the types it needs: they are shared, and a type that
contains itself is a cycle of schemas.

The schemas also say how server-side apply sees the types, which is what the server derives from its OpenAPI document:
a list without a marker is atomic, a map or struct without one is merged field by field, and a required scalar has its
zero value as default, so that it may be left out of the key of a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, Final

import orjson

from kontend.kube.encoding import decode
from kontend.kube.schema.tree import GoField, Schema


@dataclass(frozen=True, slots=True)
class SubresourceInfo:
    """A subresource such as ``status`` or ``scale``: the kind of its body, and its verbs."""

    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """A resource as discovery describes it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: MappingProxyType[str, SubresourceInfo] = field(default_factory=lambda: MappingProxyType({}))
    list_kind: str = ""
    storage_version_hash: str = ""


TABLE: Final = Path(__file__).parent / "data" / "kinds.json"

_SCALARS: Final = {
    "string": ("string", ""),
    "bool": ("boolean", ""),
    "int32": ("integer", "int32"),
    "int64": ("integer", "int64"),
    "float64": ("number", "double"),
}

#: Types with their own JSON form.
_OPAQUE: Final = {
    "meta/v1.Time": Schema("string", format="date-time"),
    "meta/v1.MicroTime": Schema("string", format="date-time"),
    "meta/v1.Duration": Schema("string"),
    "meta/v1.FieldsV1": Schema("object", preserve_unknown=True),
    "resource.Quantity": Schema(int_or_string=True),
    "intstr.IntOrString": Schema(int_or_string=True),
    "runtime.RawExtension": Schema(preserve_unknown=True, atomic=True),
    "apiextensions/v1.JSON": Schema(preserve_unknown=True),
    "apiextensions/v1.JSONSchemaPropsOrArray": Schema(preserve_unknown=True),
    "apiextensions/v1.JSONSchemaPropsOrBool": Schema(preserve_unknown=True),
    "apiextensions/v1.JSONSchemaPropsOrStringArray": Schema(preserve_unknown=True),
}
_PROPS: Final = "apiextensions/v1.JSONSchemaProps"

#: Schemas that are complete, and those that are being made now, which may still lack fields. They become visible
#: together, at the end: another thread must not see half of one, and one that is interrupted leaves nothing behind.
_BUILT: dict[str, Schema] = {}
_UNFINISHED: dict[str, Schema] = {}
_BUILDING: Final = RLock()


@cache
def _table() -> dict[str, Any]:
    return orjson.loads(TABLE.read_bytes())  # type: ignore[no-any-return]


@cache
def _packages() -> dict[str, str]:
    """Return the Go package of each API group: the first part of its name."""
    return {row["group"]: row["group"].partition(".")[0] or "core" for row in _table()["resources"]}


@cache
def resources() -> tuple[ResourceInfo, ...]:
    """All resources that the server serves by default, in the order of discovery.

    >>> [each.plural for each in resources() if each.group == "apps"]
    ['controllerrevisions', 'daemonsets', 'deployments', 'replicasets', 'statefulsets']
    """
    return tuple(_resource(row) for row in _table()["resources"])


def _resource(row: dict[str, Any]) -> ResourceInfo:
    subresources = {
        name: SubresourceInfo(group, version, kind, tuple(verbs))
        for name, (group, version, kind, verbs) in row.get("subresources", {}).items()
    }
    return ResourceInfo(
        group=row["group"],
        version=row["version"],
        kind=row["kind"],
        plural=row["plural"],
        singular=row["singularName"],
        namespaced=row["namespaced"],
        verbs=tuple(row["verbs"]),
        short_names=tuple(row.get("shortNames", ())),
        categories=tuple(row.get("categories", ())),
        subresources=MappingProxyType(subresources),
        list_kind=row["kind"] + "List" if "list" in row["verbs"] else "",
        storage_version_hash=row.get("storageVersionHash", ""),
    )


def schema_of(group: str, version: str, kind: str) -> Schema:
    """Return the schema of a built-in kind; ``KeyError`` if there is no such kind.

    >>> schema_of("apps", "v1", "Deployment").properties["spec"].properties["replicas"]
    Schema(integer:int32)
    """
    return type_schema(f"{_packages()[group]}/{version}.{kind}")


def type_schema(name: str) -> Schema:
    """Return the schema of any type of the table by its name there, such as ``meta/v1.ObjectMeta``."""
    built = _BUILT.get(name)
    if built is not None:
        return built
    with _BUILDING:
        built = _BUILT.get(name) or _UNFINISHED.get(name)
        if built is not None:
            return built
        is_outermost = not _UNFINISHED
        try:
            schema = _build(name)
            if is_outermost:
                _BUILT.update(_UNFINISHED)
        finally:
            if is_outermost:
                _UNFINISHED.clear()
        return schema


def type_names() -> list[str]:
    """Return the names of all types, as :func:`type_schema` takes them: those of the table and those with their own
    form."""
    return [*_table()["types"], *(name for name in _OPAQUE if name not in _table()["types"])]


def type_row(name: str) -> dict[str, str] | str | None:
    """Return a type's row: its fields in the order of the Go struct, or the type that it stands for."""
    row: dict[str, str] | str | None = _table()["types"].get(name)
    return row


def _build(name: str) -> Schema:
    package, _, go_type = name.rpartition(".")
    go_name = f"{package.rpartition('/')[2]}.{go_type}"
    if name in _OPAQUE:
        schema = _OPAQUE[name].replace(go_type=go_type, go_name=go_name)
        _UNFINISHED[name] = schema
        if go_type.startswith("JSONSchemaPropsOr"):
            schema.decoder = decode.one_of(go_type, type_schema(_PROPS))
        return schema
    described = _table()["types"][name]
    if isinstance(described, str):
        schema = _UNFINISHED[name] = _of_type(described, package).replace(go_type=go_type, go_name=go_name)
        return schema
    schema = _UNFINISHED[name] = Schema("object", go_type=go_type, go_name=go_name)
    schema.decoder = decode.StructDecoder(schema)
    # Before the fields, because one of them may be of this very type and copies what is known by then.
    _mark(schema, described.get("#", "").split(" "))
    _fill(schema.properties, described, package, ())
    return schema


def _fill(
    properties: dict[str, Schema], described: dict[str, str], package: str, inlined: tuple[tuple[str, int], ...]
) -> None:
    """Add the fields of a struct, and of those embedded in it, to ``properties``."""
    for name, text in described.items():
        if name == "#":
            continue
        if name[0] == "^":
            home, _, embedded = name[1:].rpartition(".")
            home = home or package
            _fill(properties, _table()["types"][f"{home}.{embedded}"], home, (*inlined, (embedded, int(text))))
            continue
        go_type, number, *words = text.split(" ")
        schema = _of_type(go_type.removeprefix("*"), package).replace(
            go_field=GoField(
                pointer=go_type[0] == "*",
                omit_empty="o" in words,
                omit_zero="z" in words,
                inlined=inlined,
                number=int(number),
            )
        )
        required = not schema.go_field.omit_empty and not schema.go_field.pointer
        if required and schema.type in _ZERO and schema.format not in ("byte", "date-time"):
            schema.default = _ZERO[schema.type]
        _mark(schema, words)
        properties[name] = schema


_ZERO: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _mark(schema: Schema, words: list[str]) -> None:
    """Set the attributes about merging from the markers of the table."""
    for word in words:
        label, _, value = word.partition("=")
        if label == "list":
            kind, _, keys = value.partition(":")
            schema.list_type = kind  # type: ignore[assignment]
            schema.map_keys = tuple(keys.split(",")) if keys else ()
        elif label == "map":
            schema.atomic = value == "atomic"
        elif label == "patch":
            schema.patch_strategy, _, schema.patch_merge_key = value.partition("/")
        elif label == "default":
            schema.default = orjson.loads(value)


def _of_type(text: str, package: str) -> Schema:
    """Return the schema of a type as the table writes it, seen from a package."""
    if text in _SCALARS:
        kind, form = _SCALARS[text]
        return Schema(kind, format=form, go_type=text, go_name=text)
    if text == "[]byte":
        return Schema("string", format="byte", go_type="[]byte", go_name="[]uint8")
    if text.startswith("[]"):
        items = _of_type(text[2:], package)
        return Schema("array", items=items, go_type=text, go_name="[]" + items.go_name)
    if text.startswith("map["):
        key, _, value = text[4:].partition("]")
        additional = _of_type(value, package)
        key_name = key if key == "string" else type_schema(_full(key, package)).go_name
        return Schema("object", additional=additional, go_type=text, go_name=f"map[{key_name}]{additional.go_name}")
    return type_schema(_full(text, package))


def _full(name: str, package: str) -> str:
    return name if "." in name else f"{package}.{name}"
