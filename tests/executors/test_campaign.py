"""Campaigns on Ray and Dask: the same output as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign import scenario_files as files
from campaign.scenario_files import write_files
from kontend.cli import main

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_campaign_has_the_same_outcomes_on_an_executor(
    engine: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request.getfixturevalue(engine)
    monkeypatch.chdir(tmp_path)
    write_files(Path("all"), a=files.HOLDS, b=files.VIOLATED, c=files.REFUSED, d=files.LIMITED)
    write_files(Path("all/below"), a=files.LIMITED)  # a module of the same name
    options = ["campaign", "all", "--jobs", "2", "--one-process", "--directory", "d"]
    assert main(options) == 2
    here = capsys.readouterr().out
    assert main([*options, "--fresh", "--executor", engine]) == 2
    assert capsys.readouterr().out == here
    assert here.endswith("5 runs: 1 hold, 1 violated, 2 undecided, 1 refused\n")


def test_live_commands_run_on_this_machine(
    dask: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del dask
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("campaign: [{live: [./manager]}]")
    assert main(["campaign", "c.yaml", "--executor", "dask"]) == 2
    assert "live commands run on this machine: leave --executor dask out" in capsys.readouterr().err
