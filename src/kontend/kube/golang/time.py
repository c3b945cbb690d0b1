"""Durations and times as Go reads and prints them.

A duration is a number of nanoseconds; a time is a number of nanoseconds since 1970, so that arithmetic is exact where
``datetime`` would round to microseconds.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Final

from kontend.kube.golang.strconv import whole_number

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
MOST_DURATION: Final = 2**63 - 1

_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})([.,][0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))?"
)
_EPOCH: Final = date(1970, 1, 1).toordinal()


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration such as ``1h15m30.5s``; raises ``ValueError`` with Go's message.

    >>> parse_duration("1.5s"), parse_duration("-2m")
    (1500000000, -120000000000)
    """
    quoted = quote(text)
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"time: invalid duration {quoted}")
    total = at = 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None or not (match[1] or (match[2] and len(match[2]) > 1)):
            raise ValueError(f"time: invalid duration {quoted}")
        if not match[3]:
            raise ValueError(f"time: missing unit in duration {quoted}")
        unit = _UNITS.get(match[3])
        if unit is None:
            raise ValueError(f"time: unknown unit {quote(match[3])} in duration {quoted}")
        total += whole_number(match[1] or "0") * unit
        # Go reads no more of a fraction than counts.
        fraction = (match[2] or "")[1:19]
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        at = match.end()
    negative = text.startswith("-")
    if total > MOST_DURATION + negative:
        raise ValueError(f"time: invalid duration {quoted}")
    return -total if negative else total


def quote(text: str) -> str:
    """Quote a text as Go's time package does: every byte that is not printable ASCII as ``\\xNN``.

    >>> print(quote('5"é'))
    "5\\"\\xc3\\xa9"
    """
    out: list[str] = []
    for char in text:
        if char < " " or char > "\x7f":
            out.extend(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
        else:
            out.append("\\" + char if char in '"\\' else char)
    return f'"{"".join(out)}"'


def format_duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it.

    >>> format_duration(90_500_000_000), format_duration(1500), format_duration(0)
    ('1m30.5s', '1.5µs', '0s')
    """
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < SECOND:
        for unit, name in ((1_000_000, "ms"), (1_000, "µs"), (1, "ns")):
            if left >= unit:
                return f"{sign}{_decimal(left, unit)}{name}"
    hours, left = divmod(left, HOUR)
    minutes, left = divmod(left, MINUTE)
    text = f"{_decimal(left, SECOND)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    digits = str(fraction).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{digits}"


def is_date(text: str) -> bool:
    """Report whether ``text`` is a full date such as ``2006-01-02``."""
    match = _DATE.fullmatch(text)
    return match is not None and _valid_day(int(match[1]), int(match[2]), int(match[3]))


def _valid_day(year: int, month: int, day: int) -> bool:
    # Year zero is a leap year; the calendar module starts at one.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 4, month)[1]


def parse_date(text: str) -> int:
    """Nanoseconds since 1970 at the start of a day."""
    return parse_time(f"{text}T00:00:00Z")


def parse_time(text: str, *, zone_required: bool = True) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time; ``ValueError`` when it is not one.

    >>> parse_time("1970-01-01T01:00:00.5+01:00")
    500000000
    """
    match = _TIME.fullmatch(text)
    bad = ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse it')
    if match is None or (zone_required and not (text.endswith("Z") or match[8])):
        raise bad
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    if not _valid_day(year, month, day) or hour > 23 or minute > 59 or second > 59:
        raise bad
    ordinal = date(year, month, day).toordinal() if year else date(4, month, day).toordinal() - 4 * 365 - 1
    total = (ordinal - _EPOCH) * DAY + hour * HOUR + minute * MINUTE + second * SECOND
    if match[7]:
        total += int(match[7][1:10].ljust(9, "0"))
    if match[8]:
        offset = int(match[9]) * HOUR + int(match[10]) * MINUTE
        if int(match[9]) > 24 or int(match[10]) > 60:
            raise bad
        total -= offset if match[8] == "+" else -offset
    return total


def format_time(nanoseconds: int) -> str:
    """Return a time as RFC 3339 in UTC, with as many decimals as it needs.

    >>> format_time(500_000_000)
    '1970-01-01T00:00:00.5Z'
    """
    days, left = divmod(nanoseconds, DAY)
    day = date.fromordinal(max(1, min(days + _EPOCH, date.max.toordinal())))
    hours, left = divmod(left, HOUR)
    minutes, left = divmod(left, MINUTE)
    seconds, fraction = divmod(left, SECOND)
    decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}{decimals}Z"
