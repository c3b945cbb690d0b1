"""Runs and sweeps in virtual time as parts of reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.explore.timed.instance import Reconcile
from kontend.explore.timed.simulation import SimulatedRun
from kontend.explore.timed.sweep import Point, Sweep, bands
from kontend.report.page.contents import ScenarioResult
from kontend.report.timed import (
    Band,
    SweepResult,
    SweptValue,
    TimedReconcile,
    TimedRun,
    TimedViolation,
    TimedWrite,
)

#: Reconciles that are shown of a run that did not come to rest where none repeat, and writes of each.
_LAST: Final = 2
_WRITES: Final = 50


def timed_result(name: str, runs: Sequence[SimulatedRun]) -> ScenarioResult:
    """Runs of a scenario, for the page."""
    stuck = sum(run.end in ("livelocks", "fails") for run in runs)
    violated = sum(bool(run.violations) for run in runs)
    rest = len(runs) - stuck
    parts = [f"{rest} of {len(runs)} runs come to rest"]
    if violated:
        parts.append(f"{violated} violate a property")
    bad = any(run.is_bad for run in runs)
    return ScenarioResult(
        name, "violated" if bad else "settles", _sampled("; ".join(parts)), runs=tuple(run_result(run) for run in runs)
    )


def swept_result(name: str, sweep: Sweep, points: Sequence[Point]) -> ScenarioResult:
    """A sweep over a scenario, for the page."""
    result = sweep_result(sweep, points)
    bad = [band for band in result.bands if band.example is not None]
    where = [f"{span(band.first, band.last)}: {band.verdict}" for band in bad]
    if not bad:
        where = ["every run comes to rest"]
    runs = len(points[0].runs) if points else 0
    sentence = f"{sweep.parameter} {'; '.join(where)} ({len(points)} values, {runs} run{'s' * (runs != 1)} each)"
    return ScenarioResult(name, "violated" if bad else "settles", _sampled(sentence), sweep=result)


def sweep_result(sweep: Sweep, points: Sequence[Point]) -> SweepResult:
    """A sweep as data, with an example for each band in which some run went wrong."""
    joined = []
    for band in bands(points):
        inside = [point for point in points if band.first <= point.value <= band.last]
        bad = next(((point, run) for point in inside for run in point.runs if run.is_bad), None)
        example = (run_result(bad[1]), bad[0].value) if bad is not None else (None, None)
        joined.append(Band(band.first, band.last, band.verdict, *example))
    values = tuple(
        SweptValue(
            point.value,
            point.verdict,
            point.count("settles"),
            point.count("heals"),
            point.count("livelocks"),
            point.count("fails"),
            None if point.at_rest is None else round(point.at_rest, 3),
            tuple(point.violations),
        )
        for point in points
    )
    return SweepResult(sweep.parameter, values, tuple(joined))


def run_result(run: SimulatedRun) -> TimedRun:
    """A run as data."""
    shown = run.cycle or (run.reconciles[-_LAST:] if run.is_bad else ())
    return TimedRun(
        run.seed,
        run.end,
        round(run.seconds, 3),
        len(run.reconciles),
        sum(bool(reconcile.error) for reconcile in run.reconciles),
        run.writes,
        tuple(TimedViolation(name, round(at, 3)) for name, at in run.violations),
        tuple(_reconcile(reconcile) for reconcile in shown),
        bool(run.cycle),
    )


def span(first: float, last: float) -> str:
    """A band of values in words.

    >>> span(0.5, 0.5), span(0.5, 1.25)
    ('0.5 s', '0.5 to 1.25 s')
    """
    return f"{first:g} s" if first == last else f"{first:g} to {last:g} s"


def _sampled(sentence: str) -> str:
    return f"{sentence}. Durations are drawn from seeds: this is a sample, not every run."


def _reconcile(reconcile: Reconcile) -> TimedReconcile:
    return TimedReconcile(
        reconcile.instance,
        str(reconcile.request),
        round(reconcile.begin, 3),
        None if reconcile.end < 0 else round(reconcile.end, 3),
        reconcile.error,
        tuple(TimedWrite(round(at, 3), call, outcome) for at, call, outcome in reconcile.writes[:_WRITES]),
    )
