"""``kontend explore --html``, and the pages beside the counterexamples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kontend.cli import main
from kontend.report.archive import read_archive

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "double_plan.py")


def data_of(page: Path) -> dict[str, Any]:
    """The data in a page."""
    match = re.search(
        r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_page_has_all_scenarios_with_their_verdicts_and_properties(tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    assert (
        main(["explore", EXAMPLE, "--faults", "0", "--one-process", "--failures", str(tmp_path), "--html", str(page)])
        == 1
    )
    data = data_of(page)
    assert data["title"] == "examples/double_plan.py"
    blind, locked = data["scenarios"]
    assert (blind["name"], blind["verdict"], blind["violations"]) == ("blind", "violated", [0])
    assert (locked["name"], locked["verdict"], locked["violations"]) == ("locked", "holds", [])
    assert "holds in all 15 states" in locked["sentence"]
    assert {"name": "one_plan", "state": "violated"} in blind["properties"]
    assert {"name": "one_plan", "state": "holds"} in locked["properties"]
    (violation,) = data["documents"]
    assert violation["violation"]["property"] == "lost update"
    assert violation["violation"]["also"] == ["one_plan"]


def test_the_search_is_in_the_page_and_in_the_file(tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    options = [
        "--scenario",
        "blind",
        "--faults",
        "0",
        "--one-process",
        "--failures",
        str(tmp_path),
        "--html",
        str(page),
    ]
    assert main(["explore", EXAMPLE, *options]) == 1
    exploration = data_of(page)["scenarios"][0]["exploration"]
    assert sum(exploration["depths"]) == exploration["states"] == 25
    assert exploration["depths"][0] == 1
    assert [state["unperturbed"] for state in exploration["final_states"]] == [True]
    assert exploration["final_states"][0]["count"] >= 1
    for archive in tmp_path.glob("*.zip"):
        recorded = read_archive(archive).exploration
        assert recorded is not None
        assert (recorded.states, recorded.seconds) == (25, None)


def test_each_counterexample_has_a_page_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--scenario", "blind", "--one-process", "--failures", str(tmp_path)]) == 1
    pages = {file.stem for file in tmp_path.glob("*.html")}
    assert pages == {file.stem for file in tmp_path.glob("*.zip")} != set()
    opened = re.search(r"^Open: (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert opened is not None
    assert Path(opened[1]).is_file()


def test_equal_searches_write_equal_pages(tmp_path: Path) -> None:
    for name in ("one", "two"):
        main(["explore", EXAMPLE, "--scenario", "blind", "--one-process", "--failures", str(tmp_path / name)])
    (one, *_), (two, *_) = (sorted((tmp_path / name).glob("*.html")) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_page_that_cannot_be_written_is_an_error_that_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nowhere" / "page.html"
    options = ["--scenario", "locked", "--one-process", "--html", str(missing)]
    assert main(["explore", EXAMPLE, *options]) == 2
    assert f"--html: {missing}: No such file or directory" in capsys.readouterr().err
