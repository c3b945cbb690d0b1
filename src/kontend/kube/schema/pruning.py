"""Pruning: an object loses the fields that its schema does not know.

``x-kubernetes-preserve-unknown-fields`` keeps what is unknown at that node, but fields that are specified below it are
pruned again. ``apiVersion``, ``kind`` and ``metadata`` of the object and of embedded resources are left alone: they
belong to every object, and are checked where object metadata is.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.schema.tree import META_FIELDS, Schema


def prune(obj: Any, schema: Schema) -> list[str]:
    """Prunes ``obj`` in place; the paths that were dropped, sorted, as the server names them in warnings.

    >>> from kontend.kube.schema.structural import structural_schema
    >>> widget = structural_schema({"type": "object", "properties": {"spec": {"type": "object"}}})
    >>> obj = {"kind": "Widget", "spec": {"nope": 1}, "other": 2}
    >>> prune(obj, widget), obj
    (['other', 'spec.nope'], {'kind': 'Widget', 'spec': {}})
    """
    dropped: list[str] = []
    _prune(obj, schema, "", dropped, True)
    dropped.sort()
    return dropped


def prune_copy(value: Any, schema: Schema) -> Any:
    """Return a pruned copy of a value somewhere inside an object."""
    copied = copy_json(value)
    _prune(copied, schema, "", [], schema.embedded)
    return copied


def preserves_unknown(schema: Schema) -> bool:
    """Report whether a node with ``x-kubernetes-preserve-unknown-fields`` is at or below this one."""
    return schema.preserve_unknown or any(
        preserves_unknown(child) for _, child in schema.children() if child.node is not None
    )


def copy_json(value: Any) -> Any:
    """Return a deep copy of JSON data."""
    if type(value) is dict:
        return {key: copy_json(child) for key, child in value.items()}
    if type(value) is list:
        return [copy_json(item) for item in value]
    return value


def _prune(value: Any, schema: Schema | None, path: str, dropped: list[str], resource: bool) -> None:
    if type(value) is dict:
        if schema is None:
            dropped.extend(_join(path, key) for key in value)
            value.clear()
            return
        properties = schema.properties
        additional = schema.additional
        unknown: list[str] = []
        for key, child in value.items():
            if resource and key in META_FIELDS:
                continue
            below = properties.get(key)
            if below is None:
                if additional is None:
                    if not schema.preserve_unknown:
                        unknown.append(key)
                    continue
                below = additional
            if type(child) is dict or type(child) is list:
                _prune(child, below, _join(path, key), dropped, below.embedded)
        for key in unknown:
            dropped.append(_join(path, key))
            del value[key]
    elif type(value) is list:
        items = schema.items if schema is not None else None
        if items is None and schema is not None and schema.preserve_unknown:
            return
        # Below a list that preserves unknown fields its items preserve them as well.
        inherited = schema is not None and schema.preserve_unknown
        for index, child in enumerate(value):
            if type(child) is dict or type(child) is list:
                below = items
                if inherited and items is not None and not items.preserve_unknown:
                    below = items.replace(preserve_unknown=True)
                _prune(child, below, f"{path}[{index}]", dropped, items is not None and items.embedded)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
