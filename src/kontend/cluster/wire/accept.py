"""The ``Accept`` header of a request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple


class MediaRange(NamedTuple):
    """One media type that a client accepts, with its parameters (``q`` included)."""

    type: str
    parameters: Mapping[str, str]


@lru_cache(maxsize=1024)
def parse_accept(accept: str) -> tuple[MediaRange, ...]:
    """Parse an ``Accept`` header; the most preferred media type comes first.

    >>> [media.type for media in parse_accept("application/yaml;q=0.1, application/json;as=Table;v=v1")]
    ['application/json', 'application/yaml']
    """
    media = []
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        pairs = (parameter.partition("=") for parameter in parameters if "=" in parameter)
        if media_type:
            media.append(MediaRange(media_type.lower(), {name.strip(): value.strip() for name, _, value in pairs}))
    return tuple(sorted(media, key=_preference))


def _preference(media: MediaRange) -> float:
    try:
        return -float(media.parameters.get("q", "1"))
    except ValueError:
        return -1.0
