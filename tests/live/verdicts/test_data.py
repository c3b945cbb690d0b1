"""A verdict of kontend live as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from kontend.cli import main
from kontend.live.gate.plan import plan_of
from kontend.report.archive import read_archive
from live.conftest import HERE, SUBJECTS

OPTIONS = ["--crds", str(HERE / "crds.yaml"), "--actions", str(SUBJECTS / "plain.yaml"), "--output-format", "json"]
QUICK = ["--patience", "0.5", "--observe", "0.1", "--heal", "0.1", "--jobs", "4"]
COMMAND = ["--", sys.executable, str(SUBJECTS / "plain.py")]
STATUS = "crash after update widgets.live.kontend.dev default/w status"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return orjson.loads(capsys.readouterr().out)


def test_standard_output_is_one_document_with_the_violation_its_plan_and_its_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["live", *OPTIONS, *QUICK, "--only", STATUS, "--env", "BUG=crash", *COMMAND]) == 1
    document = printed(capsys)
    (violation,) = document["violations"]
    assert violation["property"] == "diverged"
    plan = {name: value for name, value in violation["plan"].items() if name != "name"}
    assert plan_of(plan).name == violation["plan"]["name"]
    assert read_archive(Path(violation["trace"])).violation.sentence.startswith(violation["sentence"])
    assert Path(violation["page"]).is_file()
    assert violation["sentence"] in document["text"]
    assert not document["ok"]
    assert document["plans"]["carriedOut"] == document["plans"]["derived"] > 0


def test_plans_are_listed_as_plan_files_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", *OPTIONS, *QUICK, "--only", STATUS, "--list-plans", *COMMAND]) == 0
    plans = printed(capsys)["plans"]
    names = [plan.pop("name") for plan in plans]
    assert names
    assert all(name.startswith(STATUS) for name in names)
    assert [plan_of(plan).name for plan in plans] == names
