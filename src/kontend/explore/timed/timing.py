"""Durations of a run in virtual time, as a user writes them.

A duration is a number of seconds (``0.9``, ``90s``, ``15m``, ``2h``, ``20ms``) or a range from which each one is drawn
evenly (``0.5..1.5s``).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from kontend.explore.problems import BadScenario, not_among

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
#: The longest duration: a year.
_LONGEST: Final = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds, between ``low`` and ``high``.

    >>> str(Duration(0.5, 1.5)), str(Duration(2))
    ('0.5..1.5 s', '2 s')
    """

    low: float
    high: float = -1.0

    def __post_init__(self) -> None:
        if self.high < 0:
            object.__setattr__(self, "high", self.low)
        if not 0 <= self.low <= self.high <= _LONGEST:
            raise BadScenario(f"a duration of {self.low:g} to {self.high:g} s: expected 0 ≤ low ≤ high ≤ one year")

    def draw(self, generator: random.Random) -> float:
        """One of the durations."""
        return self.low + (self.high - self.low) * generator.random()

    def __str__(self) -> str:
        return f"{self.low:g} s" if self.low == self.high else f"{self.low:g}..{self.high:g} s"


def seconds(text: str) -> float:
    """The seconds that a text says.

    >>> seconds("0.9"), seconds("15m"), seconds("20ms")
    (0.9, 900.0, 0.02)
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise BadScenario(f"expected a duration such as 0.9, 20ms, 90s or 15m, found {text!r}")
    return float(match[1]) * _UNITS[match[2] or ""]


def share(text: str) -> float:
    """The share that a text says.

    >>> share("5%"), share("0.25")
    (0.05, 0.25)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%)?", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match is not None else -1.0
    if not 0 <= value <= 1:
        raise BadScenario(f"expected a share such as 5% or 0.05, found {text!r}")
    return value


def duration(text: str) -> Duration:
    """The duration that a text says; in a range the unit of the end counts for a beginning that has none.

    >>> duration("100..200ms")
    Duration(low=0.1, high=0.2)
    """
    low, dots, high = text.partition("..")
    if not dots:
        return Duration(seconds(text))
    unit = re.search(r"[a-z]*$", high.strip())
    if unit is not None and low.strip()[-1:].isdigit():
        low = low.strip() + unit[0]
    return Duration(seconds(low), seconds(high))


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of a run.

    >>> Timing(lag=Duration(0.9)).backoff(3)
    0.04
    """

    #: From a write until the cache of an instance has it.
    lag: Duration = Duration(0.0)
    #: From a call to the server until its response; the write is carried out half-way.
    call: Duration = Duration(0.005, 0.015)
    #: From the moment a request is taken from the queue until its reconcile starts.
    start: Duration = Duration(0.001)
    #: Between two actions of the user, and before the first.
    action: Duration = Duration(10.0)
    #: The first and the longest delay before a failed reconcile runs again; it doubles with each failure.
    first_retry: float = 0.005
    longest_retry: float = 1000.0
    #: No event is delivered in this time.
    frozen: tuple[float, float] = (0.0, 0.0)
    #: The share of calls to the server that fail with 500 before they are carried out, and the share of writes that are
    #: carried out and whose response is lost.
    failed: float = 0.0
    lost: float = 0.0
    #: From the start of an instance until it crashes, 0 for never; and from the crash until it has started again.
    crash: Duration = Duration(0.0)
    restart: Duration = Duration(1.0, 5.0)
    #: The end of a run that has not come to rest. Nothing fails or crashes in the second half.
    horizon: float = 1800.0
    #: Attributes of controllers that replace their own, such as ``{"sources.checkout": 2.0}``.
    attributes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in SHARES:
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise BadScenario(f"{name}={share:g}: expected a share of all calls, between 0 and 1")

    def is_faulty(self, at: float) -> bool:
        """Calls may fail and instances crash at a time."""
        return at < self.horizon / 2

    def backoff(self, failures: int) -> float:
        """The delay before the next attempt after ``failures`` earlier ones that failed."""
        return min(self.first_retry * 2.0 ** min(failures, 64), self.longest_retry)

    def delivered(self, due: float) -> float:
        """The time at which an event that would come at ``due`` is delivered."""
        begin, end = self.frozen
        return end if begin <= due < end else due

    def with_value(self, name: str, value: float) -> Timing:
        """The same durations with one of them changed, by name; ``controller.attribute`` names an attribute."""
        if "." in name:
            return replace(self, attributes={**self.attributes, name: value})
        if name not in SWEPT:
            known = not_among("parameter", name, SWEPT)
            raise BadScenario(f"{known}; or name an attribute of a controller, such as widgets.seconds")
        given: Any = Duration(value) if isinstance(getattr(self, name), Duration) else value
        return replace(self, **{name: given})


#: The shares among them, which have no unit.
SHARES: Final = ("failed", "lost")
#: The durations and shares that a sweep can go through.
SWEPT: Final = tuple(field.name for field in fields(Timing) if field.name not in ("frozen", "attributes"))
