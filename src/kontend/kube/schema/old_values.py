"""Correlation of old and new values, for the rules that look at both.

Transition rules compare a value with what stood at the same place, and an update is not refused for mistakes in places
that it leaves alone. The *same place* is the same field, and in a list of type ``map`` the item with the same keys;
items of other lists have no old value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.schema.openapi_node import additional_schema, as_mapping
from kontend.kube.schema.tree import MISSING


def same_json(left: Any, right: Any) -> bool:
    """Report whether two JSON values are equal and of the same types (``1``, ``1.0`` and ``true`` differ)."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        if len(left) != len(right):
            return False
        for key, value in left.items():
            other = right.get(key, MISSING)
            if other is MISSING or not same_json(value, other):
                return False
        return True
    if kind is list:
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def old_items(node: Mapping[str, Any], old: Any) -> dict[Any, Any] | None:
    """Return the items of an old list by their key, or nothing when the list is not of type ``map``."""
    keys = node.get("x-kubernetes-list-map-keys")
    if type(old) is not list or node.get("x-kubernetes-list-type") != "map" or node.get("type") != "array" or not keys:
        return None
    by_key: dict[Any, Any] = {}
    for item in old:
        key = item_key(keys, item)
        if key is not None:
            by_key.setdefault(key, item)
    return by_key


def item_key(keys: list[str], item: Any) -> tuple[Any, ...] | None:
    """Return the key of an item of a list of type ``map``; nothing when a key is missing or is not a scalar."""
    if type(item) is not dict:
        return None
    out: list[Any] = []
    for key in keys:
        value = item.get(key)
        if value is None or type(value) is dict or type(value) is list:
            return None
        # The type belongs to the identity: 1 and true are equal in Python.
        out.append(type(value))
        out.append(value)
    return tuple(out)


def field_schema(node: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return the schema of one field of an object or one value of a map."""
    schema = as_mapping(node.get("properties")).get(key)
    return schema if schema is not None else additional_schema(node)


def unchanged(new: Any, old: Any, node: Mapping[str, Any]) -> bool:
    """Report whether nothing changed at this place, as the server sees it.

    Lists of type ``map`` may be reordered, and a field without a schema is never unchanged.
    """
    if type(new) is dict:
        if type(old) is not dict or len(new) != len(old):
            return False
        for key, value in new.items():
            other = old.get(key, MISSING)
            below = field_schema(node, key)
            if other is MISSING or below is None or not unchanged(value, other, below):
                return False
        return True
    if type(new) is list:
        if type(old) is not list or len(new) != len(old):
            return False
        by_key = old_items(node, old)
        if by_key is None:
            return same_json(new, old)
        items = as_mapping(node.get("items"))
        keys = node["x-kubernetes-list-map-keys"]
        for item in new:
            other = by_key.get(item_key(keys, item), MISSING)
            if other is MISSING or not unchanged(item, other, items):
                return False
        return True
    return same_json(new, old)
