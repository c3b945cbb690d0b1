"""The order of keys in the text of a patched object.

kube-apiserver patches the JSON text of an object. Its library parses only what a patch touches and writes that with
sorted keys; the rest keeps its order, which for built-in types is that of the fields in Go. Error messages show the
text, and the decoder reports the first mistake in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.kube.patches.json_patch import Operation, pointer_of
from kontend.kube.schema.tree import Schema

#: The fields that a patch touches: a part of each, or all of it, which is either parsed or as the patch has it.
Touched = dict[str, "Touched | bool"]
_PARSED: Final = True
_VERBATIM: Final = False


def touched_by_merge(current: Mapping[str, Any], change: Mapping[str, Any]) -> Touched:
    """Return what a merge patch touches."""
    touched: Touched = {}
    for key, value in change.items():
        old = current.get(key)
        touched[key] = touched_by_merge(old, value) if isinstance(value, dict) and isinstance(old, dict) else _PARSED
    return touched


def touched_by_operations(operations: Iterable[Operation]) -> Touched:
    """Return what the operations of a JSON patch touch."""
    touched: Touched = {}
    for operation in operations:
        if operation.op in ("copy", "move"):
            _container(touched, operation.source)
        parent = _container(touched, operation.path)
        if parent is not None:
            parent[pointer_of(operation.path)[-1]] = _PARSED if operation.op == "test" else _VERBATIM
    return touched


def _container(touched: Touched, path: str) -> Touched | None:
    """Note that the way to a place is touched; return the last part of it, unless all of it is touched already."""
    if not path:
        return None
    for key in pointer_of(path)[:-1]:
        below = touched.setdefault(key, {})
        if isinstance(below, bool):
            return None
        touched = below
    return touched


def arranged(value: Any, schema: Schema | None, touched: Touched | bool | None) -> Any:
    """Return a value with its keys in the order of the text.

    >>> arranged({"b": {"d": 1, "c": 2}, "a": {"d": 1, "c": 2}}, None, {"b": False})
    {'a': {'c': 2, 'd': 1}, 'b': {'d': 1, 'c': 2}}
    """
    if touched is _VERBATIM:
        return value
    if isinstance(value, list):
        items = None if schema is None or touched is _PARSED else schema.items
        parts = touched if isinstance(touched, dict) else {}
        inherited = _PARSED if touched is _PARSED else None
        return [arranged(item, items, parts.get(str(index), inherited)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if touched is _PARSED:
        return {key: arranged(value[key], None, _PARSED) for key in sorted(value)}
    properties = {} if schema is None else schema.properties
    others = None if schema is None else schema.additional
    keys = sorted(value)
    if touched is None and properties:
        keys = [key for key in properties if key in value] + [key for key in keys if key not in properties]
    below = touched or {}
    return {key: arranged(value[key], properties.get(key, others), below.get(key)) for key in keys}
