"""A definition in the server's internal form, which its messages refer to and print.

Inside, what all versions have in common (the schema, the subresources, the columns) stands once at the top of the spec;
so a mistake in the only version's schema is reported under ``spec.validation``. Where a message shows a whole
structure, it is the JSON of Go types without tags: all fields, by their Go names, in the order of the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kontend.kube.field_errors import Verbatim, go_json
from kontend.kube.schema.openapi_node import as_mapping, clean_node

_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True, slots=True)
class InternalSpec:
    """The spec with what all versions share taken out of them."""

    spec: Mapping[str, Any]
    versions: list[dict[str, Any]]
    schema: Mapping[str, Any] | None
    subresources: Mapping[str, Any] | None
    columns: list[Any]
    selectable: list[Any]

    def schemas(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every schema with the path of what holds it."""
        holders = [("spec.validation", self.schema)] if self.schema is not None else []
        for index, version in enumerate(self.versions):
            if version.get("schema") is not None:
                holders.append((f"spec.versions[{index}].schema", as_mapping(version["schema"])))
        return [(path, node) for path, holder in holders if isinstance(node := holder.get("openAPIV3Schema"), Mapping)]

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema holder of one version."""
        for version in self.versions:
            if version.get("name") == name:
                own = version.get("schema")
                return as_mapping(own) if own is not None else self.schema
        return None


def internal_spec(spec: Mapping[str, Any]) -> InternalSpec:
    """Take out of the versions what they share."""
    versions = [_version(version) for version in spec.get("versions") or ()]
    shared: dict[str, Any] = {}
    for name in _SHARED:
        first = versions[0].get(name) if versions else None
        if all(version.get(name) == first for version in versions):
            shared[name] = first
            for version in versions:
                version.pop(name, None)
    return InternalSpec(
        spec,
        versions,
        shared.get("schema"),
        shared.get("subresources"),
        list(shared.get("additionalPrinterColumns") or ()),
        list(shared.get("selectableFields") or ()),
    )


def _version(raw: Any) -> dict[str, Any]:
    """One version, its schema cleaned and its empty lists left out."""
    version = {key: value for key, value in as_mapping(raw).items() if value is not None and value != []}
    schema = version.get("schema")
    if schema is not None:
        node = as_mapping(schema).get("openAPIV3Schema")
        version["schema"] = {} if node is None else {"openAPIV3Schema": clean_node(node)}
    return version


# How Go prints it. A field is its Go name, its JSON name and how it is shown: nothing for a scalar with its zero value,
# "p" for a pointer, "l" for a list, "m" for a map, with the type of what is inside.
_Fields = tuple[tuple[str, str, str], ...]

_TYPES: Final[dict[str, _Fields]] = {
    "version": (
        ("Name", "name", "s"), ("Served", "served", "b"), ("Storage", "storage", "b"),
        ("Deprecated", "deprecated", "b"), ("DeprecationWarning", "deprecationWarning", "p"),
        ("Schema", "schema", "p:validation"),
        ("Subresources", "subresources", "p:subresources"),
        ("AdditionalPrinterColumns", "additionalPrinterColumns", "l:column"),
        ("SelectableFields", "selectableFields", "l:selectable"),
    ),
    "validation": (("OpenAPIV3Schema", "openAPIV3Schema", "p:schema"),),
    "subresources": (("Status", "status", "p:status"), ("Scale", "scale", "p:scale")),
    "status": (),
    "scale": (
        ("SpecReplicasPath", "specReplicasPath", "s"), ("StatusReplicasPath", "statusReplicasPath", "s"),
        ("LabelSelectorPath", "labelSelectorPath", "p"),
    ),
    "column": (
        ("Name", "name", "s"), ("Type", "type", "s"), ("Format", "format", "s"), ("Description", "description", "s"),
        ("Priority", "priority", "n"), ("JSONPath", "jsonPath", "s"),
    ),
    "selectable": (("JSONPath", "jsonPath", "s"),),
    "rule": (
        ("Rule", "rule", "s"), ("Message", "message", "s"), ("MessageExpression", "messageExpression", "s"),
        ("Reason", "reason", "p"), ("FieldPath", "fieldPath", "s"), ("OptionalOldSelf", "optionalOldSelf", "p"),
    ),
    "docs": (("Description", "description", "s"), ("URL", "url", "s")),
    "schema": (
        ("ID", "id", "s"), ("Schema", "$schema", "s"), ("Ref", "$ref", "p"), ("Description", "description", "s"),
        ("Type", "type", "s"), ("Nullable", "nullable", "b"), ("Format", "format", "s"), ("Title", "title", "s"),
        ("Default", "default", "p"), ("Maximum", "maximum", "p"), ("ExclusiveMaximum", "exclusiveMaximum", "b"),
        ("Minimum", "minimum", "p"), ("ExclusiveMinimum", "exclusiveMinimum", "b"), ("MaxLength", "maxLength", "p"),
        ("MinLength", "minLength", "p"), ("Pattern", "pattern", "s"), ("MaxItems", "maxItems", "p"),
        ("MinItems", "minItems", "p"), ("UniqueItems", "uniqueItems", "b"), ("MultipleOf", "multipleOf", "p"),
        ("Enum", "enum", "l"), ("MaxProperties", "maxProperties", "p"), ("MinProperties", "minProperties", "p"),
        ("Required", "required", "l"), ("Items", "items", "items"), ("AllOf", "allOf", "l:schema"),
        ("OneOf", "oneOf", "l:schema"), ("AnyOf", "anyOf", "l:schema"), ("Not", "not", "p:schema"),
        ("Properties", "properties", "m:schema"), ("AdditionalProperties", "additionalProperties", "bool-or-schema"),
        ("PatternProperties", "patternProperties", "m:schema"), ("Dependencies", "dependencies", "p"),
        ("AdditionalItems", "additionalItems", "bool-or-schema"), ("Definitions", "definitions", "m:schema"),
        ("ExternalDocs", "externalDocs", "p:docs"), ("Example", "example", "p"),
        ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "p"),
        ("XEmbeddedResource", "x-kubernetes-embedded-resource", "b"),
        ("XIntOrString", "x-kubernetes-int-or-string", "b"), ("XListMapKeys", "x-kubernetes-list-map-keys", "l"),
        ("XListType", "x-kubernetes-list-type", "p"), ("XMapType", "x-kubernetes-map-type", "p"),
        ("XValidations", "x-kubernetes-validations", "l:rule"),
    ),
}  # fmt: skip


def shown(kind: str, value: Any) -> Verbatim:
    """Return a structure as Go prints it.

    >>> shown("selectable", {"jsonPath": ".spec.a"})
    '{"JSONPath":".spec.a"}'
    """
    return Verbatim(_shown(kind, value))


def shown_list(kind: str, values: list[Any]) -> Verbatim:
    """Return a list of structures as Go prints it."""
    return Verbatim("[" + ",".join(_shown(kind, value) for value in values) + "]")


def set_fields(node: Mapping[str, Any]) -> list[str]:
    """Return the Go names of the fields of a schema that are set, in the order of the type."""
    return [name for name, key, form in _TYPES["schema"] if _is_set(node.get(key), form)]


def _is_set(value: Any, form: str) -> bool:
    if form in ("s", "b", "n"):
        return bool(value)
    return value is not None and value != [] and (value != {} or form.startswith("p"))


def _shown(kind: str, value: Any) -> str:
    node = as_mapping(value)
    parts = [f'"{name}":{_field(form, node.get(key))}' for name, key, form in _TYPES[kind]]
    return "{" + ",".join(parts) + "}"


def _field(form: str, value: Any) -> str:
    if form in ("s", "b", "n"):
        return go_json(value or {"s": "", "b": False, "n": 0}[form])
    if value is None:
        return "null"
    shape, _, inner = form.partition(":")
    if form == "items":
        if isinstance(value, list):
            return '{"Schema":null,"JSONSchemas":[' + ",".join(_shown("schema", item) for item in value) + "]}"
        return '{"Schema":' + _shown("schema", value) + ',"JSONSchemas":null}'
    if form == "bool-or-schema":
        if isinstance(value, bool):
            return '{"Allows":' + go_json(value) + ',"Schema":null}'
        return '{"Allows":true,"Schema":' + _shown("schema", value) + "}"
    if not inner:
        return go_json(value)
    if shape == "p":
        return _shown(inner, value)
    if shape == "l":
        return "[" + ",".join(_shown(inner, item) for item in value) + "]"
    return "{" + ",".join(f"{go_json(key)}:{_shown(inner, value[key])}" for key in sorted(value)) + "}"
