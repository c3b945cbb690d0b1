"""A Deployment moves its pods from old ReplicaSets to the new one, within its limits."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.harness import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Harness,
    new_image,
    reference_to,
    template,
    workload,
)
from kontend import Cluster
from kontend.controllers.process import ControllerProcess
from kontend.controllers.workloads.deployment import Deployments
from kontend.kube.json_types import Json

REVISION = "deployment.kubernetes.io/revision"


def _sizes(harness: Harness) -> list[int]:
    sets = harness.cluster.list(REPLICA_SETS)
    sets.sort(key=lambda replica_set: int(replica_set["metadata"]["annotations"][REVISION]))
    return [owned["spec"]["replicas"] for owned in sets]


def _condition(harness: Harness, kind: str) -> dict[str, Any]:
    conditions = [
        condition for condition in harness.status(DEPLOYMENTS, "web")["conditions"] if condition["type"] == kind
    ]
    return dict(conditions[0])


def test_the_replica_set_is_named_by_the_hash_of_the_template() -> None:
    """The same template gives the same name, here and in Kubernetes."""
    harness = Harness()
    made = workload("Deployment", replicas=2)
    made["spec"]["template"]["spec"]["containers"] = [{"name": "main", "image": "app:1"}]
    made["spec"]["template"]["metadata"]["labels"] = {"app": "d"}
    made["spec"]["selector"] = {"matchLabels": {"app": "d"}}
    harness.create(made)
    replica_set = harness.cluster.list(REPLICA_SETS)[0]
    assert replica_set["metadata"]["name"] == "web-78874b7c96"
    assert replica_set["metadata"]["labels"] == {"app": "d", "pod-template-hash": "78874b7c96"}
    assert replica_set["spec"]["selector"] == {"matchLabels": {"app": "d", "pod-template-hash": "78874b7c96"}}
    annotations = {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        REVISION: "1",
    }
    assert replica_set["metadata"]["annotations"] == annotations
    assert harness.cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "1"


def test_its_status_follows_the_pods() -> None:
    """From not available to done."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=2))
    status = harness.status(DEPLOYMENTS, "web")
    assert (status["replicas"], status["unavailableReplicas"], status["updatedReplicas"]) == (2, 2, 2)
    assert _condition(harness, "Available")["reason"] == "MinimumReplicasUnavailable"
    assert _condition(harness, "Progressing")["reason"] == "ReplicaSetUpdated"
    harness.make_ready()
    assert harness.status(DEPLOYMENTS, "web")["availableReplicas"] == 2
    assert _condition(harness, "Available")["status"] == "True"
    assert _condition(harness, "Progressing")["reason"] == "NewReplicaSetAvailable"
    name = harness.names(REPLICA_SETS)[0]
    assert _condition(harness, "Progressing")["message"] == f'ReplicaSet "{name}" has successfully progressed.'


def test_an_update_never_leaves_its_limits() -> None:
    """At most 25% too many and 25% too few, at every step."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=4))
    harness.make_ready()
    harness.patch(DEPLOYMENTS, "web", new_image("app:2"))
    assert _sizes(harness) == [3, 2]
    for _ in range(10):
        ready = [pod for pod in harness.cluster.list(PODS) if pod["status"].get("conditions")]
        assert len(ready) >= 3
        assert len(harness.names(PODS)) <= 5
        waiting = [pod["metadata"]["name"] for pod in harness.cluster.list(PODS) if not pod["status"].get("conditions")]
        if not waiting:
            break
        harness.make_ready(waiting[0])
    assert _sizes(harness) == [0, 4]


def test_recreate_waits_until_all_old_pods_are_gone() -> None:
    """Never two templates at once."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    name = harness.names(PODS)[0]
    harness.patch(PODS, name, {"metadata": {"finalizers": ["a.io/x"]}})
    harness.patch(DEPLOYMENTS, "web", new_image("app:2"))
    assert _sizes(harness) == [0]
    harness.patch(PODS, name, {"metadata": {"finalizers": None}})
    assert _sizes(harness) == [0, 2]


def test_going_back_uses_the_old_replica_set_again() -> None:
    """With a new number, and its old one in the history."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=1))
    first = harness.names(REPLICA_SETS)
    harness.patch(DEPLOYMENTS, "web", new_image("app:2"))
    again = {"name": "main", "image": "app:1", "ports": [{"name": "http", "containerPort": 8080}]}
    harness.patch(DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"containers": [again]}}}})
    annotations = harness.cluster.get(REPLICA_SETS, first[0])["metadata"]["annotations"]
    assert annotations[REVISION] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert len(harness.names(REPLICA_SETS)) == 2


def test_old_replica_sets_beyond_the_limit_go() -> None:
    """The newest old ones stay for a rollback."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=1, revisionHistoryLimit=1))
    for number in range(2, 5):
        harness.patch(DEPLOYMENTS, "web", new_image(f"app:{number}"))
    assert sorted(
        replica_set["metadata"]["annotations"][REVISION] for replica_set in harness.cluster.list(REPLICA_SETS)
    ) == [
        "3",
        "4",
    ]


