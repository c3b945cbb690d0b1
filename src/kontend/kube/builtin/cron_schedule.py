"""Cron schedules, parsed with the rules and the error messages of the library inside Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kontend.kube.field_errors import go_quote
from kontend.kube.golang.strconv import whole_number
from kontend.kube.golang.time import parse_duration


class ScheduleError(ValueError):
    """A text that is no schedule; the message is the server's."""


class _Bounds(NamedTuple):
    least: int
    most: int
    names: Mapping[str, int]


def _numbered(first: int, words: str) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), start=first)}


_FIELDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, _numbered(1, "jan feb mar apr may jun jul aug sep oct nov dec")),
    _Bounds(0, 6, _numbered(0, "sun mon tue wed thu fri sat")),
)
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_EVERY: Final = "@every "


@dataclass(frozen=True, slots=True)
class CronFields:
    """The content of a schedule: the values of its five fields, or the nanoseconds between two times (``@every``)."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    #: The day of the month or of the week is ``*``: then both must match, else either.
    any_day: bool = False
    #: The time zone in front of the schedule (``TZ=Europe/Paris``), or empty.
    zone: str = ""
    every: int | None = None


def parse_schedule(text: str) -> CronFields:
    """Parse a schedule. Raises :class:`ScheduleError`.

    >>> sorted(parse_schedule("*/20 6 * * mon").minutes)
    [0, 20, 40]
    >>> parse_schedule("often")
    Traceback (most recent call last):
    kontend.kube.builtin.cron_schedule.ScheduleError: expected exactly 5 fields, found 1: [often]
    """
    if not text:
        raise ScheduleError("empty spec string")
    zone = ""
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, space, rest = text.partition(" ")
        if not space:
            end, start = -1, text.index("=") + 1
            raise ScheduleError(f"invalid schedule format: runtime error: slice bounds out of range [{start}:{end}]")
        zone, text = head.partition("=")[2], rest.strip()
    if text.startswith(_EVERY):
        return CronFields(zone=zone, every=_duration(text))
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    parsed = [_field(field, bounds) for field, bounds in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (values for values, _ in parsed)
    return CronFields(minutes, hours, days, months, weekdays, parsed[2][1] or parsed[4][1], zone)


def _field(field: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """Return the values of a field, and whether it is ``*``."""
    values: set[int] = set()
    is_star = False
    for expression in filter(None, field.split(",")):
        accepted, star = _range(expression, bounds)
        values.update(accepted)
        is_star = is_star or star
    return frozenset(values), is_star


def _range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    parts = expression.split("/")
    ends = parts[0].split("-")
    star = ends[0] in ("*", "?")
    if star:
        start, end = bounds.least, bounds.most
    else:
        start = end = _number_or_name(ends[0], bounds.names)
        if len(ends) == 2:
            end = _number_or_name(ends[1], bounds.names)
        elif len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
    step = 1
    if len(parts) == 2:
        step = _number(parts[1])
        if len(ends) == 1:
            end = bounds.most
    elif len(parts) > 2:
        raise ScheduleError(f"too many slashes: {expression}")
    if start < bounds.least:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), star and step == 1


def _number_or_name(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        why = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    number = whole_number(text)
    if not -(2**63) <= number < 2**63:
        why = f"strconv.Atoi: parsing {go_quote(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def _duration(text: str) -> int:
    try:
        return parse_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
