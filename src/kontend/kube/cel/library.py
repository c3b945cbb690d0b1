"""The functions that rules may call, by name. A method gets its target as the first argument.

Type checking has found most mistakes before a function runs; only values of type ``dyn`` (an ``int-or-string``) can be
of a type that a function does not take, and then it is a :class:`~kontend.kube.cel.values.NoOverload`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
    TypeValue,
    UInt,
    equal,
    type_name,
)
from kontend.kube.field_errors import go_float
from kontend.kube.go_regexp import RegexpError, compile_regexp
from kontend.kube.go_time import HOUR, MINUTE, SECOND, parse_duration, parse_time

Function = Callable[..., Any]
FUNCTIONS: dict[str, Function] = {}

#: Seconds of the years 1 to 9999, the times that CEL knows.
_FIRST_SECOND: Final = -62135596800
_LAST_SECOND: Final = 253402300799


def register(*names: str) -> Callable[[Function], Function]:
    """Make a Python function known to rules under these names."""

    def add(function: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return add


# Arithmetic.


def checked(value: int) -> int:
    """An integer that fits into 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def _unsigned(value: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvalError("unsigned integer overflow")


def _span(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvalError("duration overflow")


def _moment(nanoseconds: int) -> Timestamp:
    if _FIRST_SECOND <= nanoseconds // SECOND <= _LAST_SECOND:
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
            return _unsigned(int(left) + int(right))
        if kind is Duration:
            return _span(left.nanoseconds + right.nanoseconds)
    if isinstance(left, list) and isinstance(right, list):
        return _add_lists(left, right)
    if {kind, other} == {Duration, Timestamp}:
        return _moment(left.nanoseconds + right.nanoseconds)
    raise NoOverload


def _add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not any(equal(item, other) for other in left))])
    if isinstance(left, MapList):
        merged = list(left)
        places = {left.key_of(item): index for index, item in enumerate(left)}
        for item in right:
            place = places.get(left.key_of(item))
            if place is None:
                merged.append(item)
            else:
                merged[place] = item
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
            return _unsigned(int(left) - int(right))
        if kind in (Duration, Timestamp):
            return _span(left.nanoseconds - right.nanoseconds)
    if kind is Timestamp and other is Duration:
        return _moment(left.nanoseconds - right.nanoseconds)
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
            return _unsigned(int(left) * int(right))
    raise NoOverload


@register("_/_")
def divide(left: Any, right: Any) -> Any:
    """``left / right``; integers are cut towards zero."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            if right == 0:
                return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
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
    return (left > right) - (left < right)


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
        return any(equal(item, each) for each in container)
    raise NoOverload


def _find_key(container: dict[Any, Any], key: Any) -> tuple[Any] | None:
    try:
        found = key in container
    except TypeError:
        raise EvalError(f"unsupported key type: {type_name(key)}") from None
    if not found or (type(key) is bool) != any(type(each) is bool and each == key for each in container):
        return None
    return (container[key],)


@register("_[_]")
def index(container: Any, key: Any) -> Any:
    """``container[key]``."""
    if isinstance(container, Optional):
        return Optional(index(container.value, key)) if container.present else container
    found = lookup(container, key)
    if found is not None:
        return found[0]
    if isinstance(container, list):
        raise EvalError(f"index out of bounds: {show(key)}")
    raise EvalError(f"no such key: {show(key)}")


@register("_[?_]")
def optional_index(container: Any, key: Any) -> Optional:
    """``container[?key]``."""
    if isinstance(container, Optional):
        return optional_index(container.value, key) if container.present else NONE
    found = lookup(container, key)
    return Optional(found[0]) if found is not None else NONE


def lookup(container: Any, key: Any) -> tuple[Any] | None:
    """What stands at a key or an index, in a tuple of one; nothing when there is nothing."""
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
    """How many characters, bytes, items or entries."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise NoOverload


# Conversions.


def _cannot(value: Any, wanted: str) -> EvalError:
    return EvalError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def show(value: Any) -> str:
    """A value inside a message, as Go prints it."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    return go_float(value) if type(value) is float else str(value)


FUNCTIONS["dyn"] = lambda value: value
FUNCTIONS["type"] = lambda value: TypeValue(type_name(value))


@register("string")
def to_string(value: Any) -> str:
    """Any scalar as text."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return _double_text(value)
    if kind is bytes:
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None
    if kind in (int, UInt, Timestamp, Duration) or hasattr(kind, "CEL_TEXT"):
        return str(value)
    if kind is TypeValue:
        return str(value.name)
    raise _cannot(value, "string")


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    # The shortest form that reads back as the same number; with an exponent below 1e-4 and from 1e6 on.
    digits = repr(value).partition("e")[0].lstrip("-").replace(".", "").strip("0") or "0"
    power = int(f"{value:e}".partition("e")[2])
    if -4 <= power < 6:
        return go_float(value)
    shown = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
    return f"{'-' if value < 0 else ''}{shown}e{'-' if power < 0 else '+'}{abs(power):02d}"


@register("bool")
def to_bool(value: Any) -> bool:
    """``true`` and ``false`` as Go reads them."""
    if type(value) is bool:
        return value
    if type(value) is not str:
        raise NoOverload
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise _cannot(value, "bool")


