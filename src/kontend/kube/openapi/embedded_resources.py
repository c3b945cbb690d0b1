"""Embedded resources: objects inside an object, with ``apiVersion``, ``kind`` and ``metadata`` of their own.

They must have a kind and an apiVersion; their metadata obeys the rules that hold for every object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import FieldError, go_json, invalid, required
from kontend.kube.meta.name_rules import dns1035_label, path_segment
from kontend.kube.meta.object_meta import validate_object_meta
from kontend.kube.openapi.object_meta import coerce_object_meta
from kontend.kube.schema.tree import Schema

EmbeddedCheck = Callable[[Any, str, list[FieldError]], None]


def compile_embedded(schema: Schema, *, resource: bool = False) -> EmbeddedCheck | None:
    """Return the check of all embedded resources at and below a node (``resource`` counts the node itself as one)."""
    resource = resource or schema.embedded
    properties = {name: compile_embedded(child) for name, child in schema.properties.items() if child.node is not None}
    known = {name: check for name, check in properties.items() if check is not None}
    additional = compile_embedded(schema.additional) if schema.additional is not None else None
    items = compile_embedded(schema.items) if schema.items is not None else None
    if not resource and not known and additional is None and items is None:
        return None

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if type(value) is dict:
            prefix = f"{path}." if path else ""
            if resource:
                errors.extend(resource_errors(value, prefix))
            for key, child in value.items():
                if key in properties:
                    below = properties[key]
                    if below is not None:
                        below(child, f"{prefix}{key}", errors)
                elif additional is not None:
                    additional(child, f"{path}[{key}]", errors)
        elif type(value) is list and items is not None:
            for index, item in enumerate(value):
                items(item, f"{path}[{index}]", errors)

    return check


def has_embedded(schema: Schema) -> bool:
    """Report whether there are embedded resources below a node."""
    return schema.embedded or any(has_embedded(child) for _, child in schema.children() if child.node is not None)


def coerce_embedded(value: Any, schema: Schema, path: str = "") -> list[str]:
    """Normalize the metadata of all embedded resources in place; return the dropped fields."""
    if type(value) is list:
        return [] if schema.items is None else [
            unknown for i, item in enumerate(value) for unknown in coerce_embedded(item, schema.items, f"{path}[{i}]")
        ]  # fmt: skip
    if type(value) is not dict:
        return []
    dropped: list[str] = []
    if schema.embedded and type(value.get("metadata")) is dict:
        shown = go_json(value["metadata"])
        try:
            value["metadata"], unknown = coerce_object_meta(value["metadata"])
        except BadRequest as error:
            where = f"{path}.metadata" if path else "metadata"
            raise BadRequest(f"{where}: Invalid value: {shown}: {error.message}") from None
        dropped += [f"{path}.{dropped_path}" for dropped_path in unknown]
    for key, child in value.items():
        below = schema.properties.get(key) or schema.additional
        if below is not None and below.node is not None:
            dropped += coerce_embedded(child, below, f"{path}.{key}" if path else key)
    return dropped


def resource_errors(obj: dict[str, Any], prefix: str) -> list[FieldError]:
    """Validate the type and the metadata of one embedded resource; ``prefix`` ends with a dot or is empty."""
    errors = [required(f"{prefix}{name}") for name in ("apiVersion", "kind") if name not in obj]
    for name, value in obj.items():
        where = f"{prefix}{name}"
        if name == "metadata":
            errors.extend(_metadata_errors(value, where))
        elif name in ("apiVersion", "kind"):
            if not isinstance(value, str):
                errors.append(invalid(where, value, "must be a string"))
            elif not value:
                errors.append(invalid(where, value, "must not be empty"))
            elif name == "apiVersion":
                if value.count("/") > 1:
                    errors.append(invalid(where, value, f"unexpected GroupVersion string: {value}"))
            else:
                wrong = dns1035_label(value.lower())
                if wrong:
                    says = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
                    errors.append(invalid(where, value, says))
    return errors


def _metadata_errors(metadata: Any, where: str) -> list[FieldError]:
    if not isinstance(metadata, dict):
        return [invalid(where, metadata, "json: cannot unmarshal into Go value of type v1.ObjectMeta")]
    named = metadata if metadata.get("name") else {**metadata, "name": "fakename"}
    return validate_object_meta(named, namespaced=bool(metadata.get("namespace")), name_rule=path_segment, field=where)
