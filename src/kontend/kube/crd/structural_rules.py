"""Checks that a schema is structural: each value has its type at its place, outside of ``allOf``, ``anyOf`` and so on.

Only then can the server tell what to prune and to default. The errors come sorted, as the server sorts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.field_errors import FieldError, forbidden, invalid, required
from kontend.kube.golang.regexp import RegexpError, compile_regexp
from kontend.kube.schema.openapi_node import Node, as_mapping

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_UNSUPPORTED: Final = (
    ("id", "id"), ("$schema", "schema"), ("$ref", "$ref"), ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"), ("additionalItems", "additionalItems"), ("definitions", "definitions"),
)  # fmt: skip
#: Keywords forbidden inside ``allOf``, ``anyOf``, ``oneOf`` and ``not``, as they belong to the structure; the messages.
_FORBIDDEN_IN_JUNCTORS: Final = (
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
#: All that a structural schema keeps of a node; the rest (documentation, examples) does not count.
_KEPT: Final = frozenset(
    {"description", "type", "title", "default", "nullable", "x-kubernetes-preserve-unknown-fields",
     "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
     "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations", "format", "maximum",
     "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
     "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required", "allOf", "oneOf", "anyOf",
     "not", "items", "properties", "additionalProperties"}
)  # fmt: skip


def conversion_problem(node: Node) -> str:
    """Return the reason why a schema cannot be read as a structural one, or nothing."""
    for key, name in _UNSUPPORTED:
        if node.get(key) or (key == "additionalItems" and node.get(key) is not None):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(node.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    for _, child in _children(node):
        problem = conversion_problem(child)
        if problem:
            return problem
    return ""


def _children(node: Node) -> list[tuple[str, Node]]:
    children: list[tuple[str, Any]] = [("not", node.get("not"))]
    for name in ("allOf", "anyOf", "oneOf"):
        children += [(f"{name}[{index}]", branch) for index, branch in enumerate(node.get(name) or ())]
    children.append(("items", node.get("items")))
    children += [(f"properties[{key}]", branch) for key, branch in as_mapping(node.get("properties")).items()]
    children.append(("additionalProperties", node.get("additionalProperties")))
    return [(path, branch) for path, branch in children if isinstance(branch, Mapping)]


def structural_errors(node: Node, path: str) -> list[FieldError]:
    """All that keeps a schema from being structural."""
    errors = _invariants(node, "root", path) + _value_completeness(node, node, path, path)
    return sorted(errors, key=str)


def _invariants(node: Node, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = node.get("type") or ""
    items = node.get("items")
    if kind == "array" and items is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if isinstance(items, Mapping):
        errors += _invariants(items, "item", f"{path}.items")
    properties = as_mapping(node.get("properties"))
    for key, child in properties.items():
        errors += _invariants(as_mapping(child), "field", f"{path}.properties[{key}]")
    additional = node.get("additionalProperties")
    if additional is not None:
        if level == "root":
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, Mapping):
            errors += _invariants(additional, "field", f"{path}.additionalProperties")
    errors += _extension_errors(node, path)
    int_or_string = node.get("anyOf") == _INT_OR_STRING
    all_of = node.get("allOf") or [{}]
    first_int_or_string = as_mapping(all_of[0]).get("anyOf") == _INT_OR_STRING
    errors += _value_errors(node, int_or_string, first_int_or_string, path)
    errors += _type_errors(node, kind, level, path)
    errors += _metadata_errors(node, properties, level, path)
    return errors


def _extension_errors(node: Node, path: str) -> list[FieldError]:
    if node.get("x-kubernetes-int-or-string") is not True:
        return []
    return [
        invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        if node.get(name) is True
    ]


def _type_errors(node: Node, kind: str, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    embedded = node.get("x-kubernetes-embedded-resource") is True
    preserving = node.get("x-kubernetes-preserve-unknown-fields") is True
    if embedded and kind != "object":
        says = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(f"{path}.type", kind, says) if kind else required(f"{path}.type", says))
    elif not kind and node.get("x-kubernetes-int-or-string") is not True and not preserving:
        errors.append(required(f"{path}.type", _EMPTY_TYPE[level]))
    if embedded and node.get("additionalProperties") is not None:
        says = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(f"{path}.additionalProperties", says))
    if level == "root" and kind and kind != "object":
        errors.append(invalid(f"{path}.type", kind, "must be object at the root"))
    if embedded and not preserving and not node.get("properties"):
        says = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", says))
    return errors


def _metadata_errors(node: Node, properties: Node, level: str, path: str) -> list[FieldError]:
    checked = level == "root" or node.get("x-kubernetes-embedded-resource") is True
    errors: list[FieldError] = []
    if checked:
        for name in ("kind", "apiVersion"):
            kind = as_mapping(properties.get(name)).get("type") or ""
            if name in properties and kind != "string":
                errors.append(invalid(f"{path}.properties[{name}].type", kind, "must be string"))
    if "metadata" not in properties:
        return errors
    metadata = as_mapping(properties["metadata"])
    where = f"{path}.properties[metadata]"
    kind = metadata.get("type") or ""
    if checked and kind != "object":
        errors.append(invalid(f"{where}.type", kind, "must be object"))
    if level == "root":
        names = set(as_mapping(metadata.get("properties")))
        rest = {key: value for key, value in metadata.items() if key not in ("type", "default", "properties")}
        said = any(value and key in _KEPT for key, value in rest.items())
        if said or not names <= {"name", "generateName"}:
            says = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(where, says))
    return errors


def _value_errors(node: Node, skip_any_of: bool, skip_first: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not skip_any_of:
        for index, branch in enumerate(node.get("anyOf") or ()):
            errors += _nested_errors(as_mapping(branch), False, f"{path}.anyOf[{index}]")
    for index, branch in enumerate(node.get("allOf") or ()):
        errors += _nested_errors(as_mapping(branch), skip_first and index == 0, f"{path}.allOf[{index}]")
    for index, branch in enumerate(node.get("oneOf") or ()):
        errors += _nested_errors(as_mapping(branch), False, f"{path}.oneOf[{index}]")
    if isinstance(node.get("not"), Mapping):
        errors += _nested_errors(node["not"], False, f"{path}.not")
    pattern = node.get("pattern")
    if pattern:
        try:
            compile_regexp(pattern)
        except RegexpError as error:
            says = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", pattern, says))
    return errors


def _nested_errors(node: Node, skip_any_of: bool, path: str) -> list[FieldError]:
    errors = _value_errors(node, skip_any_of, False, path)
    if isinstance(node.get("items"), Mapping):
        errors += _nested_errors(node["items"], False, f"{path}.items")
    properties = as_mapping(node.get("properties"))
    for key, child in properties.items():
        errors += _nested_errors(as_mapping(child), False, f"{path}.properties[{key}]")
    if node.get("type"):
        errors.append(forbidden(f"{path}.type", "must be empty to be structural"))
    if node.get("additionalProperties") not in (None, False):
        errors.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))
    for name, says in _FORBIDDEN_IN_JUNCTORS:
        value = node.get(name)
        if value is not None and (value or name in ("default", "x-kubernetes-list-type", "x-kubernetes-map-type")):
            errors.append(forbidden(f"{path}.{name}", says))
    if "metadata" in properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _value_completeness(rules: Node, node: Node | None, path: str, rules_path: str) -> list[FieldError]:
    """Validate that fields named inside ``allOf``, ``anyOf``, ``oneOf`` and ``not`` also are in the structure."""
    if node is None:
        return [required(path, f"because it is defined in {rules_path}")]
    errors: list[FieldError] = []
    if isinstance(rules.get("not"), Mapping):
        errors += _nested_completeness(rules["not"], node, path, f"{rules_path}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(rules.get(name) or ()):
            errors += _nested_completeness(as_mapping(branch), node, path, f"{rules_path}.{name}[{index}]")
    return errors


def _nested_completeness(rules: Node, node: Node | None, path: str, rules_path: str) -> list[FieldError]:
    if node is None:
        return [required(path, f"because it is defined in {rules_path}")]
    errors = _value_completeness(rules, node, path, rules_path)
    if isinstance(rules.get("items"), Mapping):
        items = node.get("items")
        below = items if isinstance(items, Mapping) else None
        errors += _nested_completeness(rules["items"], below, f"{path}.items", f"{rules_path}.items")
    known = as_mapping(node.get("properties"))
    for key, child in as_mapping(rules.get("properties")).items():
        where, origin = f"{path}.properties[{key}]", f"{rules_path}.properties[{key}]"
        if key in known:
            errors += _nested_completeness(as_mapping(child), as_mapping(known[key]), where, origin)
        else:
            errors.append(required(where, f"because it is defined in {origin}"))
    return errors
