"""kro 0.9.3, unmodified: its issue 1316, an instance that cannot be deleted. kro 0.9.4 has the fix (pull request 1318).

The controller deletes the children of an instance one by one, and evaluates the expressions of the graph again before
each. When the object that they refer to is deleted meanwhile, they fail, and the finalizer of the instance stays.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kontend.cluster.startup import manifests
from kontend.cluster.startup.seed import empty_state
from kontend.live.runs.setting import Setting
from kontend.live.runs.workload import Workload, read_actions
from live.conftest import HERE, explore, setting

PLAN = "next user action right after delete configmaps default/s-sign"
#: The defaults are seconds, which every run would wait for.
SHORT = ("--instance-requeue-interval=200ms", "--rgd-progress-requeue-delay=200ms")


def kro(version: str) -> Setting:
    """The operator where tools/build_clients.py puts it."""
    directory = Path.home() / ".cache" / "kontend" / f"kro-{version}"
    if not directory.exists():
        pytest.skip(f"kro {version} is not built: run make operators")
    state, _ = manifests.store_all(empty_state(), manifests.read_definitions([directory / "crds"]), manager="kontend")
    state, _ = manifests.store_all(state, manifests.read([HERE / "kro" / "shop.yaml"]), manager="user")
    command = [str(directory / "kro"), "--metrics-bind-address=0", "--health-probe-bind-address=0", *SHORT]
    return replace(
        setting(command, patience=1.0), workload=Workload(state, read_actions(HERE / "kro" / "actions.yaml"))
    )


def test_an_instance_cannot_be_deleted_when_what_it_refers_to_is_deleted_meanwhile() -> None:
    verdict = explore(kro("v0.9.3"), only=PLAN, confirmations=1, shrinks=0)
    lines = "\n".join(verdict.lines())
    assert not verdict.baseline.findings, lines
    (found,) = verdict.violations
    assert (found.plan.name, found.rate) == (PLAN, "2 of 2 runs"), lines
    assert found.finding.property == "leak"
    cause = "made shops.kro.run default/s; in unperturbed runs controller patch shops.kro.run default/s removes it"
    assert cause in lines


def test_the_version_with_the_fix_is_clean() -> None:
    verdict = explore(kro("v0.9.4"), only=PLAN, confirmations=1, shrinks=0)
    assert verdict.ok, "\n".join(verdict.lines())
