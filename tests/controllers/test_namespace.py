"""A namespace that is deleted goes with everything in it, and says what it waits for."""

from __future__ import annotations

from typing import Any

from controllers.world import JOBS, PODS, WIDGETS, World, config_map, job, workload

NAMESPACES = "Namespace/v1"


def _in(namespace: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def _world(**options: Any) -> World:
    world = World(**options)
    world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    return world


def test_everything_in_a_namespace_goes_and_then_the_namespace() -> None:
    """Workloads, their pods, claims and custom objects: none of them holds it up."""
    world = _world(nodes=1, crds=[WIDGETS])
    world.create(_in("n", workload("Deployment", replicas=2)))
    world.create(_in("n", job()))
    world.create(_in("n", {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    world.create(
        _in("n", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim})
    )
    assert len(world.names(PODS, namespace="n")) == 3
    world.delete(NAMESPACES, "n")
    world.settle(seconds=60)
    assert "n" not in world.names(NAMESPACES)
    assert world.names(PODS) == []
    assert world.names(JOBS) == []


def test_a_namespace_that_is_not_deleted_is_left_alone() -> None:
    """Nothing is written."""
    world = _world()
    world.create(_in("n", config_map("c")))
    before = world.cluster.state.resource_version
    world.settle()
    assert world.cluster.state.resource_version == before


def test_conditions_say_what_remains_and_why() -> None:
    """In the words of kube-controller-manager."""
    world = _world()
    world.create(_in("n", config_map("c", finalizers=["a.io/x"])))
    world.delete(NAMESPACES, "n")
    status = world.status(NAMESPACES, "n")
    assert status["phase"] == "Terminating"
    said = {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}
    remaining = "Some resources are remaining: configmaps. has 1 resource instances"
    finalizers = "Some content in the namespace has finalizers remaining: a.io/x in 1 resource instances"
    good = "All content successfully deleted, may be waiting on finalization"
    assert said["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain", remaining)
    assert said["NamespaceFinalizersRemaining"] == ("True", "SomeFinalizersRemain", finalizers)
    assert said["NamespaceDeletionContentFailure"] == ("False", "ContentDeleted", good)
    assert len(said) == 5


def test_it_goes_as_soon_as_the_last_finalizer_is_gone() -> None:
    """The deletion of the last object is an event, not something to poll for."""
    world = _world()
    world.create(_in("n", config_map("c", finalizers=["a.io/x"])))
    world.delete(NAMESPACES, "n")
    world.cluster.patch("ConfigMap/v1", "c", {"metadata": {"finalizers": None}}, namespace="n")
    world.settle(seconds=0)
    assert "n" not in world.names(NAMESPACES)


def test_pods_go_before_anything_else() -> None:
    """What a pod may need while it stops is still there."""
    world = _world()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "finalizers": ["a.io/x"]}}
    world.create({**pod, "spec": {"containers": [{"name": "main", "image": "app:1"}]}})
    world.create(_in("n", config_map("c")))
    world.delete(NAMESPACES, "n")
    assert world.names("ConfigMap/v1", namespace="n") == ["c"]
    world.cluster.patch(PODS, "p", {"metadata": {"finalizers": None}}, namespace="n")
    world.settle(seconds=0)
    assert "n" not in world.names(NAMESPACES)
