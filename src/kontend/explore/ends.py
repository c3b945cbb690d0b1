"""When two ends are the same: up to what only tells how often something happened on the way.

Uuids that were drawn are called by the order in which they are met. Generations count writes, so they are left out;
what is kept is how far an observed generation is behind.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson
import xxhash

from kontend.cluster.state import State, Version
from kontend.explore.behaviour import DRAWN
from kontend.kube.meta.names import Key

_GENERATION = re.compile(rb'"generation":\d+')


def end_key(state: State) -> bytes:
    """What a settled state is."""
    seen: dict[bytes, bytes] = {}

    def renamed(match: re.Match[bytes]) -> bytes:
        return seen.setdefault(match[0], b"uuid-%d" % len(seen))

    lines = [
        f"{kind} {Key(*key)} ".encode() + without_counts(version.body)
        for kind in state.kinds
        for key, version in state.objects(kind).items()
    ]
    # Sorted by what they are without the uuids, so that the first to be met is the same one in every such state.
    lines.sort(key=lambda line: (DRAWN.sub(b"", line), line))
    return xxhash.xxh3_128_digest(b"\n".join(DRAWN.sub(renamed, line) for line in lines))


@lru_cache(maxsize=10_000)
def without_counts(body: bytes) -> bytes:
    """An object without its generation, and with observed generations as how far they are behind."""
    obj = orjson.loads(body)
    generation = (obj.get("metadata") or {}).pop("generation", None)
    if not isinstance(generation, int):
        return body
    return orjson.dumps(_relative(obj, generation), option=orjson.OPT_SORT_KEYS)


def generation(version: Version) -> bytes:
    """The generation of an object, as it is written."""
    found = _GENERATION.search(version.body)
    return found[0] if found is not None else b""


def _relative(value: Any, generation: int) -> Any:
    """With observed generations as how far they are behind."""
    if isinstance(value, dict):
        return {
            name: generation - each
            if name == "observedGeneration" and isinstance(each, int)
            else _relative(each, generation)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_relative(each, generation) for each in value]
    return value
