"""The times in objects: ``metav1.Time`` in whole seconds, ``metav1.MicroTime`` in microseconds.

Both are read with Go's ``time.Parse`` and written back in UTC, so an offset or a fraction of a second does not survive
and a bad time is refused in that function's words. The zero time is written as ``null``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from kontend.kube.golang.time import quote

SECONDS: Final = "2006-01-02T15:04:05Z07:00"
MICROSECONDS: Final = "2006-01-02T15:04:05.000000Z07:00"

#: The pieces of a layout: what stands before it, its name, and the least and most value with the word for an error.
_PIECES: Final = (
    ("", "2006", 0, 9999, ""),
    ("-", "01", 1, 12, "month"),
    ("-", "02", 0, 99, ""),
    ("T", "15", 0, 23, "hour"),
    (":", "04", 0, 59, "minute"),
    (":", "05", 0, 59, "second"),
)
_DIGITS: Final = re.compile(r"[0-9]{2}")
_HOUR: Final = re.compile(r"[0-9]{1,2}")
_YEAR: Final = re.compile(r"[0-9]{4}")
_FRACTION: Final = re.compile(r"[.,][0-9]+")
_MICROS: Final = re.compile(r"[.,][0-9]{6}")
_ZONE: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_ZERO: Final = (1, 1, 1, 0, 0, 0)


class TimeError(ValueError):
    """A text that is no time; the message is Go's."""


@lru_cache(maxsize=8192)
def canonical_time(text: str, layout: str = SECONDS) -> str | None:
    """Return the time as the server writes it back, ``None`` for the zero time.

    >>> canonical_time("2026-01-01T01:00:00.25+01:00")
    '2026-01-01T00:00:00Z'
    >>> canonical_time("2026-01-01T00:00:00Z", MICROSECONDS)
    Traceback (most recent call last):
    kontend.kube.encoding.meta_time.TimeError: parsing time "2026-01-01T00:00:00Z" as ...: cannot parse "Z" as ".000000"
    """
    rest = text
    values: list[int] = []
    for before, name, least, most, word in _PIECES:
        if before and not rest.startswith(before):
            raise _unreadable(text, layout, rest, before)
        rest = rest[len(before) :]
        pattern = _YEAR if name == "2006" else _HOUR if name == "15" else _DIGITS
        match = pattern.match(rest)
        if match is None:
            raise _unreadable(text, layout, rest, name)
        rest = rest[match.end() :]
        values.append(int(match[0]))
        if not least <= values[-1] <= most:
            raise TimeError(f"parsing time {quote(text)}: {word} out of range")
    fraction = (_MICROS if layout == MICROSECONDS else _FRACTION).match(rest)
    if fraction is not None:
        rest = rest[fraction.end() :]
    elif layout == MICROSECONDS:
        raise _unreadable(text, layout, rest, ".000000")
    offset = 0
    if rest.startswith("Z"):
        rest = rest[1:]
    else:
        zone = _ZONE.match(rest)
        if zone is None:
            raise _unreadable(text, layout, rest, "Z07:00")
        rest = rest[6:]
        hours, minutes = int(zone[2]), int(zone[3])
        for value, most, word in ((minutes, 60, "minute"), (hours, 24, "hour")):
            if value > most:
                raise TimeError(f"parsing time {quote(text)}: time zone offset {word} out of range")
        offset = (hours * 60 + minutes) * (-1 if zone[1] == "-" else 1)
    if rest:
        raise TimeError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    return _written(text, values, offset, fraction[0][1:] if fraction and layout == MICROSECONDS else "")


def _written(text: str, values: list[int], offset: int, micros: str) -> str | None:
    year, month, day = values[:3]
    # Year zero is a leap year; Python's calendar starts at one.
    if not 1 <= day <= monthrange(year or 4, month)[1]:
        raise TimeError(f"parsing time {quote(text)}: day out of range")
    if offset and year:
        try:
            moment = datetime(*values) - timedelta(minutes=offset)  # type: ignore[arg-type]
        except OverflowError:
            raise TimeError(f"parsing time {quote(text)}: year out of range") from None
        values = [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second]
    if tuple(values) == _ZERO and not micros.strip("0"):
        return None
    decimals = f".{micros}" if micros else ""
    year, month, day, hour, minute, second = values
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{decimals}Z"


def _unreadable(text: str, layout: str, rest: str, name: str) -> TimeError:
    return TimeError(f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote(name)}")
