"""Runs and sweeps in virtual time, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.explore.timed.instance import Reconcile
from kontend.explore.timed.simulation import SimulatedRun
from kontend.explore.timed.sweep import Point, Sweep, bands
from kontend.explore.timed.timing import SHARES

_BAR: Final = 20
#: Reconciles of a cycle, and writes of each, that are shown.
_MOST_SHOWN: Final = 12


def run_text(run: SimulatedRun, *, verbose: bool = False) -> str:
    """The end of a run, with the reconciles that repeat where it did not come to rest."""
    count = f"{len(run.reconciles)} reconciles, {run.writes} writes"
    if run.end in ("settles", "heals"):
        failed = sum(bool(reconcile.error) for reconcile in run.reconciles)
        after = f" after {failed} failed reconcile{'s' * (failed != 1)}" if failed else ""
        lines = [f"{run.end}{after}, at {run.seconds:.3f} s (seed {run.seed}): {count}"]
    else:
        what = "still writes" if run.end == "livelocks" else "still fails, and writes nothing"
        lines = [f"{run.end}: {what} at {run.seconds:.3f} s (seed {run.seed}): {count}"]
    lines += [f"  violated: {name}, at {at:.3f} s" for name, at in run.violations]
    cycle = run.cycle
    if cycle:
        repeated = "this reconcile repeats" if len(cycle) == 1 else f"these {len(cycle)} reconciles repeat"
        lines.append(f"  {repeated}:")
    shown = run.reconciles if verbose else cycle or run.reconciles[-2:] if run.is_bad else ()
    for reconcile in shown:
        lines += [f"  {line}" for line in _reconcile(reconcile, verbose=verbose)]
    return "\n".join(lines)


def sweep_text(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table with a line for each value, a bar for the runs that did not come to rest, and the bands."""
    unit = "" if sweep.parameter in SHARES else " s"
    width = max(len(sweep.parameter), *(len(f"{point.value:g}{unit}") for point in points))
    lines = [f"{sweep.parameter:>{width}}  verdict        at rest after  runs that did not come to rest"]
    for point in points:
        stuck = point.count("livelocks", "fails")
        rest = "-" if point.at_rest is None else f"{point.at_rest:.1f} s"
        bar = "█" * round(_BAR * stuck / len(point.runs))
        broken = f"  violated: {', '.join(point.violations)}" if point.violations else ""
        value = f"{point.value:g}{unit}"
        line = f"{value:>{width}}  {point.verdict:<13}  {rest:>13}  {bar:<{_BAR}} {stuck}/{len(point.runs)}{broken}"
        lines.append(line.rstrip())
    lines.append("")
    for band in bands(points):
        span = f"{band.first:g}" if band.first == band.last else f"{band.first:g} to {band.last:g}"
        lines.append(f"{sweep.parameter} {span}{unit}: {band.verdict}")
    return "\n".join(lines)


def _reconcile(reconcile: Reconcile, *, verbose: bool) -> list[str]:
    end = "did not end" if reconcile.end < 0 else reconcile.error or "done"
    lines = [f"{reconcile.begin:9.3f} s  {reconcile.instance} reconciles {reconcile.request}: {end}"]
    writes = reconcile.writes if verbose else reconcile.writes[:_MOST_SHOWN]
    for at, text, outcome in writes:
        written = f"version {outcome}" if outcome.isdigit() else outcome
        lines.append(f"{at:9.3f} s    {text}: {written}")
    if len(writes) < len(reconcile.writes):
        lines.append(f"{'':11}    and {len(reconcile.writes) - len(writes)} more calls")
    return lines
