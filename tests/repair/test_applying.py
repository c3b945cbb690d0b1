"""Fixes that are written into files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.remedies import Remedy
from kontend.repair.applying import NotApplied, write_fix
from kontend.repair.candidates import Candidate
from kontend.runtime.user_sources import UserSource


def candidate(file: Path, text: str = "a = 1\n") -> Candidate:
    file.write_text(text)
    file.chmod(0o640)
    return Candidate(UserSource("m", str(file), text), (Change(Remedy.LOCK_PATCH, 1, (Edit(4, 5, "2"),)),))


def never(question: str) -> bool:
    del question
    return False


def test_a_fix_is_written_and_the_mode_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    write_fix(candidate(file), tmp_path, force=False, ask=never)
    assert file.read_text() == "a = 2\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_that_has_changed_since_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    fix = candidate(file)
    file.write_text("a = 1  # mine\n")
    with pytest.raises(NotApplied, match="is not what was explored"):
        write_fix(fix, tmp_path, force=True, ask=never)
    assert file.read_text() == "a = 1  # mine\n"


def test_a_file_outside_of_the_project_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with pytest.raises(NotApplied, match="outside of the project"):
        write_fix(candidate(tmp_path / "m.py"), tmp_path / "project", force=True, ask=never)
    assert (tmp_path / "m.py").read_text() == "a = 1\n"


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    fix = candidate(tmp_path / "m.py")
    link = tmp_path / "project" / "m.py"
    link.symlink_to(tmp_path / "m.py")
    fix = Candidate(fix.source._replace(file=str(link)), fix.changes)
    with pytest.raises(NotApplied, match="outside of the project"):
        write_fix(fix, tmp_path / "project", force=True, ask=never)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    fix = candidate(file)
    file.chmod(0o440)
    with pytest.raises(NotApplied, match="read-only"):
        write_fix(fix, tmp_path, force=True, ask=never)


def test_uncommitted_changes_are_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    fix = candidate(file)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(NotApplied, match="uncommitted changes: commit them, or add --force"):
        write_fix(fix, tmp_path, force=False, ask=never)
    write_fix(fix, tmp_path, force=False, ask=lambda question: "uncommitted changes" in question)
    assert file.read_text() == "a = 2\n"
