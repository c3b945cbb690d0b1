"""A Job counts every pod once, and knows when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.world import JOBS, PODS, World, job
from kontend.controllers.batch.job_counting import TRACKING


def _conditions(world: World, name: str = "work") -> list[tuple[str, str]]:
    return [(each["type"], each["reason"]) for each in world.status(JOBS, name).get("conditions", [])]


def _finalizers(world: World) -> list[Any]:
    return [pod["metadata"].get("finalizers") for pod in world.cluster.list(PODS)]


def test_a_job_that_succeeds_is_complete() -> None:
    """With the conditions of kube-controller-manager, and pods that are free to go."""
    world = World()
    world.create(job())
    status = world.status(JOBS, "work")
    assert (status["active"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert status["startTime"]
    assert _finalizers(world) == [[TRACKING]]
    world.finish("Succeeded")
    status = world.status(JOBS, "work")
    assert (status["succeeded"], status.get("active"), status["uncountedTerminatedPods"]) == (1, None, {})
    assert status["completionTime"]
    assert _conditions(world) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert _finalizers(world) == [None]


def test_no_more_pods_run_than_asked_for() -> None:
    """Parallelism is a limit, completions are the goal."""
    world = World()
    world.create(job(completions=5, parallelism=2))
    for expected in (2, 2, 1):
        running = [pod for pod in world.cluster.list(PODS) if pod["status"]["phase"] == "Pending"]
        assert len(running) == expected
        world.finish("Succeeded")
    assert world.status(JOBS, "work")["succeeded"] == 5
    assert len(world.names(PODS)) == 5


def test_a_failed_pod_is_replaced_after_a_while() -> None:
    """Ten seconds for the first failure, twice as long for the next."""
    world = World()
    world.create(job(backoffLimit=3))
    world.finish("Failed")
    assert len(world.names(PODS)) == 1
    world.settle(seconds=11)
    assert len(world.names(PODS)) == 2
    world.finish("Failed")
    world.settle(seconds=19)
    assert len(world.names(PODS)) == 2
    world.settle(seconds=21)
    assert len(world.names(PODS)) == 3
    assert world.status(JOBS, "work")["failed"] == 2


def test_too_many_failures_fail_the_job() -> None:
    """And the pods that still run are stopped."""
    world = World(nodes=1)
    world.create(job(backoffLimit=0, parallelism=2, completions=2))
    world.finish("Failed", world.names(PODS)[0])
    assert _conditions(world) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert "active" not in world.status(JOBS, "work")
    assert all(pod["status"]["phase"] == "Failed" for pod in world.cluster.list(PODS))


def test_a_job_that_takes_too_long_fails() -> None:
    """Without any event."""
    world = World()
    world.create(job(activeDeadlineSeconds=30))
    world.settle(seconds=40)
    assert _conditions(world)[-1] == ("Failed", "DeadlineExceeded")
    assert world.names(PODS) == []


def test_each_index_runs_until_it_succeeds() -> None:
    """The status lists the indexes that are done, and each pod knows its own."""
    world = World()
    world.create(job(completions=3, parallelism=3, completionMode="Indexed"))
    pods = {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod
        for pod in world.cluster.list(PODS)
    }
    assert sorted(pods) == ["0", "1", "2"]
    assert pods["1"]["spec"]["hostname"] == "work-1"
    assert pods["1"]["metadata"]["generateName"] == "work-1-"
    variable = pods["1"]["spec"]["containers"][0]["env"][0]
    assert (variable["name"], "job-completion-index" in str(variable)) == ("JOB_COMPLETION_INDEX", True)
    world.finish("Succeeded", pods["0"]["metadata"]["name"], pods["2"]["metadata"]["name"])
    assert world.status(JOBS, "work")["completedIndexes"] == "0,2"
    world.finish("Succeeded", pods["1"]["metadata"]["name"])
    assert world.status(JOBS, "work")["completedIndexes"] == "0-2"
    assert _conditions(world)[-1][0] == "Complete"


def test_a_success_policy_ends_a_job_early() -> None:
    """One index is enough here, and the others are stopped."""
    world = World()
    policy = {"rules": [{"succeededIndexes": "0"}]}
    world.create(job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy))
    first = next(pod for pod in world.cluster.list(PODS) if pod["spec"]["hostname"] == "work-0")
    world.finish("Succeeded", first["metadata"]["name"])
    assert _conditions(world) == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]
    assert len(world.names(PODS)) == 1


def test_an_index_fails_by_itself() -> None:
    """With a limit for each index the others go on."""
    world = World()
    world.create(job(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0))
    pods = {pod["spec"]["hostname"]: pod["metadata"]["name"] for pod in world.cluster.list(PODS)}
    world.finish("Failed", pods["work-0"])
    assert world.status(JOBS, "work")["failedIndexes"] == "0"
    world.finish("Succeeded", pods["work-1"])
    assert _conditions(world)[-1] == ("Failed", "FailedIndexes")
    assert len(world.names(PODS)) == 2


@pytest.mark.parametrize(("action", "failed"), [("FailJob", 1), ("Ignore", 0), ("Count", 1)])
def test_the_failure_policy_decides_what_a_failure_means(action: str, failed: int) -> None:
    """By the exit code."""
    world = World()
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    world.create(job(podFailurePolicy={"rules": [rule]}, backoffLimit=0))
    name = world.names(PODS)[0]
    ended = {"terminated": {"exitCode": 42, "reason": "Error"}}
    container = {"name": "main", "image": "app:1", "imageID": "", "ready": False, "restartCount": 0, "state": ended}
    world.patch(PODS, name, {"status": {"phase": "Failed", "containerStatuses": [container]}}, status=True)
    assert world.status(JOBS, "work").get("failed", 0) == failed
    text = f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    messages = [each["message"] for each in world.status(JOBS, "work").get("conditions", [])]
    assert (text in messages) == (action == "FailJob")
    assert (("Failed", "BackoffLimitExceeded") in _conditions(world)) == (action == "Count")


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    """And its time begins again."""
    world = World()
    world.create(job(suspend=True))
    assert world.names(PODS) == []
    assert _conditions(world) == [("Suspended", "JobSuspended")]
    assert "startTime" not in world.status(JOBS, "work")
    world.patch(JOBS, "work", {"spec": {"suspend": False}})
    assert len(world.names(PODS)) == 1
    assert _conditions(world) == [("Suspended", "JobResumed")]
    world.patch(JOBS, "work", {"spec": {"suspend": True}})
    assert world.names(PODS) == []
    assert "failed" not in world.status(JOBS, "work")


def test_a_job_of_another_controller_is_left_alone() -> None:
    """By managedBy."""
    world = World()
    world.create(job(managedBy="example.com/mine"))
    assert world.names(PODS) == []


def test_pods_of_a_job_that_is_gone_are_free_to_go() -> None:
    """Their finalizer counts for nobody."""
    world = World()
    world.create(job())
    world.delete(JOBS, "work", propagation="Background")
    assert world.names(PODS) == []


def test_a_finished_job_goes_when_its_time_is_up() -> None:
    """By ttlSecondsAfterFinished, with its pods."""
    world = World()
    world.create(job(ttlSecondsAfterFinished=60))
    world.finish("Succeeded")
    assert world.names(JOBS) == ["work"]
    world.settle(seconds=70)
    assert (world.names(JOBS), world.names(PODS)) == ([], [])
