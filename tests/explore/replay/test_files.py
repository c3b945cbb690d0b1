"""Counterexamples from files run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from explore.widgets import Widgets, double_plan
from kontend.explore import BadScenario, check
from kontend.explore.model.model import Model, replay
from kontend.explore.replay.files import replay_file
from kontend.explore.trace.artefact import open_trace, save

RACE = double_plan(Widgets(), lag=0, concurrent=2)
SOURCE = "from explore.widgets import Widgets, double_plan\nrace = double_plan(Widgets(), lag=0, concurrent=2)\n"


def test_a_schedule_replays_to_the_same_trace() -> None:
    for violation in check(RACE).violations:
        texts = [transition.line for transition in replay(Model(RACE), violation.schedule)]
        assert texts == list(violation.trace)


def test_a_saved_counterexample_runs_again_from_its_file(tmp_path: Path) -> None:
    source = tmp_path / "scenario.py"
    source.write_text(SOURCE)
    violation = check(RACE).violations[0]
    first = save(tmp_path / "failures", source, "race", violation)
    assert save(tmp_path / "failures", source, "race", violation).read_bytes() == first.read_bytes()
    assert replay_file(first, open_trace(first)) == list(violation.trace)


def test_a_scenario_that_is_gone_is_named(tmp_path: Path) -> None:
    source = tmp_path / "scenario.py"
    source.write_text(SOURCE.replace("race =", "other ="))
    file = save(tmp_path / "failures", source, "race", check(RACE).violations[0])
    with pytest.raises(BadScenario, match=r"scenario\.py: there is no scenario race any more"):
        replay_file(file, open_trace(file))


def test_a_step_that_is_not_enabled_any_more_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "scenario.py"
    source.write_text(SOURCE.replace("concurrent=2", "concurrent=1"))
    file = save(tmp_path / "failures", source, "race", check(RACE).violations[0])
    with pytest.raises(BadScenario, match="is not enabled: the scenario or its controllers have changed"):
        replay_file(file, open_trace(file))
