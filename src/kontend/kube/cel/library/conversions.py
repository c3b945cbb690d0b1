"""Conversions between the types of CEL, and the parts of times."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kontend.kube.cel.library.functions import (
    FIRST_SECOND,
    FUNCTIONS,
    LAST_SECOND,
    Function,
    checked,
    moment,
    register,
    unsigned,
)
from kontend.kube.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    EvalError,
    NoOverload,
    Timestamp,
    TypeValue,
    UInt,
    type_name,
)
from kontend.kube.field_errors import go_float
from kontend.kube.golang.time import HOUR, MINUTE, SECOND, parse_duration, parse_time


def _cannot(value: Any, wanted: str) -> EvalError:
    return EvalError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


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
    """Return the UTF-8 of a text."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    raise NoOverload


@register("double")
def to_double(value: Any) -> float:
    """Return a number as a double."""
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
    """Return a number, a time (its seconds) or a text as an integer."""
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
    """Return a number or a text as an unsigned integer."""
    kind = type(value)
    if kind in (int, UInt):
        return unsigned(int(value))
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
    """Return a duration from a text (the checker also takes a number, for which there is no meaning)."""
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
    """Return a time from RFC 3339, or from seconds since 1970."""
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        if not FIRST_SECOND <= value <= LAST_SECOND:
            raise EvalError("timestamp overflow")
        return Timestamp(value * SECOND)
    if type(value) is str:
        try:
            return moment(parse_time(value))
        except ValueError:
            raise _cannot(value, "google.protobuf.Timestamp") from None
    raise NoOverload


# Parts of times.

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _local(at: Timestamp, zone: str) -> datetime:
    whole, rest = divmod(at.nanoseconds, SECOND)
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
