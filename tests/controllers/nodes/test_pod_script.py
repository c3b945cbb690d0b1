"""Pods that say how they behave, by annotation."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.harness import PODS, Harness, template

JOBS = "Job.batch/v1"


def _scripted(**annotations: str) -> dict[str, str]:
    return {f"kontend.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}


def _pod(restart: str = "Never", **annotations: str) -> dict[str, Any]:
    metadata = {"name": "p", "annotations": _scripted(**annotations)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**template()["spec"], "restartPolicy": restart},
    }


def _ready(status: dict[str, Any]) -> str:
    return str(next(condition["status"] for condition in status["conditions"] if condition["type"] == "Ready"))


def test_a_pod_ends_with_its_exit_code() -> None:
    for code, phase in (("0", "Succeeded"), ("3", "Failed")):
        harness = Harness(nodes=1)
        harness.create(_pod(exit_code=code))
        status = harness.status(PODS, "p")
        assert status["phase"] == phase
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)


def test_a_pod_is_restarted_and_then_stays_up() -> None:
    harness = Harness(nodes=1)
    harness.create(_pod("Always", restarts="2"))
    status = harness.status(PODS, "p")
    assert (status["phase"], _ready(status)) == ("Running", "True")
    [container] = status["containerStatuses"]
    assert container["restartCount"] == 2
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert "running" in container["state"]


def test_a_pod_is_never_ready() -> None:
    harness = Harness(nodes=1)
    harness.create(_pod("Always", never_ready="true"))
    status = harness.status(PODS, "p")
    assert (status["phase"], _ready(status)) == ("Running", "False")
    assert status["containerStatuses"][0]["ready"] is False


def _job(name: str, **annotations: str) -> dict[str, Any]:
    pod = template()
    pod["metadata"] = {"annotations": _scripted(**annotations)}
    pod["spec"] = {**pod["spec"], "restartPolicy": "Never"}
    spec = {"backoffLimit": 1, "template": pod}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def test_jobs_complete_and_fail_as_their_pods_say() -> None:
    harness = Harness(nodes=1)
    harness.create(_job("good", exit_code="0"))
    harness.create(_job("bad", exit_code="7"))
    harness.settle(seconds=600)
    for name, end in (("good", "Complete"), ("bad", "Failed")):
        ends = [
            condition["type"] for condition in harness.status(JOBS, name)["conditions"] if condition["status"] == "True"
        ]
        assert end in ends


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({}, (1, 0, 0)), ({"exit_code": "never"}, (0, 0, 1)), ({"exit_code": "2"}, (0, 1, 0))],
    ids=["nothing said", "never", "a failure"],
)
def test_pods_of_jobs_end_by_themselves_where_that_is_wanted(
    annotations: dict[str, str], expected: tuple[int, int, int]
) -> None:
    harness = Harness(nodes=1, jobs_end=True)
    given = _job("work", **annotations)
    given["spec"]["backoffLimit"] = 0
    harness.create(given)
    harness.create(_pod(), settle=True)  # one without a Job stays up
    status = harness.status(JOBS, "work")
    assert tuple(status.get(field, 0) for field in ("succeeded", "failed", "active")) == expected
    assert harness.status(PODS, "p")["phase"] == "Running"
