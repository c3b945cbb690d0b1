"""Tests that the explorer finds in Go what it finds in the same code in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kontend.cli.exploring.explore import run
from kontend.explore import Scenario, check
from kontend.explore.golang.controllers import go_controllers
from kontend.explore.verdict import Verdict
from kontend.runtime.user_file import load_file

double_plan = load_file(Path(__file__).parents[3] / "examples" / "double_plan.py")


def _both(operators: Path, scenario: Scenario, test: str) -> tuple[Verdict, Verdict]:
    controllers = go_controllers(operators / "doubleplan", test, crds=[double_plan.CRD])
    return check(scenario), check(replace(scenario, controllers=controllers))


def test_a_blind_patch_loses_a_plan_by_the_same_trace(operators: Path) -> None:
    python, go = _both(operators, double_plan.blind, "TestExploreBlind")
    assert (go.states, go.steps) == (python.states, python.steps) == (99, 412)
    assert [(one.property, one.trace) for one in go.violations] == [
        (one.property, one.trace) for one in python.violations
    ]


def test_a_trace_names_the_line_of_go_code(operators: Path) -> None:
    _, go = _both(operators, double_plan.blind, "TestExploreBlind")
    line = go.documents[0].violation.fix.line  # type: ignore[union-attr]
    assert line is not None
    assert line.file.endswith("doubleplan/reconciler.go")
    assert "r.Status().Patch" in line.text


def test_a_locked_patch_holds_in_the_same_states(operators: Path) -> None:
    python, go = _both(operators, double_plan.locked, "TestExploreLocked")
    assert python.ok
    assert go.ok
    assert (go.states, go.steps) == (python.states, python.steps) == (37, 157)


@pytest.mark.parametrize(("test", "violated"), [("TestExploreBlind", True), ("TestExploreLocked", False)])
def test_the_command_explores_each_test_of_a_package(
    operators: Path, test: str, violated: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--go", str(operators / "doubleplan"), "--scenario", test, "--failures", str(tmp_path)]
    assert run(options) == int(violated)
    assert ("lost update" in capsys.readouterr().out) == violated
