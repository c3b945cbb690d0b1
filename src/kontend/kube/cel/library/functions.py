"""The functions that rules may call, by name. A method gets its target as the first argument.

Type checking has found most mistakes before a function runs; only values of type ``dyn`` (an ``int-or-string``) can be
of a type that a function does not take, and then it is a :class:`~kontend.kube.cel.values.NoOverload`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

from kontend.kube.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Duration,
    EvalError,
    MapList,
    NoOverload,
    Optional,
    SetList,
    Timestamp,
    UInt,
    equal,
    type_name,
)
from kontend.kube.field_errors import go_float
from kontend.kube.golang.time import SECOND

Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}

#: Seconds of the years 1 to 9999, the times that CEL knows.
FIRST_SECOND: Final = -62135596800
LAST_SECOND: Final = 253402300799


_Any = TypeVar("_Any", bound=Function)


def register(*names: str) -> Callable[[_Any], _Any]:
    """Make a Python function known to rules under these names."""

    def add(function: _Any) -> _Any:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return add


# Arithmetic.


def checked(value: int) -> int:
    """Return an integer that fits into 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def unsigned(value: int) -> UInt:
    """Return an unsigned integer that fits into 64 bits."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvalError("unsigned integer overflow")


def _span(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvalError("duration overflow")


def moment(nanoseconds: int) -> Timestamp:
    """Return a time between the years 1 and 9999."""
    if FIRST_SECOND <= nanoseconds // SECOND <= LAST_SECOND:
        return Timestamp(nanoseconds)
    raise EvalError("timestamp overflow")


@register("_+_")
def add(left: Any, right: Any) -> Any:
    """``left + right``."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return checked(left + right)
        if kind in (str, bytes, float):
            return left + right
        if kind is UInt:
            return unsigned(int(left) + int(right))
        if kind is Duration:
            return _span(left.nanoseconds + right.nanoseconds)
    if isinstance(left, list) and isinstance(right, list):
        return _add_lists(left, right)
    if {kind, other} == {Duration, Timestamp}:
        return moment(left.nanoseconds + right.nanoseconds)
    raise NoOverload


def _add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not any(equal(item, other) for other in left))])
    if isinstance(left, MapList):
        merged = list(left)
        positions = {left.key_of(item): index for index, item in enumerate(left)}
        for item in right:
            position = positions.get(left.key_of(item))
            if position is None:
                merged.append(item)
            else:
                merged[position] = item
        return MapList(merged, left.keys)
    return [*left, *right]


@register("_-_")
def subtract(left: Any, right: Any) -> Any:
    """``left - right``."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return checked(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return unsigned(int(left) - int(right))
        if kind in (Duration, Timestamp):
            return _span(left.nanoseconds - right.nanoseconds)
    if kind is Timestamp and other is Duration:
        return moment(left.nanoseconds - right.nanoseconds)
    raise NoOverload


@register("_*_")
def multiply(left: Any, right: Any) -> Any:
    """``left * right``."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return unsigned(int(left) * int(right))
    raise NoOverload


@register("_/_")
def divide(left: Any, right: Any) -> Any:
    """``left / right``; integers are cut towards zero."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            if right == 0:
                return (
                    math.nan
                    if left == 0 or math.isnan(left)
                    else math.copysign(math.inf, left) * math.copysign(1, right)
                )
            return left / right
        if kind in (int, UInt):
            if right == 0:
                raise EvalError("division by zero")
            whole = abs(int(left)) // abs(int(right))
            signed = whole if (left < 0) == (right < 0) else -whole
            return checked(signed) if kind is int else UInt(signed)
    raise NoOverload


@register("_%_")
def modulo(left: Any, right: Any) -> Any:
    """``left % right``; the sign is that of the left side."""
    kind = type(left)
    if kind is type(right) and kind in (int, UInt):
        if right == 0:
            raise EvalError("modulus by zero")
        rest = abs(int(left)) % abs(int(right))
        return kind(-rest if left < 0 else rest)
    raise NoOverload


@register("-_")
def negate(value: Any) -> Any:
    """``-value``."""
    if type(value) is int:
        return checked(-value)
    if type(value) is float:
        return -value
    raise NoOverload


def compare(left: Any, right: Any) -> int:
    """Less, equal or greater as -1, 0 or 1; numbers compare across types."""
    if isinstance(left, (int, float)) and type(left) is not bool:
        if not isinstance(right, (int, float)) or type(right) is bool:
            raise NoOverload
        if left != left or right != right:
            raise EvalError("NaN values cannot be ordered")
    elif type(left) is not type(right) or not isinstance(left, (str, bytes, bool, Timestamp, Duration)):
        raise NoOverload
    return int(left > right) - int(left < right)


def _ordering(test: Callable[[int], bool]) -> Function:
    return lambda left, right: test(compare(left, right))


FUNCTIONS["_<_"] = _ordering(lambda order: order < 0)
FUNCTIONS["_<=_"] = _ordering(lambda order: order <= 0)
FUNCTIONS["_>_"] = _ordering(lambda order: order > 0)
FUNCTIONS["_>=_"] = _ordering(lambda order: order >= 0)
FUNCTIONS["_==_"] = equal
FUNCTIONS["_!=_"] = lambda left, right: not equal(left, right)


@register("@in")
def contained(item: Any, container: Any) -> bool:
    """``item in container``."""
    if isinstance(container, dict):
        return _find_key(container, item) is not None
    if isinstance(container, list):
        return any(equal(item, member) for member in container)
    raise NoOverload


def _find_key(container: dict[Any, Any], key: Any) -> tuple[Any] | None:
    try:
        is_there = key in container
    except TypeError:
        raise EvalError(f"unsupported key type: {type_name(key)}") from None
    if not is_there or (type(key) is bool) != any(type(item) is bool and item == key for item in container):
        return None
    return (container[key],)


@register("_[_]")
def index(container: Any, key: Any) -> Any:
    """``container[key]``."""
    if isinstance(container, Optional):
        return Optional(index(container.value, key)) if container.present else container
    value = lookup(container, key)
    if value is not None:
        return value[0]
    if isinstance(container, list):
        raise EvalError(f"index out of bounds: {show(key)}")
    raise EvalError(f"no such key: {show(key)}")


@register("_[?_]")
def optional_index(container: Any, key: Any) -> Optional:
    """``container[?key]``."""
    if isinstance(container, Optional):
        return optional_index(container.value, key) if container.present else NONE
    value = lookup(container, key)
    return Optional(value[0]) if value is not None else NONE


def lookup(container: Any, key: Any) -> tuple[Any] | None:
    """Return the value at a key or an index in a tuple of one; an empty tuple when there is none."""
    if isinstance(container, dict):
        return _find_key(container, key)
    if isinstance(container, list):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if not isinstance(key, int) or isinstance(key, bool):
            raise EvalError(f"unsupported index type '{type_name(key)}' in list")
        return (container[key],) if 0 <= key < len(container) else None
    return None


@register("size")
def size(value: Any) -> int:
    """Return the number of characters, byte, item or entries."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise NoOverload


def show(value: Any) -> str:
    """Return a value inside a message, as Go prints it."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    return go_float(value) if type(value) is float else str(value)
