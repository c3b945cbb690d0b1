"""One line about what a command does now: overwritten on a terminal, written from time to time in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TextIO

from kontend.cli.command import terminal_columns

#: The width of a terminal that does not tell.
_WIDTH: Final = 120
#: Seconds between two changes of the line.
_OFTEN: Final = 0.2
#: Seconds to the first line where there is no terminal. The waits double, so that an hour adds ten lines to a log.
_FIRST: Final = 10.0


class StatusLine:
    """Shows texts in one line that is overwritten.

    Where there is no terminal, as in CI or behind a pipe, a command that takes long writes whole lines, ever more
    seldom: without them it cannot be told from one that hangs.
    """

    def __init__(self, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._wait = _OFTEN if self._stream.isatty() else _FIRST
        self._shown = clock() - (self._wait if self._stream.isatty() else 0)

    @property
    def is_due(self) -> bool:
        """The last text was shown long enough ago."""
        return self._clock() - self._shown >= self._wait

    @property
    def width(self) -> int | None:
        """The columns of the terminal, or None where lines may have any length."""
        # One column stays free: a full line makes some terminals begin the next one.
        return terminal_columns(self._stream, _WIDTH) - 1 if self._stream.isatty() else None

    def show(self, text: str) -> None:
        """Show a text, unless the line has just changed."""
        if not self.is_due:
            return
        self._shown = self._clock()
        if self._stream.isatty():
            self._stream.write(f"\r{text[: self.width]}\033[K")
        else:
            self._wait *= 2
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\033[K")
            self._stream.flush()
