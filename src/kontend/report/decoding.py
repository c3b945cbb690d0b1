"""Frozen dataclasses from JSON, and back.

The types of the fields are the schema: ``str``, ``int``, ``float``, ``bool``, ``Any``, other dataclasses,
``tuple[T, ...]``, ``Mapping[str, T]`` and ``T | None``. A field with a default may be absent. Unknown fields are
ignored, so that a reader understands documents of later versions that only add something.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_FIELDS: Final[dict[Any, dict[str, tuple[Any, bool]]]] = {}


class BadDocument(ValueError):
    """JSON that is not a trace document; the message names the field, and says what was expected and what was found."""


def decode(cls: type[T], value: Any, path: str = "") -> T:
    """Return a dataclass from JSON. Raises :class:`BadDocument`.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     labels: tuple[str, ...] = ()
    >>> decode(Point, {"x": 1, "labels": ["a"]})
    Point(x=1, labels=('a',))
    >>> decode(Point, {"x": "1"})
    Traceback (most recent call last):
    kontend.report.decoding.BadDocument: x: expected a whole number, found '1'
    """
    if not isinstance(value, Mapping):
        raise _unexpected(path, "an object", value)
    arguments = {}
    for name, (kind, required) in _fields(cls).items():
        within = f"{path}.{name}" if path else name
        if name in value:
            arguments[name] = _decoded(kind, value[name], within)
        elif required:
            raise BadDocument(f"{within}: missing")
    return cls(**arguments)


def encode(value: Any) -> Any:
    """Return a value made of dataclasses, tuples and mappings as JSON.

    >>> encode((1, {"a": None}))
    [1, {'a': None}]
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: encode(getattr(value, name)) for name in _fields(type(value))}
    if isinstance(value, Mapping):
        return {str(name): encode(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return value


def _fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    """For each field: its type, and whether it is required."""
    known = _FIELDS.get(cls)
    if known is None:
        known = _FIELDS[cls] = _fields_of(cls)
    return known


def _fields_of(cls: Any) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(cls)
    absent = dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is absent and field.default_factory is absent)
        for field in dataclasses.fields(cls)
    }


def _decoded(kind: Any, value: Any, path: str) -> Any:
    if kind is Any:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (kind,) = (argument for argument in arguments if argument is not type(None))
        return _decoded(kind, value, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise _unexpected(path, "a list", value)
        return tuple(_decoded(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise _unexpected(path, "an object", value)
        return {name: _decoded(arguments[1], item, f"{path}.{name}") for name, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return decode(kind, value, path) if isinstance(kind, type) else value
    return _scalar(kind, value, path)


def _scalar(kind: Any, value: Any, path: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise _unexpected(path, names[kind], value)
    return value


def _unexpected(path: str, expected: str, value: Any) -> BadDocument:
    shown = repr(value)
    where = f"{path}: " if path else ""
    return BadDocument(f"{where}expected {expected}, found {shown if len(shown) <= 40 else f'{shown[:39]}…'}")