def _old_set(revision: int, *, age: int = 0, replicas: int = 0, status: Json | None = None) -> Json:
    """An old ReplicaSet of the Deployment ``web``."""
    body = workload("ReplicaSet", replicas=replicas)
    body["spec"]["template"] = template("web", f"old:{revision}")
    owner = {**workload("Deployment"), "metadata": {"name": "web", "uid": "u"}}
    body["metadata"] = {
        "name": f"web-{revision}",
        "generation": 2,
        "creationTimestamp": f"2026-01-01T00:00:{age:02}Z",
        "labels": {"app": "web"},
        "annotations": {REVISION: str(revision)},
        "ownerReferences": [reference_to(owner, controller=True)],
    }
    return {**body, "status": {"replicas": 0, "observedGeneration": 2, **(status or {})}}


def _cleaned(limit: int, *sets: Json, replicas: int = 0) -> list[str]:
    """The revisions that are left after the clean-up of a paused Deployment with these old ReplicaSets."""
    deployment = workload("Deployment", replicas=replicas, paused=True, revisionHistoryLimit=limit)
    deployment["metadata"]["uid"] = "u"
    cluster = Cluster(objects=[deployment, *sets])
    ControllerProcess(cluster, [Deployments()], clock=None).settle(seconds=5)
    return [replica_set["metadata"]["annotations"][REVISION] for replica_set in cluster.list(REPLICA_SETS)]


@pytest.mark.parametrize(
    ("limit", "left"), [(0, []), (1, ["3"]), (2, ["2", "3"]), (3, ["1", "2", "3"]), (2147483647, ["1", "2", "3"])]
)
def test_the_oldest_revisions_beyond_the_limit_are_deleted(limit: int, left: list[str]) -> None:
    """Revisions count, not the age of the ReplicaSets: after a rollback an old one has a new revision."""
    assert _cleaned(limit, _old_set(2, age=3), _old_set(1, age=2), _old_set(3, age=1)) == left


@pytest.mark.parametrize(
    "busy",
    [
        _old_set(1, status={"replicas": 1}),
        _old_set(1, status={"observedGeneration": 1}),
    ],
    ids=["its pods still exist", "its controller has not seen the newest spec"],
)
def test_a_busy_old_replica_set_is_not_deleted_and_not_replaced_by_another(busy: Json) -> None:
    assert _cleaned(1, busy, _old_set(2), _old_set(3)) == ["1", "3"]


def test_an_old_replica_set_that_should_have_pods_is_not_deleted() -> None:
    assert _cleaned(0, _old_set(1, replicas=1), _old_set(2), replicas=1) == ["1"]


def test_a_replica_set_that_is_being_deleted_does_not_count_against_the_limit() -> None:
    deleted = _old_set(1)
    deleted["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:09Z", "finalizers": ["example.com/wait"]}
    assert _cleaned(1, deleted, _old_set(2)) == ["1", "2"]


def test_scaling_in_the_middle_of_an_update_is_shared() -> None:
    """Each ReplicaSet grows by its share."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=4))
    harness.make_ready()
    harness.patch(DEPLOYMENTS, "web", new_image("app:2"))
    assert _sizes(harness) == [3, 2]
    harness.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}}, settle=False)
    harness.settle()
    assert _sizes(harness) == [6, 4]


def test_a_paused_deployment_scales_but_does_not_update() -> None:
    """And says that it is paused."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=1))
    harness.make_ready()
    harness.patch(DEPLOYMENTS, "web", {"spec": {"paused": True, "replicas": 2}})
    harness.patch(DEPLOYMENTS, "web", new_image("app:2"))
    assert _sizes(harness) == [2]
    assert _condition(harness, "Progressing")["reason"] == "DeploymentPaused"
    harness.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    assert len(_sizes(harness)) == 2


def test_a_rollout_that_does_not_get_on_is_called_stuck() -> None:
    """After the deadline, without any event."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=1, progressDeadlineSeconds=60))
    harness.settle(seconds=100)
    progress = _condition(harness, "Progressing")
    assert (progress["status"], progress["reason"]) == ("False", "ProgressDeadlineExceeded")


def test_a_name_that_is_taken_is_counted_and_another_is_used() -> None:
    """Two templates whose hashes collide, made by hand."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=1))
    name = harness.names(REPLICA_SETS)[0]
    other = Harness()
    taken = workload("ReplicaSet", name, replicas=0)
    other.create(taken)
    other.create(workload("Deployment", replicas=1))
    assert other.status(DEPLOYMENTS, "web")["collisionCount"] == 1
    assert len(other.names(REPLICA_SETS)) == 2


def test_the_replica_set_of_another_deployment_is_not_touched() -> None:
    """Also when both have the same selector and the same template."""
    harness = Harness()
    harness.create(workload("Deployment", replicas=1))
    first = harness.names(REPLICA_SETS)
    twin = workload("Deployment", replicas=2)
    twin["metadata"]["name"] = "twin"
    harness.create(twin)
    assert len(harness.names(REPLICA_SETS)) == 2
    assert harness.cluster.get(REPLICA_SETS, first[0])["spec"]["replicas"] == 1
