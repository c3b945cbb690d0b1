"""Tests that random reconciles have the same verdicts, states and traces in Go as in Python."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from effort import THOROUGH
from explore.golang.programs import Interpreter, program
from kontend.explore import Bounds, Scenario, check, patch
from kontend.explore.golang.controllers import go_controllers
from kontend.runtime.guards import Guards

FAULTY = Path(__file__).parent / "operators"
MANY = 200 if THOROUGH else 12


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize("seed", range(MANY))
def test_a_random_reconcile_is_the_same_in_both_languages(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instructions = program(seed)
    monkeypatch.setenv("PROGRAM", json.dumps(instructions))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": "1"}}
    scenario = Scenario(
        controllers=[Interpreter(instructions)],
        objects=[config],
        actions=[patch(config, {"data": {"x": "2"}})],
        guards=Guards.off(),
        bounds=Bounds(concurrent=2, states=600),
    )
    python = check(scenario)
    go = check(replace(scenario, controllers=go_controllers(FAULTY, "TestExploreProgram")))
    assert (go.states, go.steps, go.stopped) == (python.states, python.steps, python.stopped)
    assert [(one.property, one.trace) for one in go.violations] == [
        (one.property, one.trace) for one in python.violations
    ]
