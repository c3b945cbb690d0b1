"""dask-kubernetes 2025.7.0, unmodified: its issue 968, a DaskCluster that stays Pending.

The handler of the cluster leaves ``phase: Pending`` to kopf, which writes it after the handler has ended; that of the
scheduler's Service writes ``Running`` at once. Neither write is locked, so the late one stays.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import replace
from importlib import metadata

import pytest

from kontend.cluster.startup import manifests
from kontend.cluster.startup.seed import empty_state
from kontend.explore.properties.expressions import property_of
from kontend.live.runs.workload import Workload, read_actions
from kontend.live.verdicts.explanation import explain
from live.conftest import HERE, explore, setting

OPERATOR = "dask_kubernetes.operator.controller"
PLAN = "create daskworkergroups.kubernetes.dask.org default/simple-default takes long"


def test_a_late_pending_overwrites_running() -> None:
    if importlib.util.find_spec("dask_kubernetes") is None or metadata.version("dask-kubernetes") != "2025.7.0":
        # make clients installs it; CI does without skips.
        assert os.environ.get("KONTEND_OPERATORS") != "required"
        pytest.skip("dask-kubernetes 2025.7.0 is not installed (group operators)")
    state, _ = manifests.store_all(
        empty_state(), manifests.read_definitions([HERE / "dask" / "crds.yaml"]), manager="kontend"
    )
    command = [sys.executable, "-m", "kopf", "run", "-m", OPERATOR, "--standalone", "--namespace", "default"]
    workload = Workload(state, read_actions(HERE / "dask" / "actions.yaml"))
    running = {
        "eventually": 'object.status.phase == "Running"',
        "kind": "DaskCluster.kubernetes.dask.org/v1",
        "name": "running",
    }
    given = replace(setting(command), workload=workload, properties=(property_of(running, "running"),))
    verdict = explore(given, only=PLAN, confirmations=1, shrinks=0)
    # Unperturbed runs may end either way on a loaded machine; runs of the plan cannot end well.
    (found,) = [violation for violation in verdict.violations if violation.finding.property == "running"]
    assert (found.plan.name, found.rate) == (PLAN, "2 of 2 runs"), "\n".join(verdict.lines())
    cause = explain(found.finding, found.run, verdict.baseline).sentence
    writes = (
        r'running held from step \d+ \(controller patch daskclusters.* wrote .*\.status\.phase = "Running".*\) until '
    )
    assert re.search(
        writes + r'step \d+ \(controller patch daskclusters.* wrote .*\.status\.phase = "Pending"', cause
    ), cause
