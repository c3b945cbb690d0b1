"""The addresses behind a service are listed, in Endpoints and in slices."""

from __future__ import annotations

from typing import Any

from controllers.harness import DEPLOYMENTS, PODS, Harness, workload

SERVICES, ENDPOINTS, SLICES = "Service/v1", "Endpoints/v1", "EndpointSlice.discovery.k8s.io/v1"


def _service(**spec: Any) -> dict[str, Any]:
    body = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"a": "b"}}, "spec": body}


def _world(replicas: int = 2) -> Harness:
    harness = Harness(nodes=2)
    harness.create(workload("Deployment", replicas=replicas))
    return harness


def _listed(harness: Harness) -> set[str]:
    subsets = harness.cluster.get(ENDPOINTS, "web").get("subsets") or []
    return {address["targetRef"]["name"] for subset in subsets for address in subset.get("addresses", [])}


def _sliced(harness: Harness) -> set[str]:
    return {
        endpoint["targetRef"]["name"]
        for listed in harness.cluster.list(SLICES)
        for endpoint in listed["endpoints"] or []
        if endpoint["conditions"]["ready"]
    }


def test_ready_pods_are_listed_with_address_node_and_port() -> None:
    """The port by its name on the pod."""
    harness = _world()
    harness.create(_service())
    assert _listed(harness) == _sliced(harness) == set(harness.names(PODS))
    subset = harness.cluster.get(ENDPOINTS, "web")["subsets"][0]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
    assert {address["nodeName"] for address in subset["addresses"]} == {"node-0", "node-1"}
    made = harness.cluster.list(SLICES)[0]
    assert made["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    assert made["metadata"]["generateName"] == "web-"
    labels = {
        "a": "b",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert made["metadata"]["labels"] == labels


def test_the_lists_follow_the_pods() -> None:
    """Up, down and not ready."""
    harness = _world()
    harness.create(_service())
    harness.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
    assert len(_listed(harness)) == len(_sliced(harness)) == 4
    harness.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
    assert _listed(harness) == _sliced(harness) == set(harness.names(PODS))
    broken = [{"type": "Ready", "status": "False", "lastTransitionTime": harness.cluster.now}]
    harness.patch(PODS, harness.names(PODS)[0], {"status": {"conditions": broken}}, status=True)
    assert _listed(harness) == _sliced(harness) == set()
    assert "notReadyAddresses" in harness.cluster.get(ENDPOINTS, "web")["subsets"][0]


def test_a_service_may_want_pods_that_are_not_ready() -> None:
    """publishNotReadyAddresses."""
    harness = Harness(nodes=1)
    gated = workload("Deployment", replicas=1)
    gated["spec"]["template"]["spec"]["readinessGates"] = [{"conditionType": "example.com/open"}]
    harness.create(gated)
    harness.create(_service(publishNotReadyAddresses=True))
    assert len(_listed(harness)) == len(_sliced(harness)) == 1


def test_a_service_without_pods_has_an_empty_slice() -> None:
    """The slice says that this is known."""
    harness = Harness()
    harness.create(_service())
    slices = harness.cluster.list(SLICES)
    assert len(slices) == 1
    assert not slices[0].get("endpoints")
    assert not harness.cluster.get(ENDPOINTS, "web").get("subsets")


def test_a_service_without_a_selector_is_left_to_its_user() -> None:
    """Nothing is made."""
    harness = Harness()
    harness.create(_service(selector=None))
    assert (harness.names(ENDPOINTS), harness.names(SLICES)) == ([], [])


def test_both_lists_go_with_the_service() -> None:
    """Endpoints by name, slices by their owner."""
    harness = _world()
    harness.create(_service())
    harness.delete(SERVICES, "web")
    assert (harness.names(ENDPOINTS), harness.names(SLICES)) == ([], [])


def test_a_headless_service_is_marked_and_names_its_pods() -> None:
    """Pods of a StatefulSet are found by their hostname."""
    harness = Harness(nodes=1)
    harness.create(workload("StatefulSet", serviceName="web", replicas=1))
    harness.create(_service(clusterIP="None"))
    made = harness.cluster.list(SLICES)[0]
    assert made["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert made["endpoints"][0]["hostname"] == "web-0"
    assert harness.cluster.get(ENDPOINTS, "web")["subsets"][0]["addresses"][0]["hostname"] == "web-0"


def test_a_hundred_endpoints_fill_a_slice() -> None:
    """The next one gets another, and a change touches only its own slice."""
    harness = Harness(nodes=1)
    harness.patch("Node/v1", "node-0", {"status": {"allocatable": {"pods": "500"}}}, status=True)
    harness.create(workload("ReplicaSet", replicas=103))
    harness.create(_service())
    slices = harness.cluster.list(SLICES)
    assert sorted(len(slice_["endpoints"]) for slice_ in slices) == [3, 100]
    large = max(slices, key=lambda listed: len(listed["endpoints"]))
    small = min(slices, key=lambda listed: len(listed["endpoints"]))
    harness.patch(PODS, small["endpoints"][0]["targetRef"]["name"], {"status": {"phase": "Failed"}}, status=True)
    kept = harness.cluster.get(SLICES, large["metadata"]["name"])
    assert kept["metadata"]["resourceVersion"] == large["metadata"]["resourceVersion"]
