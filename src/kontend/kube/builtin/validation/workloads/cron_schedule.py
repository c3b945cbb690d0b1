"""Cron schedules, read the way the server's library reads them, so that it is wrong about the same things."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kontend.kube.field_errors import go_quote
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
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_EVERY: Final = "@every "


def check_schedule(text: str) -> None:
    """Raises if ``text`` is not a schedule.

    >>> check_schedule("*/5 * * * *")
    >>> check_schedule("often")
    Traceback (most recent call last):
    kontend.kube.builtin.validation.workloads.cron_schedule.ScheduleError: expected exactly 5 fields, found 1: [often]
    """
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, space, rest = text.partition(" ")
        if not space:
            end, start = -1, text.index("=") + 1
            raise ScheduleError(f"invalid schedule format: runtime error: slice bounds out of range [{start}:{end}]")
        del head
        text = rest.strip()
    if text.startswith("@"):
        _check_descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in field.split(","):
            if expression:
                _check_range(expression, bounds)


def _check_range(expression: str, bounds: _Bounds) -> None:
    parts = expression.split("/")
    ends = parts[0].split("-")
    if ends[0] in ("*", "?"):
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


def _number_or_name(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        why = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        why = f"strconv.Atoi: parsing {go_quote(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
