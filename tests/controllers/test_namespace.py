"""A namespace that is deleted goes with everything in it, and says what it waits for."""

from __future__ import annotations

from typing import Any

from controllers.harness import JOBS, PODS, WIDGETS, Harness, config_map, job, workload

NAMESPACES = "Namespace/v1"


def _in(namespace: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def _world(**options: Any) -> Harness:
    harness = Harness(**options)
    harness.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    return harness


def test_everything_in_a_namespace_goes_and_then_the_namespace() -> None:
    """Workloads, their pods, claims and custom objects: none of them holds it up."""
    harness = _world(nodes=1, crds=[WIDGETS])
    harness.create(_in("n", workload("Deployment", replicas=2)))
    harness.create(_in("n", job()))
    harness.create(_in("n", {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    harness.create(
        _in("n", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim})
    )
    assert len(harness.names(PODS, namespace="n")) == 3
    harness.delete(NAMESPACES, "n")
    harness.settle(seconds=60)
    assert "n" not in harness.names(NAMESPACES)
    assert harness.names(PODS) == []
    assert harness.names(JOBS) == []


def test_a_namespace_that_is_not_deleted_is_left_alone() -> None:
    """Nothing is written."""
    harness = _world()
    harness.create(_in("n", config_map("c")))
    before = harness.cluster.state.resource_version
    harness.settle()
    assert harness.cluster.state.resource_version == before


def test_conditions_say_what_remains_and_why() -> None:
    """In the words of kube-controller-manager."""
    harness = _world()
    harness.create(_in("n", config_map("c", finalizers=["a.io/x"])))
    harness.delete(NAMESPACES, "n")
    status = harness.status(NAMESPACES, "n")
    assert status["phase"] == "Terminating"
    said = {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in status["conditions"]
    }
    remaining = "Some resources are remaining: configmaps. has 1 resource instances"
    finalizers = "Some content in the namespace has finalizers remaining: a.io/x in 1 resource instances"
    good = "All content successfully deleted, may be waiting on finalization"
    assert said["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain", remaining)
    assert said["NamespaceFinalizersRemaining"] == ("True", "SomeFinalizersRemain", finalizers)
    assert said["NamespaceDeletionContentFailure"] == ("False", "ContentDeleted", good)
    assert len(said) == 5


def test_it_goes_as_soon_as_the_last_finalizer_is_gone() -> None:
    """The deletion of the last object is an event, not something to poll for."""
    harness = _world()
    harness.create(_in("n", config_map("c", finalizers=["a.io/x"])))
    harness.delete(NAMESPACES, "n")
    harness.cluster.patch("ConfigMap/v1", "c", {"metadata": {"finalizers": None}}, namespace="n")
    harness.settle(seconds=0)
    assert "n" not in harness.names(NAMESPACES)


def test_pods_go_before_anything_else() -> None:
    """Objects that a pod may need while it stops are still there."""
    harness = _world()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "finalizers": ["a.io/x"]}}
    harness.create({**pod, "spec": {"containers": [{"name": "main", "image": "app:1"}]}})
    harness.create(_in("n", config_map("c")))
    harness.delete(NAMESPACES, "n")
    assert harness.names("ConfigMap/v1", namespace="n") == ["c"]
    harness.cluster.patch(PODS, "p", {"metadata": {"finalizers": None}}, namespace="n")
    harness.settle(seconds=0)
    assert "n" not in harness.names(NAMESPACES)
