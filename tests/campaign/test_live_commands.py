"""Live commands in a campaign: outcomes, traces that replay, and no process that is left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from kontend.cli import main
from kontend.report.archive import read_archive

LIVE = Path(__file__).parents[1] / "live"


def test_a_live_command_has_an_outcome_and_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = {
        "live": [sys.executable, str(LIVE / "subjects" / "plain.py")],
        "options": {
            "crds": str(LIVE / "crds.yaml"),
            "actions": str(LIVE / "subjects" / "plain.yaml"),
            "patience": 0.5,
            "observe": 0.1,
            "heal": 0.1,
            "only": "crash after update widgets.live.kontend.dev default/w status",
            "env": ["BUG=crash"],
        },
    }
    Path("c.yaml").write_bytes(orjson.dumps({"campaign": [entry]}))
    assert main(["campaign", "c.yaml", "--json", "report.json"]) == 1
    (result,) = orjson.loads(Path("report.json").read_bytes())["results"]
    assert result["status"] == "violated"
    (violation,) = result["violations"]
    assert violation["property"] == "diverged"
    assert read_archive(Path(violation["replay"])).violation.property == "diverged"
    first = capsys.readouterr().out
    assert first.startswith("violated: live ")
    assert main(["campaign", "c.yaml"]) == 1  # known from the journal
    assert capsys.readouterr().out == first
