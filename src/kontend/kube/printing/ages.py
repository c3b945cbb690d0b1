"""Ages as the server's tables print them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

UNKNOWN = "<unknown>"


@lru_cache(maxsize=4096)
def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def age(since: str | None, now: str) -> str:
    """Return the time from one moment to another, both RFC 3339.

    >>> age("2026-01-01T00:00:00Z", "2026-01-01T00:03:05Z"), age(None, "2026-01-01T00:00:00Z")
    ('3m5s', '<unknown>')
    """
    if not since:
        return UNKNOWN
    try:
        return human_duration(int((_moment(now) - _moment(since)).total_seconds()))
    except ValueError:
        return "<invalid>"


def human_duration(seconds: int) -> str:
    """Return a duration with two or three significant figures.

    >>> [human_duration(each) for each in (-5, 119, 120, 605, 10_799, 29_000, 180_000, 86_400 * 800)]
    ['<invalid>', '119s', '2m', '10m', '179m', '8h', '2d2h', '2y70d']
    """
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours = seconds // 60, seconds // 3600
    days = hours // 24
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 24 * 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(much: int, unit: str, little: int, smaller: str) -> str:
    return f"{much}{unit}{little}{smaller}" if little else f"{much}{unit}"
