"""--watch: an audit now, and one after each change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.cli.auditing import watching


def _steps(*steps: object) -> Iterator[None]:
    """Run one step at each pause, then interrupt."""
    for step in steps:
        if callable(step):
            step()
        yield
    raise KeyboardInterrupt


def test_a_change_of_a_source_file_audits_again_and_other_files_do_not(tmp_path: Path) -> None:
    source, other = tmp_path / "a.go", tmp_path / "notes.txt"
    source.write_text("package a\n")
    audits: list[str] = []
    steps = _steps(
        lambda: other.write_text("x"),
        lambda: source.write_text("package longer\n"),
        lambda: None,
        lambda: (tmp_path / "b.go").write_text("package a\n"),
        lambda: source.unlink(),
    )
    watching.watch([str(tmp_path)], lambda: audits.append("audit"), lambda: next(steps))
    assert len(audits) == 4


def test_the_command_prints_each_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    steps = _steps(lambda: (tmp_path / "a.py").write_text("x = 12\n"))

    def pause(_: float) -> None:
        next(steps)

    monkeypatch.setattr(time, "sleep", pause)
    assert main(["audit", str(tmp_path), "--isolated", "--watch"]) == 0
    assert capsys.readouterr().out.count("in 1 file") == 2
