"""Values in sentences."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kontend.explore.explain.fields import ABSENT
from kontend.explore.program.identities import IDENTITIES

_LONGEST: Final = 48


def shown(value: Any) -> str:
    """A value as JSON, cut where it is long; of uids and uuids only the start.

    >>> shown({"a": 1}), shown("x" * 60), shown("0051a5a1-0000-4000-8000-00000051a5a1")
    ('{"a":1}', '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…', '"0051a5a1…"')
    """
    if value is ABSENT or value is None:
        return "absent"
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    text = IDENTITIES.sub(lambda found: found[0][:8] + "…".encode(), raw).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
