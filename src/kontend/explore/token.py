"""A counterexample as a token: one word that can be put into a test.

The word is base64 (of URLs) of zlib of JSON: the property, the bounds that decide which moves there are, and the moves.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kontend.explore.choices import BOUNDS, read, written
from kontend.explore.moves import Move
from kontend.explore.scenario import BadScenario, Bounds


class BadToken(ValueError):
    """Text that is no token of ours."""


@dataclass(frozen=True, slots=True)
class Story:
    """What a token says."""

    property: str
    choices: tuple[Move, ...]
    #: Values by the names of :data:`BOUNDS`.
    bounds: Mapping[str, Any]


def token_of(name: str, choices: Sequence[Move], bounds: Bounds) -> str:
    """The token of a violation of a property that was found within some bounds."""
    document = [name, [getattr(bounds, each) for each in BOUNDS], written(choices)]
    return base64.urlsafe_b64encode(zlib.compress(orjson.dumps(document), 9)).rstrip(b"=").decode()


def read_token(token: str) -> Story:
    """What a token says."""
    try:
        text = token.strip().encode("ascii")
        data = zlib.decompress(base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True))
        name, values, choices = orjson.loads(data)
        bounds = dict(zip(BOUNDS, values, strict=True))
        story = Story(name, read(choices), bounds)
        Bounds(**bounds)
    except (binascii.Error, zlib.error, AttributeError, TypeError, ValueError) as error:
        why = error.message if isinstance(error, BadScenario) else error
        shown = token if isinstance(token, str) and len(token) <= 40 else f"{str(token)[:40]}..."
        raise BadToken(
            f"{shown!r} is no token of a counterexample: {why}; copy all of what `kontend explore` printed"
        ) from error
    if not isinstance(name, str):
        raise BadToken(f"{token!r} is no token of a counterexample: it names no property")
    return story
