"""``kontend audit --fix --verify`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.cli import main

COUNTERS = Path(__file__).parents[3] / "examples" / "double_plan.py"


def test_a_fix_is_verified_by_a_scenario_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    text = COUNTERS.read_text().replace("merge_from(base, lock=self.lock)", "merge_from(base)")
    file = tmp_path / "nodes.py"
    file.write_text(text)
    assert main(["audit", "--fix", "--verify", "nodes.py"]) == 0
    shown = capsys.readouterr().out
    assert "nodes.py:57: verified: repairs lost update" in shown
    assert "merge_from(base, lock=True)" in file.read_text()


def test_verify_without_fix_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--verify", "."]) == 2
    assert "--verify goes with --fix" in capsys.readouterr().err
