"""Lists of type ``set`` and ``map``: no value, and no key, may occur twice.

The schema is compiled once into closures that only visit the places where such lists can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kontend.kube.field_errors import FieldError, duplicate, go_json, invalid
from kontend.kube.schema.tree import MISSING, Schema

#: A path while nothing is wrong: linked names and indices, spelt out only in an error.
Path = tuple[Any, ...] | None
ListCheck = Callable[[Any, Path, list[FieldError]], None]


def compile_list_types(schema: Schema) -> ListCheck | None:
    """Return the check of all lists at and below a node, or nothing when there is none to check."""
    if schema.node is None:
        return None
    properties = {name: compile_list_types(child) for name, child in schema.properties.items()}
    known = {name: check for name, check in properties.items() if check is not None}
    additional = compile_list_types(schema.additional) if schema.additional is not None else None
    items = compile_list_types(schema.items) if schema.items is not None else None
    unique = schema.list_type in ("set", "map")
    if not known and additional is None and items is None and not unique:
        return None
    keys = schema.map_keys if schema.list_type == "map" else None

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if type(value) is dict:
            if additional is not None:
                for key, child in value.items():
                    if type(child) is dict or type(child) is list:
                        additional(child, (path, key, "*"), errors)
            for key, below in known.items():
                child = value.get(key)
                if type(child) is dict or type(child) is list:
                    below(child, (path, key), errors)
        elif type(value) is list:
            if unique and (len(value) > 1 or (keys is not None and value and type(value[0]) is not dict)):
                errors.extend(_set_errors(value, path) if keys is None else _map_errors(value, keys, path))
            if items is not None:
                for index, item in enumerate(value):
                    if type(item) is dict or type(item) is list:
                        items(item, (path, index), errors)

    return check


def field_path(path: Path) -> str:
    """Return a path as field errors spell it: keys of maps and indices in brackets."""
    if path is None:
        return ""
    before, name = field_path(path[0]), path[1]
    if len(path) == 3 or type(name) is int:
        return f"{before}[{name}]"
    return f"{before}.{name}" if before else str(name)


def _repeated(values: list[Any]) -> list[int]:
    """Return the positions at which a value occurs for the second time (a third time is not reported)."""
    try:
        # Nothing is repeated in nearly all lists, and a set finds that out at once.
        if len(set(values)) == len(values):
            return []
    except TypeError:
        pass
    seen: dict[Any, int] = {}
    repeated: list[int] = []
    for index, value in enumerate(values):
        kind = type(value)
        # 1, 1.0 and true are different values.
        key = (kind, go_json(value)) if kind is dict or kind is list else (kind, value)
        times = seen.get(key, 0)
        seen[key] = times + 1
        if times == 1:
            repeated.append(index)
    return repeated


def _set_errors(items: list[Any], path: Path) -> list[FieldError]:
    return [duplicate(field_path((path, index)), items[index]) for index in _repeated(items)]


def _map_errors(items: list[Any], keys: tuple[str, ...], path: Path) -> list[FieldError]:
    for index, item in enumerate(items):
        if item is not None and type(item) is not dict:
            return [invalid(field_path((path, index)), item, "must be an object for an array of list-type map")]
    if len(keys) == 1:
        # One key is the usual case, and needs no object to compare.
        (key,) = keys
        plain = [MISSING if item is None else item.get(key, MISSING) for item in items]
        return [
            duplicate(field_path((path, index)), {} if plain[index] is MISSING else {key: plain[index]})
            for index in _repeated(plain)
        ]
    identities = [{key: item[key] for key in keys if key in item} if item is not None else {} for item in items]
    return [duplicate(field_path((path, index)), identities[index]) for index in _repeated(identities)]
