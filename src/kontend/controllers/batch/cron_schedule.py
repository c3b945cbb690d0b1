"""Cron schedules: parsing, and the next time at which one is due.

Times are seconds since 1970. A schedule counts in its own time zone: an hour that a clock skips is skipped, and one
that it repeats is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kontend.kube.builtin.validation.workloads.cron_schedule import ScheduleError, check_schedule
from kontend.kube.golang.time import SECOND, parse_duration

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_BOUNDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMES: Final[tuple[dict[str, int], ...]] = (
    {},
    {},
    {},
    {name: n + 1 for n, name in enumerate(_MONTHS)},
    {name: n for n, name in enumerate(_DAYS)},
)
#: A schedule that is not due within so many days never is, such as the 30th of February.
_FAR: Final = 5 * 366


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule: the minutes, hours and days that match, or a number of seconds between two times."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    #: The day of the month or of the week is left open: then both must match, else either.
    open_day: bool
    zone: tzinfo
    every: int = 0

    def next(self, after: int) -> int | None:
        """The first time after ``after``.

        >>> parse_cron("*/15 * * * *").next(0), parse_cron("0 6 * * mon").next(0)
        (900, 367200)
        """
        if self.every:
            return after + self.every
        day = datetime.fromtimestamp(after, self.zone).date()
        for _ in range(_FAR):
            if self._matches_day(day.month, day.day, (day.weekday() + 1) % 7):
                midnight = datetime(day.year, day.month, day.day, tzinfo=self.zone)
                start = int(midnight.timestamp())
                end = int(datetime.combine(day + timedelta(days=1), midnight.timetz()).timestamp())
                for minute in range(max(start, (after // 60 + 1) * 60), end, 60):
                    local = datetime.fromtimestamp(minute, self.zone)
                    if local.minute in self.minutes and local.hour in self.hours:
                        return minute
            day += timedelta(days=1)
        return None

    def _matches_day(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months:
            return False
        in_month, in_week = day in self.days, weekday in self.weekdays
        return in_month and in_week if self.open_day else in_month or in_week


@lru_cache(maxsize=1024)
def parse_cron(text: str, zone: str = "") -> Schedule:
    """A schedule from its text; raises ``ScheduleError`` for one that is none or whose time zone is not known."""
    check_schedule(text)
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, _, text = text.partition(" ")
        zone, text = head.partition("=")[2], text.strip()
    place = _zone(zone)
    nothing: frozenset[int] = frozenset()
    if text.startswith("@every "):
        every = max(1, parse_duration(text.removeprefix("@every ")) // SECOND)
        return Schedule(nothing, nothing, nothing, nothing, nothing, True, place, every)
    fields = _DESCRIPTORS.get(text, text).split()
    minutes, hours, days, months, weekdays = (_values(field, index) for index, field in enumerate(fields))
    return Schedule(minutes, hours, days, months, weekdays, any(map(_is_open, (fields[2], fields[4]))), place)


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None


def _is_open(field: str) -> bool:
    """Reports whether a field says ``*``; with a step it does not count as open."""
    return any(part in ("*", "?", "*/1", "?/1") for part in field.split(","))


def _values(field: str, index: int) -> frozenset[int]:
    least, most = _BOUNDS[index]
    found: set[int] = set()
    for part in filter(None, field.split(",")):
        ends, _, step = part.partition("/")
        first, dash, last = ends.partition("-")
        if first in ("*", "?"):
            start, end = least, most
        else:
            start = _number(first, index)
            end = _number(last, index) if dash else most if step else start
        found.update(range(start, end + 1, int(step or 1)))
    return frozenset(found)


def _number(text: str, index: int) -> int:
    named = _NAMES[index].get(text.lower())
    return int(text) if named is None else named
