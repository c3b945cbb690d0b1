"""A ReplicationController has as many pods as it says."""

from __future__ import annotations

from typing import Any

from controllers.harness import PODS, Harness, template

KIND = "ReplicationController/v1"


def _controller(replicas: int, **spec: Any) -> dict[str, Any]:
    body = {"replicas": replicas, "template": template(), **spec}
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}, "spec": body}


def test_pods_are_made_and_counted() -> None:
    """The selector is that of the template's labels; the status has no field for terminating pods."""
    harness = Harness()
    harness.create(_controller(2))
    owner = harness.cluster.list(PODS)[0]["metadata"]["ownerReferences"][0]
    assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("v1", "ReplicationController", True)
    assert harness.status(KIND, "web") == {"replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1}
    harness.make_ready()
    assert harness.status(KIND, "web")["availableReplicas"] == 2


def test_scaling_down_deletes_pods() -> None:
    """The number of pods follows the spec."""
    harness = Harness()
    harness.create(_controller(3))
    harness.patch(KIND, "web", {"spec": {"replicas": 1}})
    assert len(harness.names(PODS)) == 1


def test_an_orphan_is_adopted_and_a_pod_that_no_longer_matches_is_released() -> None:
    """By the labels of ``spec.selector``."""
    harness = Harness()
    orphan = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo", "labels": {"app": "web"}}}
    harness.create({**orphan, "spec": template()["spec"]})
    harness.create(_controller(1))
    assert harness.names(PODS) == ["solo"]
    harness.patch(PODS, "solo", {"metadata": {"labels": {"app": "debug"}}})
    assert "ownerReferences" not in harness.cluster.get(PODS, "solo")["metadata"]
    assert len(harness.names(PODS, labels="app=web")) == 1


def test_a_pod_that_comes_later_is_adopted() -> None:
    """An orphan wakes the controller that selects it, and one pod goes."""
    harness = Harness()
    harness.create(_controller(1))
    orphan = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo", "labels": {"app": "web"}}}
    harness.create({**orphan, "spec": template()["spec"]})
    assert len(harness.names(PODS)) == 1
