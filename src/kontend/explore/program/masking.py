"""Masks counters and made-up names: generations, uids, generated uuids, stored resourceVersions and times.

They grow with every write or are fresh each time, so a run that never ends never comes back to a state. Masked, it
does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from kontend.explore.program.identities import IDENTITIES, TIMES, VERSIONS


def masked(data: bytes) -> bytes:
    """Text in which all made-up names and all times are the same."""
    return TIMES.sub(b"#", VERSIONS.sub(b"#", IDENTITIES.sub(b"#", data)))


@lru_cache(maxsize=10_000)
def relative_body(body: bytes) -> bytes:
    """An object without its generation, and with observed generations as their distance to it."""
    obj = orjson.loads(body)
    generation = (obj.get("metadata") or {}).pop("generation", None)
    if not isinstance(generation, int):
        return body
    return orjson.dumps(_relative(obj, generation), option=orjson.OPT_SORT_KEYS)


def relative_response(response: bytes) -> bytes:
    """A response with the objects in it without their generations."""
    if response[:1] != b"=" or b'"generation"' not in response:
        return response
    document = orjson.loads(response[1:])
    items = document.get("items")
    objects = items if isinstance(items, list) else [document]
    return b"".join(relative_body(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)) for obj in objects)


def _relative(value: Any, generation: int) -> Any:
    if isinstance(value, dict):
        return {
            name: generation - item
            if name == "observedGeneration" and isinstance(item, int)
            else _relative(item, generation)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_relative(item, generation) for item in value]
    return value
