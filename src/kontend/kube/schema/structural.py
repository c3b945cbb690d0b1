"""The schema of a custom resource, as the shared schema tree.

A definition describes its kind in OpenAPI v3. The server only serves *structural* schemas: every field has its type at
its place, so one tree tells what to prune, to default, to merge and to validate. :func:`structural_schema` builds it.
Each node keeps the OpenAPI it came from in ``node``, for the value rules (``minimum``, ``pattern``, rules in CEL).

What the server implies is added: ``apiVersion``, ``kind`` and ``metadata`` at the root and in embedded resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.schema.object_meta_schema import OBJECT_META
from kontend.kube.schema.openapi_node import as_mapping, clean_node
from kontend.kube.schema.pruning import prune_copy
from kontend.kube.schema.tree import META_FIELDS, MISSING, ListType, Schema

_STRING: Final = Schema("string")


def structural_schema(openapi_v3: Mapping[str, Any]) -> Schema:
    """Return the tree for one version's ``openAPIV3Schema``.

    >>> root = structural_schema({"type": "object", "properties": {"spec": {"type": "object"}}})
    >>> sorted(root.properties)
    ['apiVersion', 'kind', 'metadata', 'spec']
    """
    root = _build(clean_node(openapi_v3))
    root.properties.update(_implied())
    _prune_defaults(root)
    return root


def structural_node(openapi_v3: Mapping[str, Any]) -> Schema:
    """Return the tree for a schema that is not the root of an object."""
    schema = _build(clean_node(openapi_v3))
    _prune_defaults(schema)
    return schema


def _implied() -> dict[str, Schema]:
    return {"apiVersion": _STRING, "kind": _STRING, "metadata": OBJECT_META}


def _build(raw: Any) -> Schema:
    node = as_mapping(raw)
    int_or_string = node.get("x-kubernetes-int-or-string") is True
    default = node.get("default")
    list_type = node.get("x-kubernetes-list-type")
    keys = node.get("x-kubernetes-list-map-keys")
    schema = Schema(
        "" if int_or_string else str(node.get("type") or ""),
        format=str(node.get("format") or ""),
        list_type=_list_type(list_type),
        map_keys=tuple(str(key) for key in keys) if isinstance(keys, list) else (),
        atomic=node.get("x-kubernetes-map-type") == "atomic",
        default=MISSING if default is None else default,
        nullable=node.get("nullable") is True,
        preserve_unknown=node.get("x-kubernetes-preserve-unknown-fields") is True,
        int_or_string=int_or_string,
        embedded=node.get("x-kubernetes-embedded-resource") is True,
        node=node,
    )
    for name, child in as_mapping(node.get("properties")).items():
        schema.properties[name] = _build(child)
    if isinstance(node.get("items"), Mapping):
        schema.items = _build(node["items"])
    additional = node.get("additionalProperties")
    if isinstance(additional, Mapping):
        schema.additional = _build(additional)
    elif additional is True:
        # A map of anything: its values have no schema, so they are kept but what is inside them is unknown.
        schema.additional = Schema(nullable=True)
    if schema.embedded:
        schema.properties.update(_implied())
    return schema


def _list_type(value: Any) -> ListType:
    if value == "set":
        return "set"
    return "map" if value == "map" else "atomic"


def _prune_defaults(schema: Schema) -> None:
    """Defaults lose what their own schema does not know, once and for all."""
    if isinstance(schema.default, (dict, list)):
        schema.default = prune_copy(schema.default, schema)
    for name, child in schema.properties.items():
        if name not in META_FIELDS or child.node is not None:
            _prune_defaults(child)
    for inner in (schema.additional, schema.items):
        if inner is not None:
            _prune_defaults(inner)
