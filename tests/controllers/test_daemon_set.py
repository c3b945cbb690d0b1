"""A DaemonSet has a pod on every node that fits."""

from __future__ import annotations

from typing import Any

from controllers.world import DAEMON_SETS, PODS, World, new_image, workload

NODES = "Node/v1"


def _by_node(world: World) -> dict[str, str]:
    return {pod["spec"]["nodeName"]: pod["spec"]["containers"][0]["image"] for pod in world.cluster.list(PODS)}


def _node(name: str, **more: Any) -> dict[str, Any]:
    labels = more.pop("labels", {})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, **more}


def test_every_node_gets_a_pod_also_a_new_one() -> None:
    """And loses it with the node."""
    world = World(nodes=2)
    world.create(workload("DaemonSet"))
    assert set(_by_node(world)) == {"node-0", "node-1"}
    world.create(_node("late"))
    assert set(_by_node(world)) == {"node-0", "node-1", "late"}
    status = world.status(DAEMON_SETS, "web")
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    assert [status[name] for name in counts] == [3, 3, 3, 3]


def test_nodes_that_are_not_selected_or_not_tolerated_get_none() -> None:
    """By node selector and by taint."""
    world = World(nodes=1)
    world.create(_node("disk", labels={"disk": "ssd"}))
    world.create(_node("taken", labels={"disk": "ssd"}, spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]}))
    picky = workload("DaemonSet")
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    world.create(picky)
    assert set(_by_node(world)) == {"disk"}
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    world.patch(DAEMON_SETS, "web", {"spec": {"template": {"spec": {"tolerations": tolerations}}}})
    assert set(_by_node(world)) == {"disk", "taken"}


def test_a_node_that_no_longer_fits_loses_its_pod() -> None:
    """When its labels change."""
    world = World(nodes=1)
    world.patch(NODES, "node-0", {"metadata": {"labels": {"disk": "ssd"}}})
    picky = workload("DaemonSet")
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    world.create(picky)
    assert set(_by_node(world)) == {"node-0"}
    world.patch(NODES, "node-0", {"metadata": {"labels": {"disk": None}}})
    assert _by_node(world) == {}


def test_without_a_scheduler_pods_name_their_node_and_wait() -> None:
    """By an affinity that only that node satisfies."""
    world = World()
    world.create(_node("a"))
    world.patch(NODES, "a", {"spec": {"taints": None}})
    world.create(workload("DaemonSet"))
    pod = world.cluster.list(PODS)[0]
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
    assert required == {"nodeSelectorTerms": [{"matchFields": fields}]}
    assert pod["metadata"]["labels"]["pod-template-generation"] == "1"
    assert world.status(DAEMON_SETS, "web")["numberUnavailable"] == 1


def test_an_update_waits_until_a_replaced_pod_works() -> None:
    """The second node keeps its old pod while the new one on the first is not ready."""
    world = World(nodes=2)
    world.create(workload("DaemonSet"))
    broken = new_image("app:2")
    broken["spec"]["template"]["spec"]["readinessGates"] = [{"conditionType": "a.io/never"}]
    world.patch(DAEMON_SETS, "web", broken)
    assert sorted(_by_node(world).values()) == ["app:1", "app:2"]


def test_an_update_ends_with_new_pods_on_all_nodes() -> None:
    """And keeps the old revision."""
    world = World(nodes=2)
    world.create(workload("DaemonSet"))
    world.patch(DAEMON_SETS, "web", new_image("app:2"))
    assert set(_by_node(world).values()) == {"app:2"}
    assert world.status(DAEMON_SETS, "web")["updatedNumberScheduled"] == 2
    assert len(world.names("ControllerRevision.apps/v1")) == 2


def test_a_surge_makes_the_new_pod_before_the_old_one_goes() -> None:
    """And ends with one on each node."""
    world = World(nodes=2)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    world.create(workload("DaemonSet", updateStrategy=strategy))
    world.patch(DAEMON_SETS, "web", new_image("app:2"))
    assert _by_node(world) == {"node-0": "app:2", "node-1": "app:2"}
    assert len(world.names(PODS)) == 2


def test_a_finished_daemon_is_replaced() -> None:
    """One that has failed, after a moment."""
    world = World(nodes=1)
    world.create(workload("DaemonSet"))
    name = world.names(PODS)[0]
    world.finish("Failed", name)
    assert len(world.names(PODS)) == 1
    assert world.names(PODS) != [name]
