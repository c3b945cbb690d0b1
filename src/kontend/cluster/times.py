"""Time as objects carry it: RFC 3339, in whole seconds, UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def rfc3339(seconds: int) -> str:
    """Seconds since 1970 as text.

    >>> rfc3339(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=4096)
def seconds(text: str) -> int:
    """Return the other way round.

    >>> seconds("1970-01-01T00:01:00Z")
    60
    """
    return int(datetime.fromisoformat(text).timestamp())
