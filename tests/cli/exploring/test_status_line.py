"""The line about what a command does now."""

from __future__ import annotations

import io

from kontend.cli.status_line import StatusLine


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_last_text_and_keeps_none() -> None:
    now = [0.0]
    terminal = _Terminal()
    line = StatusLine(stream=terminal, clock=lambda: now[0])
    line.show("first")
    now[0] = 0.1
    line.show("too soon")
    now[0] = 1.0
    line.show("second")
    line.clear()
    assert terminal.getvalue() == "\rfirst\033[K\rsecond\033[K\r\033[K"


def test_a_log_gets_whole_lines_with_waits_that_double() -> None:
    now = [0.0]
    stream = io.StringIO()
    line = StatusLine(stream=stream, clock=lambda: now[0])
    for second in range(75):
        now[0] = float(second)
        line.show(f"tries fix {second}")
    line.clear()
    assert stream.getvalue().splitlines() == ["tries fix 10", "tries fix 30", "tries fix 70"]
