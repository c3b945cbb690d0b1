"""``kontend report``: pages and timelines from traces, without running anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.report.archive import write_archive
from report.documents import hostile, lost_update, never_settles


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    """Two traces."""
    return [str(write_archive(tmp_path, document)) for document in (lost_update(), never_settles())]


def test_traces_become_one_page(
    traces: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *traces]) == 0
    assert capsys.readouterr().out == "report.html\n"
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>examples/ports.py</title>" in html
    assert "never settles" in html
    assert main(["report", *traces, "--html", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_text(encoding="utf-8") == html


def test_a_hostile_trace_becomes_a_harmless_page(tmp_path: Path) -> None:
    archive = write_archive(tmp_path, hostile())
    assert main(["report", str(archive), "--html", str(tmp_path / "page.html")]) == 0
    assert "<img" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_traces_become_a_timeline(traces: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *traces, "--perfetto"]) == 0
    assert json.loads(capsys.readouterr().out)["traceEvents"]


def test_only_one_form_can_be_chosen(traces: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *traces, "--perfetto", "--markdown"]) == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_an_error_that_names_the_file(
    traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "nowhere" / "page.html"
    assert main(["report", *traces, "--html", str(target)]) == 2
    assert f"{target}: No such file or directory" in capsys.readouterr().err
