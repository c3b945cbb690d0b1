"""Tests that Go code is explored alike with each version of controller-runtime.

Each version builds all of its packages once, which takes minutes, so the versions are chosen: ``KONTEND_RUNTIMES``
names them, as the workflow does.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.explore import check
from kontend.explore.golang.controllers import go_controllers
from kontend.runtime.user_file import load_file

RUNTIMES = os.environ.get("KONTEND_RUNTIMES", "").split()
double_plan = load_file(Path(__file__).parents[3] / "examples" / "double_plan.py")


@pytest.fixture(params=RUNTIMES)
def package(request: pytest.FixtureRequest, operators: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the operators that requires a version of controller-runtime."""
    monkeypatch.setenv("KONTEND_CACHE", str(tmp_path / "cache"))
    shutil.copytree(operators, tmp_path / "module")
    required = f"require (\n\tgithub.com/google/uuid v1.6.0\n\tsigs.k8s.io/controller-runtime {request.param}\n)\n"
    (tmp_path / "module" / "go.mod").write_text(f"module example.com/operators\n\ngo 1.25.0\n\n{required}")
    (tmp_path / "module" / "go.sum").unlink()
    return tmp_path / "module" / "doubleplan"


def test_the_double_plan_has_the_same_states(package: Path) -> None:
    for scenario, test, states in (
        (double_plan.blind, "TestExploreBlind", 99),
        (double_plan.locked, "TestExploreLocked", 37),
    ):
        controllers = go_controllers(package, test, crds=[double_plan.CRD])
        assert check(replace(scenario, controllers=controllers)).states == states
