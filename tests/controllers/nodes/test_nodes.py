"""Pods are put on nodes that fit, run there, and stop when they are deleted."""

from __future__ import annotations

from typing import Any

from controllers.harness import PODS, Harness, template
from kontend.controllers.nodes.node_fit import fits

NODES = "Node/v1"


def _pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    body = {**template()["spec"], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def _resources(**requests: str) -> list[dict[str, Any]]:
    return [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]


def test_a_declared_node_becomes_ready_and_open() -> None:
    """The taint of a new node is taken off."""
    harness = Harness(nodes=1)
    node = harness.cluster.get(NODES, "node-0")
    ready = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    assert ready["Ready"] == "True"
    assert "taints" not in node["spec"]
    assert node["status"]["allocatable"]["pods"] == "110"


def test_a_node_that_says_how_it_is_stays_so() -> None:
    """A test may declare a node that is not ready."""
    harness = Harness(nodes=1)
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": harness.cluster.now}
    harness.patch(NODES, "node-0", {"status": {"conditions": [condition]}}, status=True)
    assert harness.status(NODES, "node-0")["conditions"][0]["status"] == "False"


def test_a_pod_is_scheduled_runs_and_is_ready() -> None:
    """With an address that is its own."""
    harness = Harness(nodes=1)
    harness.create(_pod("a"))
    harness.create(_pod("b"))
    a, b = harness.status(PODS, "a"), harness.status(PODS, "b")
    assert a["phase"] == b["phase"] == "Running"
    assert {condition["type"]: condition["status"] for condition in a["conditions"]} == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    assert a["podIP"] != b["podIP"]
    assert a["containerStatuses"][0]["ready"] is True


def test_pods_are_spread() -> None:
    """Each goes where the fewest are."""
    harness = Harness(nodes=3)
    for number in range(6):
        harness.create(_pod(f"p{number}"), settle=False)
    harness.settle()
    nodes = [pod["spec"]["nodeName"] for pod in harness.cluster.list(PODS)]
    assert {node: nodes.count(node) for node in set(nodes)} == {"node-0": 2, "node-1": 2, "node-2": 2}


def test_a_pod_that_does_not_fit_waits_and_says_so() -> None:
    """Until there is room."""
    harness = Harness(nodes=1)
    harness.patch(NODES, "node-0", {"status": {"allocatable": {"cpu": "1"}}}, status=True)
    harness.create(_pod("a", containers=_resources(cpu="800m")))
    harness.create(_pod("b", containers=_resources(cpu="800m")))
    waiting = harness.status(PODS, "b")
    assert waiting["phase"] == "Pending"
    assert waiting["conditions"][0]["reason"] == "Unschedulable"
    harness.delete(PODS, "a")
    assert harness.status(PODS, "b")["phase"] == "Running"


def test_a_pod_of_another_scheduler_and_a_gated_pod_wait() -> None:
    """They are not ours to schedule."""
    harness = Harness(nodes=1)
    harness.create(_pod("other", schedulerName="mine"))
    harness.create(_pod("gated", schedulingGates=[{"name": "a.io/wait"}]))
    assert [pod["status"]["phase"] for pod in harness.cluster.list(PODS)] == ["Pending", "Pending"]
    harness.patch(PODS, "gated", {"spec": {"schedulingGates": []}})
    assert harness.status(PODS, "gated")["phase"] == "Running"


def test_a_readiness_gate_keeps_a_pod_from_being_ready() -> None:
    """Until somebody opens it."""
    harness = Harness(nodes=1)
    harness.create(_pod(readinessGates=[{"conditionType": "a.io/open"}]))
    conditions = harness.status(PODS, "p")["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions}["Ready"] == "False"
    opened = {"type": "a.io/open", "status": "True", "lastTransitionTime": harness.cluster.now}
    harness.patch(PODS, "p", {"status": {"conditions": [*conditions, opened]}}, status=True)
    assert {condition["type"]: condition["status"] for condition in harness.status(PODS, "p")["conditions"]}[
        "Ready"
    ] == "True"


def test_a_deleted_pod_stops_and_is_gone() -> None:
    """Its grace period is not waited for, its finalizers are."""
    harness = Harness(nodes=1)
    harness.create(_pod())
    harness.patch(PODS, "p", {"metadata": {"finalizers": ["a.io/x"]}})
    harness.delete(PODS, "p")
    assert harness.status(PODS, "p")["phase"] == "Failed"
    harness.patch(PODS, "p", {"metadata": {"finalizers": None}})
    assert harness.names(PODS) == []


def test_selectors_affinity_and_taints_decide_where_a_pod_may_go() -> None:
    """Each by itself."""
    node = {
        "metadata": {"name": "n", "labels": {"zone": "a", "cores": "8"}},
        "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
    }
    tolerated = {"tolerations": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}

    def affinity(operator: str, *values: str, key: str = "zone") -> dict[str, Any]:
        term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return {**tolerated, "affinity": {"nodeAffinity": required}}

    assert not fits({}, node)
    assert fits(tolerated, node)
    assert fits({"tolerations": [{"operator": "Exists"}]}, node)
    assert not fits({"tolerations": [{"key": "gpu", "value": "no"}]}, node)
    assert fits({**tolerated, "nodeSelector": {"zone": "a"}}, node)
    assert not fits({**tolerated, "nodeSelector": {"zone": "b"}}, node)
    assert fits(affinity("In", "a", "b"), node)
    assert not fits(affinity("NotIn", "a"), node)
    assert fits(affinity("Exists"), node)
    assert fits(affinity("DoesNotExist", key="gone"), node)
    assert fits(affinity("Gt", "4", key="cores"), node)
    assert not fits(affinity("Lt", "4", key="cores"), node)
    assert not fits(affinity("Gt", "4"), node)
