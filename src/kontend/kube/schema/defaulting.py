"""Defaulting: fields that are missing get the default of their schema.

A ``null`` where the schema does not allow one counts as missing: it is replaced by the default, or dropped when there
is none. Defaults are filled from the outside in, so that an object that came from a default is completed by the
defaults inside it; an object that is missing and has no default is not made up for the sake of those.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.schema.pruning import copy_json
from kontend.kube.schema.tree import META_FIELDS, MISSING, Schema


def apply_defaults(obj: Any, schema: Schema) -> None:
    """Defaults ``obj`` in place.

    >>> from kontend.kube.schema.structural import structural_schema
    >>> size = {"type": "integer", "default": 1}
    >>> spec = {"type": "object", "properties": {"size": size, "color": {"type": "string"}}}
    >>> widget = structural_schema({"type": "object", "properties": {"spec": spec}})
    >>> obj = {"spec": {"color": None}}
    >>> apply_defaults(obj, widget); obj
    {'spec': {'size': 1}}
    """
    if type(obj) is dict:
        _drop_nulls(obj, schema, True)
        _default(obj, schema, True)


def has_defaults(schema: Schema) -> bool:
    """Report whether there is a default anywhere in a schema."""
    if schema.default is not MISSING:
        return True
    below = [*schema.properties.values(), schema.additional, schema.items]
    return any(has_defaults(child) for child in below if child is not None)


def fill_defaults(obj: Any, schema: Schema) -> None:
    """Defaults ``obj`` in place, but leaves the nulls that have no default: an apply is not cleaned up."""
    if type(obj) is dict:
        _default(obj, schema, True)


def _drop_nulls(value: Any, schema: Schema, resource: bool) -> None:
    """Take away nulls that are neither allowed nor replaced by a default (in maps; items of lists stay)."""
    if type(value) is dict:
        properties = schema.properties
        additional = schema.additional
        dead: list[str] | None = None
        for key, child in value.items():
            if child is not None and type(child) is not dict and type(child) is not list:
                continue
            below = properties.get(key)
            if below is None:
                below = additional
                if below is None:
                    continue
            if resource and key in META_FIELDS:
                continue
            if child is not None:
                _drop_nulls(child, below, below.embedded)
            elif not below.nullable and below.default is MISSING:
                dead = dead or []
                dead.append(key)
        if dead:
            for key in dead:
                del value[key]
    elif schema.items is not None:
        items = schema.items
        for child in value:
            if type(child) is dict or type(child) is list:
                _drop_nulls(child, items, items.embedded)


def _default(value: Any, schema: Schema, resource: bool) -> None:
    if type(value) is dict:
        properties = schema.properties
        additional = schema.additional
        for key, below in properties.items():
            if below.default is not MISSING and (key not in value or (value[key] is None and not below.nullable)):
                value[key] = copy_json(below.default)
        for key, child in value.items():
            if resource and key in META_FIELDS:
                continue
            below_or_none = properties.get(key)
            if below_or_none is None:
                if additional is None:
                    continue
                below_or_none = additional
                if child is None and not additional.nullable and additional.default is not MISSING:
                    child = value[key] = copy_json(additional.default)
            if type(child) is dict or type(child) is list:
                _default(child, below_or_none, below_or_none.embedded)
    elif schema.items is not None:
        items = schema.items
        for index, child in enumerate(value):
            if child is None and not items.nullable and items.default is not MISSING:
                child = value[index] = copy_json(items.default)
            if type(child) is dict or type(child) is list:
                _default(child, items, items.embedded)
