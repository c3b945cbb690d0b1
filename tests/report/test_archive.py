"""Trace documents as files."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.report.archive import BadTrace, read_archive, write_archive
from report.test_document import document


def test_a_document_is_read_back_from_its_file(tmp_path: Path) -> None:
    assert read_archive(write_archive(tmp_path, document())) == document()


def test_the_same_violation_gets_the_same_name_and_bytes(tmp_path: Path) -> None:
    first = write_archive(tmp_path / "a", document())
    again = write_archive(tmp_path / "b", document())
    assert (first.name, first.read_bytes()) == (again.name, again.read_bytes())
    other = replace(document(), schedule=(["act", -1, None, 0],))
    assert write_archive(tmp_path, other).name != first.name


def test_a_property_may_have_any_name(tmp_path: Path) -> None:
    strange = replace(document(), violation=replace(document().violation, property="../a b/<lambda>"))
    path = write_archive(tmp_path, strange)
    assert path.parent == tmp_path
    assert read_archive(path) == strange


def test_other_files_are_refused_with_their_name(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("nothing")
    with pytest.raises(BadTrace, match=r"x\.zip: not a readable archive: .*; expected a counterexample"):
        read_archive(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(BadTrace, match=r"y\.zip: not a trace of kontend: it has no trace\.json"):
        read_archive(tmp_path / "y.zip")
