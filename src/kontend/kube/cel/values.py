"""The values that expressions compute with, beyond those that JSON and Python share.

``int``, ``float``, ``str``, ``bytes``, ``bool``, ``None``, ``list`` and ``dict`` stand for themselves. The rest is
here, with the two operations that every value has: equality and text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kontend.kube.golang.time import format_time

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class EvalError(Exception):
    """An expression that could not be evaluated; the text is cel-go's."""


class NoOverload(EvalError):
    """A function was called with values that it does not take."""

    def __init__(self, text: str = "no such overload") -> None:
        super().__init__(text)


class UInt(int):
    """An unsigned integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970."""

    nanoseconds: int

    def __str__(self) -> str:
        return format_time(self.nanoseconds)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time, in nanoseconds."""

    nanoseconds: int

    def __str__(self) -> str:
        seconds = self.nanoseconds / 1e9
        return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


@dataclass(frozen=True, slots=True)
class TypeValue:
    """The value of ``type(x)``, and of a type's name."""

    name: str


class Optional:
    """A value that may be missing."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, *, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.present != other.present:
            return False
        return not self.present or equal(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


NONE: Final = Optional(present=False)


class SetList(list[Any]):
    """A list of type ``set``: the order does not matter, and adding is a union."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal(self, other)

    __hash__ = None


class MapList(list[Any]):
    """A list of type ``map``: items are found by their keys, and adding merges."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal(self, other)

    __hash__ = None

    def by_key(self) -> dict[tuple[Any, ...], Any]:
        """Return the items by their keys; a later one takes the place of an earlier one."""
        return {self.key_of(item): item for item in self}

    def key_of(self, item: Any) -> tuple[Any, ...]:
        """Return the key that identifies an item."""
        return tuple(_hashable(item.get(key)) for key in self.keys) if isinstance(item, dict) else (id(item),)


def _hashable(value: Any) -> Any:
    return (type(value), value) if isinstance(value, bool) else value if not isinstance(value, (dict, list)) else None


_NUMBERS: Final = (int, float)


def equal(left: Any, right: Any) -> bool:
    """Equality as CEL has it: numbers compare across types, everything else only within one."""
    kind = type(left)
    if kind is str or kind is bool:
        return type(right) is kind and left == right
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        if isinstance(left, MapList):
            mine = left.by_key()
            return all((key := left.key_of(item)) in mine and equal(mine[key], item) for item in right)
        if isinstance(left, SetList):
            return all(any(equal(item, other) for other in left) for item in right)
        return all(map(equal, left, right))
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        return all(key in right and equal(value, right[key]) for key, value in left.items())
    if isinstance(left, _NUMBERS):
        return isinstance(right, _NUMBERS) and type(right) is not bool and left == right
    return kind is type(right) and bool(left == right)


def type_name(value: Any) -> str:
    """Return the name of a value's type."""
    kind = type(value)
    name = _TYPE_NAMES.get(kind)
    if name is not None:
        return name
    if isinstance(value, list):
        return "list"
    return str(getattr(kind, "CEL_TYPE", kind.__name__))


_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "bool", int: "int", UInt: "uint", float: "double", str: "string", bytes: "bytes", type(None): "null_type",
    list: "list", dict: "map", Timestamp: "google.protobuf.Timestamp", Duration: "google.protobuf.Duration",
    TypeValue: "type", Optional: "optional_type",
}  # fmt: skip


_GO_NAMES: Final = {
    "bool": "Bool", "int": "Int", "uint": "Uint", "double": "Double", "string": "String", "bytes": "Bytes",
    "null_type": "Null", "google.protobuf.Timestamp": "Timestamp", "google.protobuf.Duration": "Duration",
}  # fmt: skip


def go_type_name(value: Any) -> str:
    """Return the name that cel-go's own messages give to a value's type."""
    return f"types.{_GO_NAMES.get(type_name(value), 'Type')}"
