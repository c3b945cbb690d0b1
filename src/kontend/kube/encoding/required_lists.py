"""Lists that Go always writes, and what storage makes of them when they are empty.

A built-in object is stored as protobuf, which cannot tell an empty list from none. An optional list is left out of the
JSON in both cases. A required one (without ``omitempty``) is written as it was sent until the object is stored, so that
validation and ownership of fields see an empty list, and as null from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kontend.kube.schema.tree import Schema


@dataclass(frozen=True, slots=True)
class RequiredLists:
    """The required lists of one struct, and the fields that lead to more of them."""

    names: tuple[str, ...]
    below: tuple[tuple[str, RequiredLists], ...]


def required_lists(schema: Schema) -> RequiredLists:
    """Find the required lists in a built-in type and in everything that it contains.

    >>> from kontend.kube.kinds import schema_of
    >>> required_lists(schema_of("rbac.authorization.k8s.io", "v1", "Role"))
    RequiredLists(names=('rules',), below=(('rules', RequiredLists(names=('verbs',), below=())),))
    """
    names, below = [], []
    for name, child in schema.properties.items():
        if child.type == "array" and not child.go_field.omit_empty and not child.go_field.pointer:
            names.append(name)
        inner = required_lists(child.items or child)
        if inner.names or inner.below:
            below.append((name, inner))
    return RequiredLists(tuple(names), tuple(below))


def empty_to_null(value: Any, lists: RequiredLists) -> None:
    """Make every empty required list null, in place.

    >>> role = {"rules": [{"verbs": []}]}
    >>> empty_to_null(role, RequiredLists(("rules",), (("rules", RequiredLists(("verbs",), ())),)))
    >>> role
    {'rules': [{'verbs': None}]}
    """
    for name in lists.names:
        if value.get(name) == []:
            value[name] = None
    for name, inner in lists.below:
        held = value.get(name)
        for struct in held if isinstance(held, list) else (held,):
            if isinstance(struct, dict):
                empty_to_null(struct, inner)
