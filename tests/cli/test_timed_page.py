"""``kontend explore --timed --html``: runs and sweeps in virtual time as a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.test_explore_page import data_of
from kontend.cli import main

FLUX = str(Path(__file__).parents[2] / "examples" / "flux" / "source_controller.py")


def test_a_sweep_is_written_with_its_bands_and_an_example_of_each_bad_one(tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    options = ["--timed", "--scenario", "create", "--sweep", "lag=0..1s/0.5s", "--seeds", "1", "--html", str(page)]
    assert main(["explore", FLUX, *options]) == 1
    data = data_of(page)
    assert data["title"] == "examples/flux/source_controller.py"
    (scenario,) = data["scenarios"]
    assert scenario["verdict"] == "violated"
    assert "lag 1 s: livelocks (3 values, 1 run each)" in scenario["sentence"]
    assert "a sample, not every run" in scenario["sentence"]
    sweep = scenario["sweep"]
    assert [(value["value"], value["verdict"]) for value in sweep["values"]] == [
        (0.0, "settles"),
        (0.5, "settles"),
        (1.0, "livelocks"),
    ]
    good, bad = sweep["bands"]
    assert (good["first"], good["last"], good["verdict"], good["example"]) == (0.0, 0.5, "settles", None)
    assert (bad["first"], bad["last"], bad["verdict"], bad["example_value"]) == (1.0, 1.0, "livelocks", 1.0)
    assert bad["example"]["repeats"]
    assert bad["example"]["last"][0]["writes"]


def test_runs_without_a_sweep_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "runs.html"
    assert main(["explore", FLUX, "--timed", "--scenario", "create", "--seeds", "2", "--html", str(page)]) == 0
    assert "settles" in capsys.readouterr().out
    (scenario,) = data_of(page)["scenarios"]
    assert scenario["verdict"] == "settles"
    assert scenario["sentence"].startswith("2 of 2 runs come to rest")
    assert [run["end"] for run in scenario["runs"]] == ["settles", "settles"]


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "nowhere" / "page.html"
    assert main(["explore", FLUX, "--timed", "--scenario", "create", "--seeds", "1", "--html", str(page)]) == 2
    assert f"--html: {page}: No such file or directory" in capsys.readouterr().err
