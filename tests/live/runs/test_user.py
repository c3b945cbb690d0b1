"""The user of a run: actions that come too early are repeated, and the cluster collects what has lost its owner."""

from __future__ import annotations

import asyncio

import pytest

from kontend import Cluster
from kontend.cli.live.options import parser, setting_of
from kontend.live.gate.perturbation import Down, Hold
from kontend.live.gate.plan import Plan
from kontend.live.plans.derivation import derive
from kontend.live.runs.run import carry_out
from live.conftest import HERE, SUBJECTS, explore, python, setting

WIDGETS = "widgets.live.kontend.dev"


@pytest.mark.parametrize("perturbation", [Down(1, 2), Hold(WIDGETS, 1, 2, including=True)], ids=str)
def test_an_action_that_comes_too_early_is_repeated(perturbation: Down | Hold) -> None:
    """The ConfigMap that the user changes is not there before the process sees the Widget."""
    run = asyncio.run(carry_out(setting(python("plain.py"), "label.yaml"), Plan((perturbation,))))
    (config,) = Cluster(state=run.final).list("ConfigMap/v1", namespace="default")
    assert config["metadata"]["labels"] == {"by": "user"}
    assert run.refusals == {}


def test_an_action_that_is_refused_anyway_is_noted_and_not_repeated() -> None:
    verdict = explore(setting(python("plain.py"), "refused.yaml"), only="right after create")
    assert verdict.ok, list(verdict.lines())
    assert verdict.baseline.setting.refused == {2}
    (note,) = verdict.baseline.notes
    assert note == 'action 2 is refused without any perturbation: configmaps "ghost" not found'


def test_a_watch_that_begins_later_can_be_stale_too() -> None:
    verdict = explore(setting(python("plain.py"), "plain.yaml", LAZY="1"), only="cache of configmaps")
    assert verdict.ok, list(verdict.lines())
    assert verdict.baseline.runs[0].watches == {WIDGETS}
    assert verdict.executed == len([plan for plan in derive(verdict.baseline) if "cache of configmaps" in plan.name])
    assert verdict.executed >= 2


def test_objects_without_owners_are_collected() -> None:
    arguments = ["--crds", str(HERE / "crds.yaml"), "--actions", str(SUBJECTS / "delete.yaml"), "--env", "OWNED=1"]
    run = asyncio.run(carry_out(setting_of(parser().parse_args(arguments), python("plain.py")), Plan(())))
    made = [change for state in run.phases for change in state.objects("configmaps")]
    assert "w-config" in {key.name for key in made}
    assert not [key for key in run.final.objects("configmaps") if key.name == "w-config"]
