"""A ReplicaSet has as many pods as it says."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.harness import PODS, REPLICA_SETS, Harness, template, workload
from kontend.controllers.workloads.pods import first_to_lose
from kontend.runtime.manager.in_process import Unsettled


def _pod(name: str, **labels: str) -> dict[str, Any]:
    spec = template()["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def test_pods_are_made_and_counted() -> None:
    """Each is controlled by the ReplicaSet and has its labels."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=3))
    pods = harness.cluster.list(PODS)
    owner = pods[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("ReplicaSet", True, True)
    assert all(pod["metadata"]["generateName"] == "web-" for pod in pods)
    status = {"replicas": 3, "fullyLabeledReplicas": 3, "observedGeneration": 1, "terminatingReplicas": 0}
    assert harness.status(REPLICA_SETS, "web") == status
    harness.make_ready()
    assert harness.status(REPLICA_SETS, "web") == {**status, "readyReplicas": 3, "availableReplicas": 3}


def test_its_writes_are_those_of_kube_controller_manager() -> None:
    """By the name in managedFields."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=1))
    managers = {
        managed_field["manager"] for managed_field in harness.cluster.list(PODS)[0]["metadata"]["managedFields"]
    }
    assert managers == {"kube-controller-manager"}


def test_a_pod_that_nobody_controls_is_adopted() -> None:
    """If the selector matches, one less is made."""
    harness = Harness()
    harness.create(_pod("solo", app="web"))
    harness.create(workload("ReplicaSet", replicas=1))
    assert harness.names(PODS) == ["solo"]
    assert harness.cluster.get(PODS, "solo")["metadata"]["ownerReferences"][0]["name"] == "web"


def test_a_pod_that_comes_later_is_adopted_and_one_goes() -> None:
    """An orphan wakes the ReplicaSet that selects it."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=1))
    harness.create(_pod("solo", app="web"))
    assert len(harness.names(PODS)) == 1


def test_a_pod_of_another_controller_is_not_touched() -> None:
    """Its labels do not matter."""
    harness = Harness()
    harness.create(workload("ReplicaSet", "web", replicas=1))
    first = harness.names(PODS)
    other = workload("ReplicaSet", "other", replicas=1)
    other["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    harness.create(other)
    assert len(harness.names(PODS)) == 2
    assert harness.cluster.get(PODS, first[0])["metadata"]["ownerReferences"][0]["name"] == "web"


def test_a_pod_that_no_longer_matches_is_released_and_replaced() -> None:
    """It stays, without an owner."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=1))
    name = harness.names(PODS)[0]
    harness.patch(PODS, name, {"metadata": {"labels": {"app": "debug"}}})
    assert "ownerReferences" not in harness.cluster.get(PODS, name)["metadata"]
    assert len(harness.names(PODS, labels="app=web")) == 1


def test_finished_pods_are_replaced() -> None:
    """A pod that has failed is no replica."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=1))
    harness.finish("Failed")
    assert len(harness.names(PODS)) == 2
    assert harness.status(REPLICA_SETS, "web")["replicas"] == 1


def test_what_the_server_refuses_is_said_in_a_condition_until_it_works() -> None:
    """And it is tried again and again."""
    harness = Harness()
    needy = workload("ReplicaSet", replicas=1)
    needy["spec"]["template"]["spec"]["priorityClassName"] = "high"
    with pytest.raises(Unsettled, match="no PriorityClass with name high was found"):
        harness.create(needy)
    condition = harness.status(REPLICA_SETS, "web")["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    harness.create(high)
    assert "conditions" not in harness.status(REPLICA_SETS, "web")
    assert len(harness.names(PODS)) == 1


def test_min_ready_seconds_is_waited_for() -> None:
    """A pod is available some time after it is ready, without any event."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=1, minReadySeconds=30))
    harness.make_ready()
    assert "availableReplicas" not in harness.status(REPLICA_SETS, "web")
    harness.settle(seconds=40)
    assert harness.status(REPLICA_SETS, "web")["availableReplicas"] == 1


def test_deleting_it_deletes_its_pods() -> None:
    """By the garbage collector."""
    harness = Harness()
    harness.create(workload("ReplicaSet", replicas=2))
    harness.delete(REPLICA_SETS, "web")
    assert harness.names(PODS) == []


NOW = "2026-01-01T01:00:00Z"


def _described(name: str, **state: Any) -> dict[str, Any]:
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": state["ready"]}] if "ready" in state else []
    created = state.get("created", "2026-01-01T00:00:00Z")
    annotations = {"controller.kubernetes.io/pod-deletion-cost": state["cost"]} if "cost" in state else {}
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": created, "annotations": annotations},
        "spec": {"nodeName": state.get("node", "n")},
        "status": {
            "phase": state.get("phase", "Running"),
            "conditions": ready,
            "containerStatuses": [{"name": "c", "restartCount": state.get("restarts", 0)}],
        },
    }


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (_described("a", node=""), _described("b")),
        (_described("a", phase="Pending"), _described("b")),
        (_described("a"), _described("b", ready=NOW)),
        (_described("a", cost="1"), _described("b", cost="2")),
        (_described("a", ready="2026-01-01T00:59:00Z"), _described("b", ready="2026-01-01T00:00:00Z")),
        (_described("a", restarts=3), _described("b")),
        (_described("a", created="2026-01-01T00:59:00Z"), _described("b")),
    ],
    ids=["unassigned", "pending", "not ready", "cheap", "ready for less", "restarted", "young"],
)
def test_the_pod_that_is_missed_least_goes_first(goes: dict[str, Any], stays: dict[str, Any]) -> None:
    """The order in which they are listed does not matter."""
    for pods in ([goes, stays], [stays, goes]):
        assert first_to_lose(pods, pods, 1, NOW) == [goes]


def test_of_pods_that_share_a_node_one_goes_first() -> None:
    """So that what is left is spread out."""
    crowded, alone, other = _described("a", node="x"), _described("b", node="y"), _described("c", node="x")
    assert first_to_lose([alone, crowded], [crowded, alone, other], 1, NOW) == [crowded]
