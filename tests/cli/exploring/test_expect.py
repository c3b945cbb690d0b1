"""``kontend explore --expect`` and the progress line."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.cli.exploring.progress import ProgressLine, parts_of
from kontend.explore import check
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.search.snapshot import Snapshot

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "double_plan.py")


def test_a_suspicion_that_is_right_is_answered_with_what_avoids_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--failures", str(tmp_path), "--one-process", "--expect", "lost-update"]
    assert main(["explore", EXAMPLE, *options]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("blind: lost update occurs\nlost update: violated after 6 steps")
    assert (
        "  The nearest run that avoids it has the same first 4 steps; then\n    this run:  nodes#2: cached get"
        in printed
    )
    assert "locked: lost update does not occur in all 37 states (lag ≤ 1, 2 instances, " in printed
    assert "one_plan" not in printed


def test_a_suspicion_that_is_wrong_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--failures", str(tmp_path), "--one-process", "--scenario", "blind", "--output-format", "json"]
    assert main(["explore", EXAMPLE, *options, "--expect", "wrong-object"]) == 0
    assert json.loads(capsys.readouterr().out)["blind"]["expect"]["occurs"] is False


def test_a_search_that_was_cut_short_answers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "locked", "--one-process", "--states", "5", "--expect", "one_plan"]
    assert main(["explore", EXAMPLE, *options]) == 3
    assert "locked: one_plan was not found, which proves nothing: the limit of 5 states" in capsys.readouterr().out


def test_a_property_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--expect", "lost-updates"]) == 2
    assert "--expect: no property is called lost-updates (did you mean lost-update?)" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_line_is_overwritten_and_removed() -> None:
    now = [0.0]
    terminal = _Terminal()
    line = ProgressLine(60, stream=terminal, clock=lambda: now[0])
    for second in (1.0, 1.1, 2.0):
        now[0] = second
        line(Snapshot(1000, 2000, 30, 4, 1, 0))
    line.clear()
    shown = [part for part in terminal.getvalue().split("\r") if part]
    assert len(shown) == 3  # the second one came too soon
    assert shown[0].startswith("1,000 states, 1,000/s, 30 to expand, depth 4, 1 perturbation, ")
    assert shown[0].endswith("0 violations, 59 s left\033[K")
    assert shown[-1] == "\033[K"


def test_a_pseudo_terminal_shows_the_line_and_no_trace_of_it_in_the_results() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    scenario = Path(EXAMPLE).parent.parent / "zoo" / "cilium_42920.py"
    options = [
        "--scenario",
        "buggy",
        "--states",
        "4000",
        "--seconds",
        "300",
        "--one-process",
        "--output-format",
        "json",
    ]
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [sys.executable, "-m", "kontend.cli", "explore", str(scenario), *options, "--failures", directory],
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        out, _ = process.communicate(timeout=120)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert re.search(
        r"\rbuggy: [\d,]+ states, [\d,]+/s, [\d,]+ to expand, depth \d+, \d perturbations?, [\d,]+ MiB, \d+ violation",
        shown,
    )
    assert " s left" in shown
    assert json.loads(out)["buggy"]["states"] > 500


def test_without_a_terminal_a_long_search_writes_a_line_ever_more_seldom() -> None:
    now = [0.0]
    stream = io.StringIO()
    line = ProgressLine(name="grow", stream=stream, clock=lambda: now[0])
    for second in range(1, 100):
        now[0] = float(second)
        line(Snapshot(second * 10, 1))
    line.clear()
    shown = stream.getvalue().splitlines()
    assert [text.split(",")[0] for text in shown] == ["grow: 100 states", "grow: 300 states", "grow: 700 states"]


def test_a_short_search_writes_no_line_without_a_terminal() -> None:
    now = [0.0]
    stream = io.StringIO()
    line = ProgressLine(stream=stream, clock=lambda: now[0])
    now[0] = 9.0
    line(Snapshot(1, 1))
    line.clear()
    assert stream.getvalue() == ""


def test_a_limit_that_is_not_set_is_not_shown() -> None:
    assert ", ".join(parts_of(Snapshot(1, 1), 0.0, 0, None).values()) == "1 states, 0 violations"


@pytest.mark.parametrize("search", ["breadth", "depth", "random"])
def test_every_search_reports_its_progress(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("breadth_first", "depth_first", "walks.walks"):
        monkeypatch.setattr(f"kontend.explore.search.{module}.OFTEN", 5)
    snapshots: list[Snapshot] = []
    assert not check(scenarios_in(EXAMPLE)["blind"], search=search, walks=10, progress=snapshots.append)  # type: ignore[arg-type]
    assert snapshots[-1].states > 1
    assert snapshots[-1].violations > 0
    assert max(snapshot.depth for snapshot in snapshots) > 1
    assert max(snapshot.frontier for snapshot in snapshots) > 0


_TALLIES = """
import copy

from kontend import Api, Controller, NotFound, Request, merge_from


class Tallies(Controller):
    kind = "Tally.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            tally = await api.get(self.kind, request)
        except NotFound:
            return
        base = copy.deepcopy(tally)
        status = tally.setdefault("status", {})
        status["tries"] = status.get("tries", 0) + 1
        if status["tries"] <= 2:
            await api.status.patch(tally, merge_from(base, lock=True))
"""


def test_a_search_of_sets_of_states_reports_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kontend.explore.search.breadth_first.OFTEN", sys.maxsize)  # states one by one report nothing
    file = tmp_path / "tallies.py"
    file.write_text(_TALLIES)
    snapshots: list[Snapshot] = []
    assert check(scenarios_in(file)["controllers"], progress=snapshots.append)
    assert snapshots
    assert snapshots[0].frontier > 0
