"""jobset 0.11.1, unmodified, with its webhooks: it makes their certificate itself, and waits until that is mounted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kontend import Cluster
from kontend.cli.live.options import parser, setting_of
from kontend.live.gate.plan import Plan
from kontend.live.process.quiescence import Rest
from kontend.live.runs.run import carry_out
from live.conftest import HERE, can_mount

OPTIONS = ("--controllers", "--in-cluster=jobset-system", "--webhooks")


@pytest.mark.skipif(not can_mount(), reason="no mount namespaces on this machine")
def test_an_operator_that_waits_for_its_certificate_begins_to_work_and_answers_its_webhooks() -> None:
    directory = Path.home() / ".cache" / "kontend" / "jobset-v0.11.1"
    if not (directory / "manifests.yaml").exists():
        pytest.skip("jobset is not built: run make operators")
    paths = ("--crds", directory / "crds", "--objects", directory / "manifests.yaml")
    options = parser().parse_args([*map(str, paths), "--actions", str(HERE / "jobset" / "actions.yaml"), *OPTIONS])
    command = [str(directory / "jobset"), "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:{port2}"]
    run = asyncio.run(carry_out(setting_of(options, command), Plan(())))
    assert run.rest is Rest.IDLE
    assert not run.refusals
    cluster = Cluster(state=run.final)
    jobs = [job["metadata"]["name"] for job in cluster.list("Job.batch/v1")]
    assert jobs == ["js-driver-0", "js-workers-0", "js-workers-1"]
    (jobset,) = cluster.list("JobSet.jobset.x-k8s.io/v1alpha2")
    assert jobset["spec"]["successPolicy"] == {"operator": "All"}  # a default that the webhook sets
