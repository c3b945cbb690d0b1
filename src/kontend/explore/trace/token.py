"""Tokens: a counterexample as one word that can be put into a test.

The word is base64 (for URLs) of zlib of JSON: the property, the bounds that decide which steps there are, the schedule.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.explore.model.step import Step
from kontend.explore.problems import BadScenario
from kontend.explore.scenario import STEP_BOUNDS, Bounds
from kontend.explore.trace.schedule import dump_schedule, load_schedule

#: A token never expands to more than this.
_LARGEST: Final = 10_000_000
#: Older tokens end their bounds before those of faults, because there were none.
_WITHOUT_FAULTS: Final = 3


class BadToken(ValueError):
    """Text that is not a token of a counterexample."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The content of a token."""

    property: str
    schedule: tuple[Step, ...]
    #: Values by the names of :data:`STEP_BOUNDS`.
    bounds: Mapping[str, Any]


def token_of(name: str, schedule: Sequence[Step], bounds: Bounds) -> str:
    """The token of a violation of a property that was found within some bounds."""
    document = [name, list(bounds.of_steps().values()), dump_schedule(schedule)]
    return base64.urlsafe_b64encode(zlib.compress(orjson.dumps(document), 9)).rstrip(b"=").decode()


def read_token(token: str) -> Recorded:
    """The content of a token. Raises :class:`BadToken`."""
    try:
        text = token.strip().encode("ascii")
        packed = base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        inflate = zlib.decompressobj()
        data = inflate.decompress(packed, _LARGEST)
        if not inflate.eof:
            raise ValueError("it is cut off, or too large")
        name, values, schedule = orjson.loads(data)
        if len(values) == _WITHOUT_FAULTS:
            values = [*values, *(getattr(Bounds(faults=0), name) for name in STEP_BOUNDS[_WITHOUT_FAULTS:])]
        if len(values) == len(STEP_BOUNDS) - 1:
            values = [*values, 0]
        bounds = dict(zip(STEP_BOUNDS, values, strict=True))
        recorded = Recorded(name, load_schedule(schedule), bounds)
        Bounds(**bounds)
    except (binascii.Error, zlib.error, AttributeError, TypeError, ValueError) as error:
        why = error.message if isinstance(error, BadScenario) else error
        shown = token if isinstance(token, str) and len(token) <= 40 else f"{str(token)[:40]}..."
        raise BadToken(
            f"{shown!r} is not a token of a counterexample: {why}; copy all of what `kontend explore` printed"
        ) from error
    if not isinstance(name, str):
        raise BadToken(f"{token!r} is not a token of a counterexample: it names no property")
    return recorded
