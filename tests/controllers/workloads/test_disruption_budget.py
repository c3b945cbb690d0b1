"""The status of a PodDisruptionBudget says how many pods may be evicted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.harness import DEPLOYMENTS, PODS, Harness, template, workload
from definitions import definition
from kontend.cluster.request import ApiRequest
from kontend.kube.errors import TooManyRequests

KIND = "PodDisruptionBudget.policy/v1"


def _budget(**spec: Any) -> dict[str, Any]:
    body = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "safe"}, "spec": body}


def _counts(harness: Harness) -> tuple[int, int, int, int, str]:
    status = harness.status(KIND, "safe")
    numbers = (status[name] for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"))
    return (*numbers, status["conditions"][0]["reason"])


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"minAvailable": 2}, (1, 3, 2, 3, "SufficientPods")),
        ({"minAvailable": 3}, (0, 3, 3, 3, "InsufficientPods")),
        ({"minAvailable": "40%"}, (1, 3, 2, 3, "SufficientPods")),
        ({"maxUnavailable": 1}, (1, 3, 2, 3, "SufficientPods")),
        ({"maxUnavailable": "40%"}, (2, 3, 1, 3, "SufficientPods")),
        ({}, (0, 3, 0, 0, "InsufficientPods")),
    ],
)
def test_the_status_follows_the_spec(spec: dict[str, Any], counts: tuple[int, int, int, int, str]) -> None:
    """Shares are of what the Deployment of the pods wants."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=3))
    harness.create(_budget(**spec))
    assert _counts(harness) == counts


def test_a_budget_without_pods_allows_nothing() -> None:
    """Its first pods are safe before they are counted."""
    harness = Harness()
    harness.create(_budget(minAvailable=0))
    assert _counts(harness) == (0, 0, 0, 0, "InsufficientPods")


def test_evictions_are_granted_until_the_budget_is_used_up_and_again_when_the_pods_are_replaced() -> None:
    """The controller takes what the server noted off the list when the pod has gone."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=2))
    harness.create(_budget(maxUnavailable=1))
    for _ in range(3):
        first, second = harness.names(PODS)
        _evict(harness, first)
        with pytest.raises(TooManyRequests):
            _evict(harness, second)
        harness.settle()
        assert _counts(harness) == (1, 2, 1, 2, "SufficientPods")
        assert "disruptedPods" not in harness.status(KIND, "safe")


def test_a_pod_that_stays_counts_again_after_two_minutes() -> None:
    """Something else holds it back."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=2))
    harness.create(_budget(maxUnavailable=1))
    name = harness.names(PODS)[0]
    status = {**harness.status(KIND, "safe"), "disruptedPods": {name: harness.cluster.now}}
    harness.patch(KIND, "safe", {"status": status}, status=True)
    assert _counts(harness)[:2] == (0, 1)
    harness.settle(seconds=200)
    assert _counts(harness)[:2] == (1, 2)


def test_custom_resources_are_counted_by_their_scale() -> None:
    """The controller of the pods may be any kind with the subresource ``scale``."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    harness = Harness(nodes=1, crds=[definition(subresources={"scale": scale})])
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"replicas": 4}}
    made = harness.create(widget)
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": made["metadata"]["uid"]}
    pod = {"name": "one", "labels": {"app": "web"}, "ownerReferences": [{**owner, "controller": True}]}
    harness.create({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": template()["spec"]})
    harness.create(_budget(maxUnavailable=1))
    assert _counts(harness) == (0, 1, 3, 4, "InsufficientPods")


def test_a_controller_without_a_scale_allows_nothing() -> None:
    """The condition says why."""
    harness = Harness(nodes=1, crds=[definition(subresources={})])
    made = harness.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": made["metadata"]["uid"]}
    pod = {"name": "one", "labels": {"app": "web"}, "ownerReferences": [{**owner, "controller": True}]}
    harness.create({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": template()["spec"]})
    harness.create(_budget(maxUnavailable=1))
    condition = harness.status(KIND, "safe")["conditions"][0]
    assert (condition["reason"], condition["status"]) == ("SyncFailed", "False")
    assert condition["message"] == "Widget.example.com/v1 does not implement the scale subresource"


def test_a_change_of_the_deployment_is_noticed_with_its_pods() -> None:
    """More replicas, more disruptions."""
    harness = Harness(nodes=1)
    harness.create(workload("Deployment", replicas=2))
    harness.create(_budget(maxUnavailable="50%"))
    harness.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
    assert _counts(harness) == (2, 4, 2, 4, "SufficientPods")


def _evict(harness: Harness, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/default/pods/{name}/eviction"
    response = harness.cluster.request(ApiRequest("POST", path, body=json.dumps(eviction).encode()))
    if response.code == 429:
        raise TooManyRequests(str(response.body))
    assert response.code == 201
