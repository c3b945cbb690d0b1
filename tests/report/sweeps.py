"""A sweep for the tests of the page: two bands of livelocks, one of failures, and the runs in them."""

from __future__ import annotations

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


def stuck(*, violated: bool = False) -> TimedRun:
    """A run that livelocks: one reconcile repeats."""
    writes = (
        TimedWrite(1795.5, "patch GitRepository.example.com/v1 default/<b>s</b>/status", "412"),
        TimedWrite(1796.0, "update GitRepository.example.com/v1 default/<b>s</b>", "409 Conflict"),
    )
    reconcile = TimedReconcile("sources", "default/s", 1795.2, 1796.1, "Conflict: the object has been modified", writes)
    violations = (TimedViolation("ready", 12.25),) if violated else ()
    return TimedRun(7, "livelocks", 1799.9, 1200, 1199, 1200, violations, (reconcile,), repeats=True)


def swept() -> ScenarioResult:
    """A sweep over the lag of caches."""
    values = (
        SweptValue(0.0, "settles", 5, 0, 0, 0, 2.0),
        SweptValue(0.5, "heals", 1, 4, 0, 0, 14.5),
        SweptValue(1.0, "livelocks", 0, 0, 5, 0),
        SweptValue(1.5, "livelocks", 0, 0, 5, 0, None, ("ready",)),
        SweptValue(2.0, "heals", 0, 5, 0, 0, 16.25),
        SweptValue(2.5, "some livelock", 0, 2, 3, 0, 340.0),
        SweptValue(3.0, "fails", 0, 0, 0, 5),
    )
    bands = (
        Band(0.0, 0.0, "settles"),
        Band(0.5, 0.5, "heals"),
        Band(1.0, 1.5, "livelocks", stuck(violated=True), 1.0),
        Band(2.0, 2.0, "heals"),
        Band(2.5, 2.5, "some livelock", stuck(), 2.5),
        Band(3.0, 3.0, "fails", stuck(), 3.0),
    )
    return ScenarioResult("create", "violated", "lag 1 to 1.5 s: livelocks", sweep=SweepResult("lag", values, bands))


def timed() -> ScenarioResult:
    """Two runs without a sweep, one of which livelocks."""
    calm = TimedRun(0, "settles", 2.5, 4, 0, 3)
    return ScenarioResult("update", "violated", "1 of 2 runs come to rest", runs=(calm, stuck()))
