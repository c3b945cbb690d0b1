"""``kontend fix``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kontend.cli import main
from repair.samples import COUNTERS, written


def test_a_fix_is_shown_and_the_file_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path)
    assert main(["fix", str(file), "--fixes", "1"]) == 1
    assert capsys.readouterr().out.startswith('fix 1 of 1 for "lost update" of bug (verified: holds in all ')
    assert file.read_text() == COUNTERS


def test_a_fix_is_applied_and_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path)
    assert main(["fix", str(file), "--fixes", "1", "--apply"]) == 0
    assert capsys.readouterr().err == f"applied: {file}\n"
    assert main(["explore", str(file), "--one-process"]) == 0


def test_json_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(written(tmp_path)), "--fixes", "1", "--output-format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [scenario["name"] for scenario in document["scenarios"]] == ["bug", "alone"]
    assert document["violations"][0]["fixes"][0]["otherScenarios"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "nowhere.py: no such file"),
        (["."], "is a directory"),
        (["FILE", "--scenario", "bgu"], "bgu"),
        (["FILE", "--fixes", "1", "--choose", "0"], "at least 1"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safe = written(tmp_path, COUNTERS.replace("merge_from(base)", "merge_from(base, lock=True)"))
    assert main(["fix", *(str(safe) if each == "FILE" else each for each in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_imported_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(written(tmp_path, "import nothing_like_this\n"))]) == 2
    assert "nothing_like_this" in capsys.readouterr().err
