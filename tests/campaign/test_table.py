"""The live table."""

from __future__ import annotations

import io

from kontend.campaign.table import Table
from kontend.campaign.unit import Exploration, UnitOutcome
from kontend.explore.search.snapshot import Snapshot


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _units(count: int) -> list[Exploration]:
    return [Exploration(f"directory/file{at}.py:scenario\x1b[2J lag={at}", "f", "s") for at in range(count)]


def test_rows_fit_into_the_terminal() -> None:
    table = Table(_Terminal(), clock=lambda: 5.0)
    table.begun(_units(30))
    for at in range(20):
        table.started(at)
        table.reported(at, Snapshot(1_000_000, 5, violations=at))
    table.ended(0, UnitOutcome("violated", ""))
    for width, height in ((20, 5), (80, 24), (200, 60), (1, 1)):
        lines = table.lines(width, height)
        assert len(lines) <= max(2, height - 2)
        assert all(len(line) < max(2, width) for line in lines[: 1 if width < 30 else None])
        assert not any("\x1b" in line for line in lines)
    lines = table.lines(80, 60)
    assert lines[0] == "1 run: 1 violated; 29 to go, 0 s"
    assert " ".join(lines[1].split()) == "directory/file1.py:scenario[2J lag=1 1,000,000 states, 1 violated, 0 s"


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    table = Table(stream)
    table.begun(_units(2))
    table.started(0)
    table.tick()
    table.clear()
    assert stream.getvalue() == ""