@register("bytes")
def to_bytes(value: Any) -> bytes:
    """The UTF-8 of a text."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    raise NoOverload


@register("double")
def to_double(value: Any) -> float:
    """A number as a double."""
    if type(value) is str:
        try:
            if value.strip() != value or "_" in value:
                raise ValueError
            return float(value)
        except ValueError:
            raise _cannot(value, "double") from None
    if type(value) in (int, UInt, float):
        return float(value)
    raise NoOverload


@register("int")
def to_int(value: Any) -> int:
    """A number, a time (its seconds) or a text as an integer."""
    kind = type(value)
    if kind in (int, UInt):
        return checked(int(value))
    if kind is float:
        if math.isnan(value) or not INT_MIN < value < INT_MAX:
            raise EvalError("integer overflow")
        return int(value)
    if kind is str:
        if not _is_decimal(value) or not INT_MIN <= int(value) <= INT_MAX:
            raise _cannot(value, "int")
        return int(value)
    if kind is Timestamp:
        return int(value.nanoseconds // SECOND)
    if kind is Duration:
        return int(value.nanoseconds)
    raise NoOverload


def _is_decimal(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isdecimal() and digits.isascii()


@register("uint")
def to_uint(value: Any) -> UInt:
    """A number or a text as an unsigned integer."""
    kind = type(value)
    if kind in (int, UInt):
        return _unsigned(int(value))
    if kind is float:
        if math.isnan(value) or not 0 <= value < UINT_MAX:
            raise EvalError("unsigned integer overflow")
        return UInt(int(value))
    if kind is str:
        if not value.isdecimal() or not value.isascii() or int(value) > UINT_MAX:
            raise _cannot(value, "uint")
        return UInt(int(value))
    raise NoOverload


@register("duration")
def to_duration(value: Any) -> Duration:
    """A duration from a text (the checker also takes a number, for which there is no meaning)."""
    if type(value) is Duration:
        return value
    if type(value) is str:
        try:
            return Duration(parse_duration(value))
        except ValueError:
            raise _cannot(value, "google.protobuf.Duration") from None
    raise _cannot(value, "google.protobuf.Duration")


@register("timestamp")
def to_timestamp(value: Any) -> Timestamp:
    """A time from RFC 3339, or from seconds since 1970."""
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        if not _FIRST_SECOND <= value <= _LAST_SECOND:
            raise EvalError("timestamp overflow")
        return Timestamp(value * SECOND)
    if type(value) is str:
        try:
            return _moment(parse_time(value))
        except ValueError:
            raise _cannot(value, "google.protobuf.Timestamp") from None
    raise NoOverload


# Parts of times.

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _local(moment: Timestamp, zone: str) -> datetime:
    whole, rest = divmod(moment.nanoseconds, SECOND)
    utc = _EPOCH + timedelta(seconds=whole, microseconds=rest // 1000)
    if zone in ("", "UTC"):
        return utc
    if ":" in zone:
        hours, _, minutes = zone.partition(":")
        if not _is_decimal(hours) or not _is_decimal(minutes):
            raise EvalError(f'strconv.Atoi: parsing "{hours}": invalid syntax')
        sign = -1 if hours.startswith("-") else 1
        return utc.astimezone(timezone(timedelta(hours=int(hours), minutes=sign * int(minutes))))
    try:
        return utc.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvalError(f"unknown time zone {zone}") from None


_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda time: time.year,
    "getMonth": lambda time: time.month - 1,
    "getDayOfYear": lambda time: time.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda time: time.day - 1,
    "getDate": lambda time: time.day,
    "getDayOfWeek": lambda time: time.isoweekday() % 7,
    "getHours": lambda time: time.hour,
    "getMinutes": lambda time: time.minute,
    "getSeconds": lambda time: time.second,
    "getMilliseconds": lambda time: time.microsecond // 1000,
}
_DURATION_PARTS: Final = {
    "getHours": HOUR, "getMinutes": MINUTE, "getSeconds": SECOND, "getMilliseconds": 1_000_000,
}  # fmt: skip


def _part(name: str) -> Function:
    take = _PARTS[name]

    def run(value: Any, zone: str = "") -> int:
        if type(value) is Timestamp:
            return take(_local(value, zone))
        if type(value) is Duration and name in _DURATION_PARTS:
            unit = _DURATION_PARTS[name]
            return int(math.copysign(abs(value.nanoseconds) // unit, value.nanoseconds))
        raise NoOverload

    return run


FUNCTIONS.update({name: _part(name) for name in _PARTS})


# Texts and patterns.


def _text(*values: Any) -> None:
    if not all(type(value) is str for value in values):
        raise NoOverload


def search(pattern: str) -> Callable[[str], Any]:
    """The search of a Go pattern."""
    try:
        return compile_regexp(pattern).search
    except RegexpError as error:
        raise EvalError(str(error)) from None


@register("matches")
def matches(text: Any, pattern: Any) -> bool:
    """Whether the pattern is found anywhere in the text."""
    _text(text, pattern)
    return search(pattern)(text) is not None


@register("contains")
def contains(text: Any, part: Any) -> bool:
    """Whether the text contains a part."""
    _text(text, part)
    return part in text


@register("startsWith")
def starts_with(text: Any, part: Any) -> bool:
    """Whether the text begins with a part."""
    _text(text, part)
    return bool(text.startswith(part))


@register("endsWith")
def ends_with(text: Any, part: Any) -> bool:
    """Whether the text ends with a part."""
    _text(text, part)
    return bool(text.endswith(part))


@register("find")
def find(text: Any, pattern: Any) -> str:
    """The first match, or nothing."""
    _text(text, pattern)
    found = search(pattern)(text)
    return found[0] if found else ""


@register("findAll")
def find_all(text: Any, pattern: Any, most: int = -1) -> list[str]:
    """All matches, or the first few."""
    _text(text, pattern)
    try:
        found = [each[0] for each in compile_regexp(pattern).finditer(text)]
    except RegexpError as error:
        raise EvalError(f"Illegal regex: {error}") from None
    return found if most < 0 else found[:most]
