"""Plans that are derived from unperturbed runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend import Cluster
from kontend.kube.meta.names import Key
from kontend.live.baseline import Baseline
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import Fail
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.plans.derivation import derive
from kontend.live.process.command import Command
from kontend.live.process.quiescence import Patience, Rest
from kontend.live.properties.findings import Expected
from kontend.live.properties.masking import Mask
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY, Setting
from kontend.live.runs.workload import Workload

PATCH = Call("patch", "configmaps", "default", "c")


def failures(*, locked: bool) -> set[tuple[str, int]]:
    """The failures, and how often they are repeated, in the plans for a run that makes one patch."""
    cluster = Cluster(objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}])
    before = cluster.state
    cluster.patch("ConfigMap/v1", "c", {"data": {"a": "1"}})
    log = Log()
    log.add(Request(1, PRIMARY, PATCH, 0.0, 0, Key("default", "c"), 200, "", before, cluster.state, locked=locked))
    run = Run(Plan(()), log, Rest.IDLE, before, cluster.state)
    setting = Setting(Command(("true",), Path(), {}), Workload(before), Patience(0.1, 1.0))
    plans = derive(Baseline((run,), setting, Expected((), Mask()), (), ()))
    return {(each.error, each.times) for plan in plans for each in plan.perturbations if isinstance(each, Fail)}


@pytest.mark.parametrize("locked", [True, False])
def test_only_a_write_that_names_a_version_gets_a_conflict(locked: bool) -> None:
    """The server retries any other write itself: no client ever sees a conflict of it, once or three times."""
    found = failures(locked=locked)
    assert {times for error, times in found if error == "409"} == ({1, 3} if locked else set())
    assert ("500", 3) in found
