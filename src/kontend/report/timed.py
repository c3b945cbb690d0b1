"""Runs in virtual time as data for reports: single runs, and sweeps over one duration with the bands they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ``settles``: at rest, and no reconcile failed. ``heals``: at rest after failures. ``livelocks``: it still writes at
#: the horizon. ``fails``: reconciles still fail at the horizon, and write nothing.
End = Literal["settles", "heals", "livelocks", "fails"]


@dataclass(frozen=True, slots=True)
class TimedWrite:
    """A write of a reconcile: its time, the call, and its outcome (a version, ``no change``, or an error)."""

    seconds: float
    call: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TimedReconcile:
    """A reconcile, from its start to its end."""

    instance: str
    request: str
    begin: float
    #: None for a reconcile that did not end before the horizon.
    end: float | None
    error: str = ""
    writes: tuple[TimedWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class TimedViolation:
    """A property that a run violates, and the time."""

    property: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TimedRun:
    """One run."""

    seed: int
    end: End
    #: The time of the last write or failure.
    seconds: float
    reconciles: int
    failed: int
    writes: int
    violations: tuple[TimedViolation, ...] = ()
    #: The last reconciles of a run that did not come to rest: those that repeat, where some do.
    last: tuple[TimedReconcile, ...] = ()
    #: ``last`` repeats forever.
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class SweptValue:
    """The runs for one value of the swept duration."""

    value: float
    verdict: str
    settles: int
    heals: int
    livelocks: int
    fails: int
    #: The median time at which runs came to rest; None where none did.
    rest: float | None = None
    violations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring values with the same verdict."""

    first: float
    last: float
    verdict: str
    #: The first run of the band that did not come to rest or violates a property, and its value.
    example: TimedRun | None = None
    example_value: float | None = None


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A sweep: the runs for each value of one duration, in seconds."""

    parameter: str
    values: tuple[SweptValue, ...]
    bands: tuple[Band, ...]
