"""Traces from files run again: from any directory, and after changes of the code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from explore.widgets import Widgets, double_plan
from kontend.explore import BadScenario, check
from kontend.explore.explain.explanation import Origin, explained
from kontend.explore.model.model import Model
from kontend.explore.model.replayed import replay
from kontend.explore.replay.files import locate, replay_document
from kontend.explore.replay.following import Followed
from kontend.report.archive import read_archive, write_archive

RACE = double_plan(Widgets(), lag=0, concurrent=2)
SOURCE = (
    "from explore.widgets import LockedWidgets, Widgets, double_plan\n"
    "race = double_plan(Widgets(), lag=0, concurrent=2)\n"
)


def _saved(project: Path, name: str = "one_plan") -> Path:
    """The file of a counterexample, beside a scenario in ``scenarios/race.py``."""
    source = project / "scenarios" / "race.py"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE)
    (project / "pyproject.toml").touch()
    (violation,) = [violation for violation in check(RACE).violations if violation.property == name]
    return write_archive(project / "failures", explained(RACE, violation, Origin(source, "race"), strict=True))


def _replayed(file: Path) -> Followed:
    document = read_archive(file)
    return replay_document(file, document, locate(document, file))


def test_a_schedule_replays_to_the_same_trace() -> None:
    for violation in check(RACE).violations:
        texts = [transition.line for transition in replay(Model(RACE), violation.schedule)]
        assert texts == list(violation.trace)


def test_a_saved_counterexample_runs_again_from_its_file(tmp_path: Path) -> None:
    result = _replayed(_saved(tmp_path))
    assert (result.reproduced, result.changed) == (True, "")
    assert "one_plan" in {violation.property for violation in result.verdict.violations}


def test_a_project_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _saved(tmp_path / "here")
    assert read_archive(file).source.file == "scenarios/race.py"
    moved = (tmp_path / "here").rename(tmp_path / "there")
    # Beside the trace, from any directory:
    monkeypatch.chdir("/")
    assert _replayed(moved / "failures" / file.name).reproduced
    # Below the current directory, or one above it, wherever the trace is:
    away = (moved / "failures" / file.name).rename(tmp_path / "downloaded.zip")
    monkeypatch.chdir(moved / "scenarios")
    assert _replayed(away).reproduced


def test_a_source_that_is_not_there_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _saved(tmp_path / "project")
    away = file.rename(tmp_path / "downloaded.zip")
    monkeypatch.chdir(tmp_path)
    document = read_archive(away)
    with pytest.raises(BadScenario, match=r"race\.py is neither here nor beside the trace; say where it is: --file"):
        locate(document, away)
    elsewhere = tmp_path / "other.py"
    elsewhere.write_text(SOURCE)
    assert replay_document(away, document, locate(document, away, elsewhere)).reproduced
    with pytest.raises(BadScenario, match=r"none\.py: no such file"):
        locate(document, away, tmp_path / "none.py")


def test_a_bug_that_is_fixed_is_not_reproduced(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    source = tmp_path / "scenarios" / "race.py"
    source.write_text(SOURCE.replace("(Widgets()", "(LockedWidgets()"))
    result = _replayed(file)
    assert not result.reproduced
    assert result.why == "step 6 now gets 409 Conflict"


def test_a_step_that_does_not_happen_any_more_is_named(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    source = tmp_path / "scenarios" / "race.py"
    source.write_text(
        SOURCE
        + "class Idle(Widgets):\n"
        + "    name = 'widgets'\n"
        + "    async def reconcile(self, request, api):\n"
        + "        await api.get(self.kind, request)\n"
        + "race = double_plan(Idle(), lag=0, concurrent=2)\n"
    )
    result = _replayed(file)
    assert not result.reproduced
    assert result.why == "step 5 (widgets#1: patch Widget.example.com/v1 default/w/status) does not happen any more"


def test_a_bug_is_reproduced_although_a_step_has_changed(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    document = read_archive(file)
    steps = (replace(document.steps[0], text="widgets#1 starts otherwise"), *document.steps[1:])
    result = replay_document(file, replace(document, steps=steps), locate(document, file))
    assert result.reproduced
    assert result.changed == "step 1 is now 'widgets#1 starts default/w', not 'widgets#1 starts otherwise'"


def test_a_response_that_has_changed_is_told_from_a_call_that_has(tmp_path: Path) -> None:
    """By what was recorded of them, not by the wording of the step: only the second call is another one."""
    file = _saved(tmp_path)
    document = read_archive(file)
    at, step = next((at, step) for at, step in enumerate(document.steps) if step.call and step.call.verb == "patch")
    assert step.call is not None
    for before, changed in (
        (replace(step, text="an older wording", response="409 Conflict"), "now succeeds, without 409 Conflict"),
        (
            replace(step, text=f"{step.text}: 409 Conflict", call=replace(step.call, name="v")),
            f"is now {step.text!r}, not '{step.text}: 409 Conflict'",
        ),
    ):
        steps = (*document.steps[:at], before, *document.steps[at + 1 :])
        result = replay_document(file, replace(document, steps=steps), locate(document, file))
        assert result.changed == f"step {step.number} {changed}"


def test_a_scenario_that_is_gone_is_named(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    (tmp_path / "scenarios" / "race.py").write_text(SOURCE.replace("race =", "other ="))
    with pytest.raises(BadScenario, match=r"race\.py: no scenario is called race; there are: other"):
        _replayed(file)


def test_a_bad_bound_of_a_trace_is_named_by_its_file(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    document = read_archive(file)
    for bounds, message in (
        ({"lag": -1}, r"Bounds\(lag=-1\): expected a whole number, at least 0"),
        ({"wings": 2}, "this version of kontend has no bounds wings"),
    ):
        with pytest.raises(BadScenario, match=f"{file}: {message}"):
            replay_document(file, replace(document, bounds=bounds), locate(document, file))
