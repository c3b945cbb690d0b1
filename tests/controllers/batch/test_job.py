"""A Job counts every pod once, and knows when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.harness import JOBS, PODS, Harness, job
from kontend.controllers.batch.job_counting import TRACKING


def _conditions(harness: Harness, name: str = "work") -> list[tuple[str, str]]:
    return [(condition["type"], condition["reason"]) for condition in harness.status(JOBS, name).get("conditions", [])]


def _finalizers(harness: Harness) -> list[Any]:
    return [pod["metadata"].get("finalizers") for pod in harness.cluster.list(PODS)]


def test_a_job_that_succeeds_is_complete() -> None:
    """With the conditions of kube-controller-manager, and pods that are free to go."""
    harness = Harness()
    harness.create(job())
    status = harness.status(JOBS, "work")
    assert (status["active"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert status["startTime"]
    assert _finalizers(harness) == [[TRACKING]]
    harness.finish("Succeeded")
    status = harness.status(JOBS, "work")
    assert (status["succeeded"], status.get("active"), status["uncountedTerminatedPods"]) == (1, None, {})
    assert status["completionTime"]
    assert _conditions(harness) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert _finalizers(harness) == [None]


def test_no_more_pods_run_than_asked_for() -> None:
    """Parallelism is a limit, completions are the goal."""
    harness = Harness()
    harness.create(job(completions=5, parallelism=2))
    for expected in (2, 2, 1):
        running = [pod for pod in harness.cluster.list(PODS) if pod["status"]["phase"] == "Pending"]
        assert len(running) == expected
        harness.finish("Succeeded")
    assert harness.status(JOBS, "work")["succeeded"] == 5
    assert len(harness.names(PODS)) == 5


def test_a_failed_pod_is_replaced_after_a_while() -> None:
    """Ten seconds for the first failure, twice as long for the next."""
    harness = Harness()
    harness.create(job(backoffLimit=3))
    harness.finish("Failed")
    assert len(harness.names(PODS)) == 1
    harness.settle(seconds=11)
    assert len(harness.names(PODS)) == 2
    harness.finish("Failed")
    harness.settle(seconds=19)
    assert len(harness.names(PODS)) == 2
    harness.settle(seconds=21)
    assert len(harness.names(PODS)) == 3
    assert harness.status(JOBS, "work")["failed"] == 2


def test_too_many_failures_fail_the_job() -> None:
    """And the pods that still run are stopped."""
    harness = Harness(nodes=1)
    harness.create(job(backoffLimit=0, parallelism=2, completions=2))
    harness.finish("Failed", harness.names(PODS)[0])
    assert _conditions(harness) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert "active" not in harness.status(JOBS, "work")
    assert all(pod["status"]["phase"] == "Failed" for pod in harness.cluster.list(PODS))


def test_a_job_that_takes_too_long_fails() -> None:
    """Without any event."""
    harness = Harness()
    harness.create(job(activeDeadlineSeconds=30))
    harness.settle(seconds=40)
    assert _conditions(harness)[-1] == ("Failed", "DeadlineExceeded")
    assert harness.names(PODS) == []


def test_each_index_runs_until_it_succeeds() -> None:
    """The status lists the indexes that are done, and each pod knows its own."""
    harness = Harness()
    harness.create(job(completions=3, parallelism=3, completionMode="Indexed"))
    pods = {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod
        for pod in harness.cluster.list(PODS)
    }
    assert sorted(pods) == ["0", "1", "2"]
    assert pods["1"]["spec"]["hostname"] == "work-1"
    assert pods["1"]["metadata"]["generateName"] == "work-1-"
    variable = pods["1"]["spec"]["containers"][0]["env"][0]
    assert (variable["name"], "job-completion-index" in str(variable)) == ("JOB_COMPLETION_INDEX", True)
    harness.finish("Succeeded", pods["0"]["metadata"]["name"], pods["2"]["metadata"]["name"])
    assert harness.status(JOBS, "work")["completedIndexes"] == "0,2"
    harness.finish("Succeeded", pods["1"]["metadata"]["name"])
    assert harness.status(JOBS, "work")["completedIndexes"] == "0-2"
    assert _conditions(harness)[-1][0] == "Complete"


def test_a_success_policy_ends_a_job_early() -> None:
    """One index is enough here, and the others are stopped."""
    harness = Harness()
    policy = {"rules": [{"succeededIndexes": "0"}]}
    harness.create(job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy))
    first = next(pod for pod in harness.cluster.list(PODS) if pod["spec"]["hostname"] == "work-0")
    harness.finish("Succeeded", first["metadata"]["name"])
    assert _conditions(harness) == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]
    assert len(harness.names(PODS)) == 1


def test_an_index_fails_by_itself() -> None:
    """With a limit for each index the others go on."""
    harness = Harness()
    harness.create(job(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0))
    pods = {pod["spec"]["hostname"]: pod["metadata"]["name"] for pod in harness.cluster.list(PODS)}
    harness.finish("Failed", pods["work-0"])
    assert harness.status(JOBS, "work")["failedIndexes"] == "0"
    harness.finish("Succeeded", pods["work-1"])
    assert _conditions(harness)[-1] == ("Failed", "FailedIndexes")
    assert len(harness.names(PODS)) == 2


@pytest.mark.parametrize(("action", "failed"), [("FailJob", 1), ("Ignore", 0), ("Count", 1)])
def test_the_failure_policy_decides_what_a_failure_means(action: str, failed: int) -> None:
    """By the exit code."""
    harness = Harness()
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    harness.create(job(podFailurePolicy={"rules": [rule]}, backoffLimit=0))
    name = harness.names(PODS)[0]
    ended = {"terminated": {"exitCode": 42, "reason": "Error"}}
    container = {"name": "main", "image": "app:1", "imageID": "", "ready": False, "restartCount": 0, "state": ended}
    harness.patch(PODS, name, {"status": {"phase": "Failed", "containerStatuses": [container]}}, status=True)
    assert harness.status(JOBS, "work").get("failed", 0) == failed
    text = f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    messages = [condition["message"] for condition in harness.status(JOBS, "work").get("conditions", [])]
    assert (text in messages) == (action == "FailJob")
    assert (("Failed", "BackoffLimitExceeded") in _conditions(harness)) == (action == "Count")


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    """And its time begins again."""
    harness = Harness()
    harness.create(job(suspend=True))
    assert harness.names(PODS) == []
    assert _conditions(harness) == [("Suspended", "JobSuspended")]
    assert "startTime" not in harness.status(JOBS, "work")
    harness.patch(JOBS, "work", {"spec": {"suspend": False}})
    assert len(harness.names(PODS)) == 1
    assert _conditions(harness) == [("Suspended", "JobResumed")]
    harness.patch(JOBS, "work", {"spec": {"suspend": True}})
    assert harness.names(PODS) == []
    assert "failed" not in harness.status(JOBS, "work")


def test_a_job_of_another_controller_is_left_alone() -> None:
    """By managedBy."""
    harness = Harness()
    harness.create(job(managedBy="example.com/mine"))
    assert harness.names(PODS) == []


def test_pods_of_a_job_that_is_gone_are_free_to_go() -> None:
    """Their finalizer counts for nobody."""
    harness = Harness()
    harness.create(job())
    harness.delete(JOBS, "work", propagation="Background")
    assert harness.names(PODS) == []


def test_a_finished_job_goes_when_its_time_is_up() -> None:
    """By ttlSecondsAfterFinished, with its pods."""
    harness = Harness()
    harness.create(job(ttlSecondsAfterFinished=60))
    harness.finish("Succeeded")
    assert harness.names(JOBS) == ["work"]
    harness.settle(seconds=70)
    assert (harness.names(JOBS), harness.names(PODS)) == ([], [])
