"""A DaemonSet has a pod on every node that fits."""

from __future__ import annotations

from typing import Any

from controllers.harness import DAEMON_SETS, PODS, Harness, new_image, workload

NODES = "Node/v1"


def _by_node(harness: Harness) -> dict[str, str]:
    return {pod["spec"]["nodeName"]: pod["spec"]["containers"][0]["image"] for pod in harness.cluster.list(PODS)}


def _node(name: str, **more: Any) -> dict[str, Any]:
    labels = more.pop("labels", {})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, **more}


def test_every_node_gets_a_pod_also_a_new_one() -> None:
    """And loses it with the node."""
    harness = Harness(nodes=2)
    harness.create(workload("DaemonSet"))
    assert set(_by_node(harness)) == {"node-0", "node-1"}
    harness.create(_node("late"))
    assert set(_by_node(harness)) == {"node-0", "node-1", "late"}
    status = harness.status(DAEMON_SETS, "web")
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    assert [status[name] for name in counts] == [3, 3, 3, 3]


def test_nodes_that_are_not_selected_or_not_tolerated_get_none() -> None:
    """By node selector and by taint."""
    harness = Harness(nodes=1)
    harness.create(_node("disk", labels={"disk": "ssd"}))
    harness.create(_node("taken", labels={"disk": "ssd"}, spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]}))
    picky = workload("DaemonSet")
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    harness.create(picky)
    assert set(_by_node(harness)) == {"disk"}
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    harness.patch(DAEMON_SETS, "web", {"spec": {"template": {"spec": {"tolerations": tolerations}}}})
    assert set(_by_node(harness)) == {"disk", "taken"}


def test_a_node_that_no_longer_fits_loses_its_pod() -> None:
    """A change of its labels is enough."""
    harness = Harness(nodes=1)
    harness.patch(NODES, "node-0", {"metadata": {"labels": {"disk": "ssd"}}})
    picky = workload("DaemonSet")
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    harness.create(picky)
    assert set(_by_node(harness)) == {"node-0"}
    harness.patch(NODES, "node-0", {"metadata": {"labels": {"disk": None}}})
    assert _by_node(harness) == {}


def test_without_a_scheduler_pods_name_their_node_and_wait() -> None:
    """By an affinity that only that node satisfies."""
    harness = Harness()
    harness.create(_node("a"))
    harness.patch(NODES, "a", {"spec": {"taints": None}})
    harness.create(workload("DaemonSet"))
    pod = harness.cluster.list(PODS)[0]
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
    assert required == {"nodeSelectorTerms": [{"matchFields": fields}]}
    assert pod["metadata"]["labels"]["pod-template-generation"] == "1"
    assert harness.status(DAEMON_SETS, "web")["numberUnavailable"] == 1


def test_an_update_waits_until_a_replaced_pod_works() -> None:
    """The second node keeps its old pod while the new one on the first is not ready."""
    harness = Harness(nodes=2)
    harness.create(workload("DaemonSet"))
    broken = new_image("app:2")
    broken["spec"]["template"]["spec"]["readinessGates"] = [{"conditionType": "a.io/never"}]
    harness.patch(DAEMON_SETS, "web", broken)
    assert sorted(_by_node(harness).values()) == ["app:1", "app:2"]


def test_an_update_ends_with_new_pods_on_all_nodes() -> None:
    """And keeps the old revision."""
    harness = Harness(nodes=2)
    harness.create(workload("DaemonSet"))
    harness.patch(DAEMON_SETS, "web", new_image("app:2"))
    assert set(_by_node(harness).values()) == {"app:2"}
    assert harness.status(DAEMON_SETS, "web")["updatedNumberScheduled"] == 2
    assert len(harness.names("ControllerRevision.apps/v1")) == 2


def test_a_surge_makes_the_new_pod_before_the_old_one_goes() -> None:
    """And ends with one on each node."""
    harness = Harness(nodes=2)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    harness.create(workload("DaemonSet", updateStrategy=strategy))
    harness.patch(DAEMON_SETS, "web", new_image("app:2"))
    assert _by_node(harness) == {"node-0": "app:2", "node-1": "app:2"}
    assert len(harness.names(PODS)) == 2


def test_a_finished_daemon_is_replaced() -> None:
    """One that has failed, after a moment."""
    harness = Harness(nodes=1)
    harness.create(workload("DaemonSet"))
    name = harness.names(PODS)[0]
    harness.finish("Failed", name)
    assert len(harness.names(PODS)) == 1
    assert harness.names(PODS) != [name]
