"""``kontend audit --confirm`` and ``kontend explore`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kontend.cli import main

_OPERATOR = '''"""A controller with a status patch."""
import copy

from kontend import NotFound
from kontend.runtime.controller import Controller
from kontend.runtime.client.patches import merge_from


class Widgets(Controller):
    kind = "Widget.example.com/v1"

    async def reconcile(self, request, api):
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        if (widget.get("status") or {}).get("plan"):
            return
        base = copy.deepcopy(widget)
        widget["status"] = {"plan": {"id": api.uuid()}}
        await api.status.patch(widget, merge_from(base, lock=LOCK))
'''


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a blind writer, in the current directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "operator_blind.py"
    file.write_text(_OPERATOR.replace("LOCK", "False"))
    return file


def test_a_finding_that_is_reproduced_is_confirmed_with_its_replay(
    operator: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--confirm", "--output-format", "json", operator.name]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["rule"] == "status-patch-without-lock"
    assert main(["replay", finding["confirmed"]]) == 1
    assert "reproduced: lost update\n" in capsys.readouterr().out


def test_a_locked_writer_has_nothing_to_confirm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "operator_locked.py").write_text(_OPERATOR.replace("LOCK", "True"))
    assert main(["audit", "--confirm", "operator_locked.py"]) == 0
    assert main(["explore", "operator_locked.py", "--one-process"]) == 0


def test_explore_prints_the_violation_and_how_to_replay_it(operator: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", operator.name]) == 1
    printed = capsys.readouterr().out
    assert "lost update: violated after 6 steps (shortest, 1 perturbation, found " in printed
    assert "Replay: kontend replay failures/lost-update-" in printed


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["explore", "nothing.py"], "nothing.py: no such file"),
        (["replay", "nothing.zip"], "nothing.zip: No such file or directory"),
        (["explore", "operator_blind.py", "--scenario", "x"], "no scenario is called x; there are: controllers"),
    ],
)
def test_usage_errors_are_printed(
    operator: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    assert operator.exists()
    assert main(argv) == 2
    assert message in capsys.readouterr().err
