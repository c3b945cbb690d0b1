"""The live table of a campaign on a terminal: the runs that are under way, and the number of each outcome."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from kontend.campaign.report import printable, summary
from kontend.campaign.unit import Report, Unit, UnitOutcome
from kontend.explore.search.snapshot import Snapshot

#: Seconds between two changes.
_OFTEN: Final = 0.2
#: Lines of the terminal that stay free.
_SPARE: Final = 2


class Table:
    """Shows the runs of a campaign. Nothing is shown where there is no terminal."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._begun = clock()
        self._is_shown = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._titles: list[str] = []
        #: The runs that are under way: when each began, and how far it is.
        self._running: dict[int, tuple[float, Report | None]] = {}
        self._outcomes: list[UnitOutcome] = []
        self._lines = 0
        self._drawn = 0.0

    def begun(self, units: Sequence[Unit]) -> None:
        """Show these units from now on."""
        self._titles = [printable(unit.title) for unit in units]

    def started(self, at: int) -> None:
        """Show a unit that begins."""
        self._running[at] = (self._clock(), None)
        self.tick()

    def reported(self, at: int, report: Report) -> None:
        """Show how far a unit is."""
        self._running[at] = (self._running[at][0], report)

    def ended(self, at: int, outcome: UnitOutcome) -> None:
        """Count an outcome."""
        self._running.pop(at, None)
        self._outcomes.append(outcome)

    def tick(self) -> None:
        """Draw the table, unless it has just been drawn."""
        now = self._clock()
        if self._is_shown and self._titles and now - self._drawn >= _OFTEN:
            self._drawn = now
            self._write(self.lines(*self._size()))

    def clear(self) -> None:
        """Remove the table, before something else is printed."""
        if self._is_shown and self._lines:
            self._write([])
            self._drawn = 0.0

    def lines(self, width: int, height: int) -> list[str]:
        """Return the lines of the table."""
        now = self._clock()
        head = f"{summary(self._outcomes)}; {len(self._titles) - len(self._outcomes)} to go, {now - self._begun:.0f} s"
        room = max(1, height - _SPARE - 1)
        rows = list(self._running.items())
        lines = [_cut(head, width)]
        for at, (began, report) in rows[:room]:
            progress = f"{_progress(report)}{now - began:.0f} s"
            lines.append(f"  {_cut(self._title(at), width - len(progress) - 5)}  {progress}"[: width - 1])
        if len(rows) > room:
            lines[-1] = f"  ... and {len(rows) - room + 1} more"
        return lines

    def _title(self, at: int) -> str:
        return self._titles[at] if at < len(self._titles) else ""

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = shutil.get_terminal_size()
        return (size.columns or 80, size.lines or 24)

    def _write(self, lines: list[str]) -> None:
        up = f"\033[{self._lines}A" if self._lines else ""
        self._stream.write(up + "\r\033[J" + "".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._lines = len(lines)


def _cut(text: str, width: int) -> str:
    """Return a text that fits: its end says more than its middle.

    >>> _cut("operators/rollout.py:scenario lag=2", 20)
    'operators...o lag=2'
    """
    if len(text) < width:
        return text
    room = max(4, width - 4)
    return f"{text[: room - room // 2 + 1]}...{text[len(text) - room // 2 + 1 :]}"[: max(1, width - 1)]


def _progress(report: Report | None) -> str:
    if not isinstance(report, Snapshot):
        return ""
    violated = f"{report.violations} violated, " if report.violations else ""
    return f"{report.states:,} states, {violated}"
