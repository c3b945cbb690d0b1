"""Sweeps: the same scenario for many values of one duration, some seeds each, and the bands in which it livelocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from kontend.explore.problems import BadScenario
from kontend.explore.scenario import Scenario
from kontend.explore.timed.simulation import SimulatedRun, simulate
from kontend.explore.timed.timing import Timing, duration, seconds

_SWEEP: Final = re.compile(r"([A-Za-z_][\w.-]*)=([^/]+)/(.+)")
#: More values than this are a mistake.
_MOST_VALUES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of one parameter.

    >>> parse_sweep("lag=0..1s/0.5s").values
    (0.0, 0.5, 1.0)
    """

    parameter: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """The runs for one value."""

    value: float
    runs: tuple[SimulatedRun, ...]

    def count(self, *ends: str) -> int:
        """The number of runs with one of these ends."""
        return sum(run.end in ends for run in self.runs)

    @property
    def verdict(self) -> str:
        """``livelocks`` or ``fails`` for all runs, ``some …`` for a part; otherwise ``heals`` or ``settles``."""
        for bad in ("livelocks", "fails"):
            if self.count(bad) == len(self.runs):
                return bad
        stuck = self.count("livelocks", "fails")
        if stuck == len(self.runs):
            return "livelocks"
        if stuck:
            return "some livelock" if self.count("livelocks") else "some fail"
        return "heals" if self.count("heals") else "settles"

    @property
    def at_rest(self) -> float | None:
        """The median time at which runs came to rest."""
        times = [run.seconds for run in self.runs if run.end in ("settles", "heals")]
        return median(times) if times else None

    @property
    def violations(self) -> list[str]:
        """The names of the properties that some run violates."""
        return sorted({name for run in self.runs for name, _ in run.violations})


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring values with the same verdict."""

    first: float
    last: float
    verdict: str


def parse_sweep(text: str) -> Sweep:
    """Parse ``PARAMETER=FROM..TO/STEP``."""
    match = _SWEEP.fullmatch(text.strip())
    if match is None or ".." not in match[2]:
        raise BadScenario(f"expected PARAMETER=FROM..TO/STEP, such as lag=0..3s/0.1s, found {text!r}")
    span, step = duration(match[2]), seconds(match[3])
    if step <= 0:
        raise BadScenario(f"{text}: the step must be more than 0")
    count = int((span.high - span.low) / step + 1e-9) + 1
    if count > _MOST_VALUES:
        raise BadScenario(f"{text}: {count:,} values; at most {_MOST_VALUES:,} are possible")
    return Sweep(match[1], tuple(round(span.low + number * step, 9) for number in range(count)))


def sweep(scenario: Scenario, timing: Timing, parameters: Sweep, *, seeds: Sequence[int]) -> Iterator[Point]:
    """Run a scenario for each value and each seed."""
    for value in parameters.values:
        changed = timing.with_value(parameters.parameter, value)
        yield Point(value, tuple(simulate(scenario, changed, seed=seed) for seed in seeds))


def bands(points: Sequence[Point]) -> list[Band]:
    """Join neighbouring values that have the same verdict."""
    joined: list[Band] = []
    for point in points:
        if joined and joined[-1].verdict == point.verdict:
            joined[-1] = Band(joined[-1].first, point.value, point.verdict)
        else:
            joined.append(Band(point.value, point.value, point.verdict))
    return joined


def as_json(point: Point) -> dict[str, Any]:
    """A point as plain data."""
    ends = ("settles", "heals", "livelocks", "fails")
    return {
        "value": point.value,
        "verdict": point.verdict,
        "runs": len(point.runs),
        **{end: point.count(end) for end in ends},
        "secondsUntilRest": None if point.at_rest is None else round(point.at_rest, 3),
        "violations": point.violations,
    }
