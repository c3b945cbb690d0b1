"""The progress of a search: one line on a terminal, and a line from time to time in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Final, TextIO

from kontend.cli.command import terminal_columns
from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.snapshot import Snapshot

#: The width of a terminal that does not tell.
_WIDTH: Final = 120
_LEAST_IMPORTANT_FIRST: Final = ("speed", "memory", "perturbations", "depth", "frontier", "left", "violations")
#: Seconds between two changes of the line.
_OFTEN: Final = 0.2
#: Seconds to the first line where there is no terminal. The waits double, so that an hour adds ten lines to a log.
_FIRST: Final = 10.0


class ProgressLine:
    """Shows snapshots of a search in one line that is overwritten.

    Where there is no terminal, as in CI or behind a pipe, a search that takes long writes whole lines, ever more
    seldom: without them it cannot be told from one that hangs.
    """

    def __init__(
        self,
        seconds: int | None = None,
        *,
        name: str = "",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``seconds`` is the limit of the search, if it has one, and ``name`` that of the scenario."""
        self._stream = stream or sys.stderr
        self._seconds = seconds
        self._name = name
        self._clock = clock
        self._started = clock()
        self._wait = _OFTEN if self._stream.isatty() else _FIRST
        self._shown = self._started - self._wait if self._stream.isatty() else self._started

    def __call__(self, snapshot: Snapshot) -> None:
        """Show a snapshot, unless the line has just changed."""
        now = self._clock()
        if now - self._shown < self._wait:
            return
        self._shown = now
        parts = parts_of(snapshot, now - self._started, memory_in_use(), self._seconds)
        name = f"{self._name}: " if self._name else ""
        if self._stream.isatty():
            # One column stays free: a full line makes some terminals begin the next one.
            width = terminal_columns(self._stream, _WIDTH) - 1
            self._stream.write(f"\r{(name + fitting(parts, width - len(name)))[:width]}\033[K")
        else:
            self._wait *= 2
            self._stream.write(f"{name}{', '.join(parts.values())}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._stream.isatty():
            self._stream.write("\r\033[K")
            self._stream.flush()


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
