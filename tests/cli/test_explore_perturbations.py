"""``kontend explore`` with only some perturbations, or with those of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.cli import main

FILE = str(Path(__file__).parents[2] / "zoo" / "zookeeper_453.py")


def explore(directory: Path, *options: str) -> int:
    return main(["explore", FILE, "--scenario", "buggy", "--one-process", "--failures", str(directory), *options])


def test_without_perturbations_the_bug_does_not_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(tmp_path, "--no-perturbations") == 0
    assert "atomic reconciles, no crashes" in capsys.readouterr().out


def test_one_kind_of_perturbation_can_be_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(tmp_path, "--only", "staleness") == 1
    assert "lag ≤ 1, 1 instance, no crashes" in capsys.readouterr().out


def test_a_plan_is_followed_and_its_counterexample_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("faultInjection: [{reconciler: clusters, crashAfterEffect: 1}]")
    assert explore(tmp_path, "--plan", str(plan)) == 1
    assert "only what the plan says: clusters crashes after 1 writes" in capsys.readouterr().out
    (trace,) = tmp_path.glob("*.zip")
    assert main(["replay", str(trace), "--file", FILE]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "crash"], "did you mean crashes?"),
        (["--only", "crashes", "--no-perturbations"], "leaves nothing to try"),
        (["--plan", "nowhere.yaml"], "nowhere.yaml: No such file"),
    ],
)
def test_a_mistake_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert explore(tmp_path, *options) == 2
    assert message in capsys.readouterr().err
