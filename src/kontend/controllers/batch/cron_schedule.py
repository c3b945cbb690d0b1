"""The next time at which a cron schedule is due.

Times are seconds since 1970. A schedule counts in its own time zone: an hour that a clock skips is skipped, and one
that it repeats is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kontend.kube.builtin.cron_schedule import CronFields, ScheduleError, parse_schedule
from kontend.kube.golang.time import SECOND

#: The days within which a schedule is due that ever is, such as the 30th of February.
_FAR: Final = 5 * 366


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule in a time zone."""

    fields: CronFields
    zone: tzinfo

    def next(self, after: int) -> int | None:
        """Return the first time after ``after``.

        >>> parse_cron("*/15 * * * *").next(0), parse_cron("0 6 * * mon").next(0)
        (900, 367200)
        """
        fields = self.fields
        if fields.every is not None:
            return after + max(1, fields.every // SECOND)
        day = datetime.fromtimestamp(after, self.zone).date()
        for _ in range(_FAR):
            if self._matches_day(day.month, day.day, (day.weekday() + 1) % 7):
                midnight = datetime(day.year, day.month, day.day, tzinfo=self.zone)
                start = int(midnight.timestamp())
                end = int(datetime.combine(day + timedelta(days=1), midnight.timetz()).timestamp())
                for minute in range(max(start, (after // 60 + 1) * 60), end, 60):
                    local = datetime.fromtimestamp(minute, self.zone)
                    if local.minute in fields.minutes and local.hour in fields.hours:
                        return minute
            day += timedelta(days=1)
        return None

    def _matches_day(self, month: int, day: int, weekday: int) -> bool:
        fields = self.fields
        if month not in fields.months:
            return False
        in_month, in_week = day in fields.days, weekday in fields.weekdays
        return in_month and in_week if fields.any_day else in_month or in_week


@lru_cache(maxsize=1024)
def parse_cron(text: str, zone: str = "") -> Schedule:
    """Return a schedule from its text; raises ``ScheduleError`` for one that is none or whose time zone is not
    known."""
    fields = parse_schedule(text)
    return Schedule(fields, _zone(fields.zone or zone))


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None
