"""The progress of a search: one line on a terminal, and a line from time to time in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, TextIO

from kontend.cli.status_line import StatusLine
from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.snapshot import Snapshot

_LEAST_IMPORTANT_FIRST: Final = ("speed", "memory", "perturbations", "depth", "frontier", "left", "violations")


class ProgressLine:
    """Shows snapshots of a search in a :class:`StatusLine`."""

    def __init__(
        self,
        seconds: int | None = None,
        *,
        name: str = "",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``seconds`` is the limit of the search, if it has one, and ``name`` that of the scenario."""
        self._line = StatusLine(stream=stream, clock=clock)
        self._seconds = seconds
        self._name = f"{name}: " if name else ""
        self._clock = clock
        self._started = clock()

    def __call__(self, snapshot: Snapshot) -> None:
        """Show a snapshot, unless the line has just changed."""
        if not self._line.is_due:
            return
        parts = parts_of(snapshot, self._clock() - self._started, memory_in_use(), self._seconds)
        width = self._line.width
        if width is None:
            self._line.show(self._name + ", ".join(parts.values()))
            return
        named = self._name + fitting(parts, width - len(self._name))
        # On a narrow terminal the time that is left says more than the name.
        is_cut = parts.get("left", "") not in named
        self._line.show(fitting(parts, width) if is_cut else named)

    def clear(self) -> None:
        """Remove the line."""
        self._line.clear()


def parts_of(snapshot: Snapshot, elapsed: float, memory: int, limit: int | None) -> dict[str, str]:
    """Return the parts of the line for a snapshot, by name.

    >>> ", ".join(parts_of(Snapshot(12_000, 31_000, 800, 14, 2, 1), 4.0, 300 << 20, 60).values())
    '12,000 states, 3,000/s, 800 to expand, depth 14, 2 perturbations, 300 MiB, 1 violation, 56 s left'
    """
    parts = {"states": f"{snapshot.states:,} states"}
    if elapsed > 0:
        parts["speed"] = f"{snapshot.states / elapsed:,.0f}/s"
    if snapshot.frontier:
        parts["frontier"] = f"{snapshot.frontier:,} to expand"
    if snapshot.depth:
        parts["depth"] = f"depth {snapshot.depth}"
        parts["perturbations"] = f"{snapshot.perturbations} perturbation{'s' * (snapshot.perturbations != 1)}"
    if memory:
        parts["memory"] = f"{memory >> 20:,} MiB"
    parts["violations"] = f"{snapshot.violations} violation{'s' * (snapshot.violations != 1)}"
    if limit is not None:
        parts["left"] = f"{max(0.0, limit - elapsed):.0f} s left"
    return parts


def fitting(parts: Mapping[str, str], width: int) -> str:
    """Return the line of as many parts as a terminal has room for; the less important ones are left out first.

    >>> fitting({"states": "12,000 states", "memory": "300 MiB", "violations": "1 violation"}, 30)
    '12,000 states, 1 violation'
    """
    shown = dict(parts)
    for name in _LEAST_IMPORTANT_FIRST:
        if len(", ".join(shown.values())) <= width:
            break
        shown.pop(name, None)
    return ", ".join(shown.values())[: max(0, width)]
