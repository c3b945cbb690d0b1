"""Endpoints that somebody writes are mirrored into slices."""

from __future__ import annotations

from typing import Any

from controllers.harness import Harness

SLICES = "EndpointSlice.discovery.k8s.io/v1"
ENDPOINTS = "Endpoints/v1"


def _service(**spec: Any) -> dict[str, Any]:
    body = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"}, "spec": body}


def _endpoints(*subsets: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    made = {"name": "db", "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": made, "subsets": list(subsets)}


def _subset(*addresses: str, port: int = 80, **more: Any) -> dict[str, Any]:
    return {"addresses": [{"ip": address} for address in addresses], "ports": [{"port": port}], **more}


def _mirrored(harness: Harness) -> list[tuple[str, list[str], int]]:
    slices = harness.cluster.list(SLICES)
    return sorted(
        (
            slice_["addressType"],
            [endpoint["addresses"][0] for endpoint in slice_["endpoints"]],
            slice_["ports"][0]["port"],
        )
        for slice_ in slices
    )


def test_a_slice_follows_its_endpoints() -> None:
    """It is made, updated in place, and deleted with them."""
    harness = Harness()
    harness.create(_service())
    made = harness.create(_endpoints(_subset("10.1.2.3"), labels={"a": "b"}, annotations={"note": "1"}))
    [first] = harness.cluster.list(SLICES)
    assert first["metadata"]["labels"] == {
        "a": "b",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        "kubernetes.io/service-name": "db",
    }
    assert first["metadata"]["annotations"] == {"note": "1"}
    assert first["endpoints"] == [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
    harness.cluster.update({**made, "subsets": [_subset("10.2.3.4")]})
    harness.settle()
    [second] = harness.cluster.list(SLICES)
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert _mirrored(harness) == [("IPv4", ["10.2.3.4"], 80)]
    harness.delete(ENDPOINTS, "db")
    assert harness.cluster.list(SLICES) == []


def test_ports_and_families_have_slices_of_their_own() -> None:
    """A name that is no address is left out; an address that is not ready says so."""
    harness = Harness()
    harness.create(_service())
    unready = _subset(port=81, notReadyAddresses=[{"ip": "10.0.0.2"}])
    del unready["addresses"]
    harness.create(_endpoints(_subset("10.0.0.1", "fd00::1"), unready))
    assert _mirrored(harness) == [("IPv4", ["10.0.0.1"], 80), ("IPv4", ["10.0.0.2"], 81), ("IPv6", ["fd00::1"], 80)]
    conditions = {
        s["endpoints"][0]["addresses"][0]: s["endpoints"][0]["conditions"] for s in harness.cluster.list(SLICES)
    }
    assert conditions["10.0.0.2"] == {"ready": False}
    harness.create(_service() | {"metadata": {"name": "other"}})
    harness.patch(ENDPOINTS, "db", {"subsets": [_subset("10.0.0.1")]})
    assert _mirrored(harness) == [("IPv4", ["10.0.0.1"], 80)]


def test_only_what_nobody_else_writes_is_mirrored() -> None:
    """Not that of a service with a selector, nor of no service, nor what asks to be left alone."""
    harness = Harness()
    harness.create(_endpoints(_subset("10.0.0.1")))
    assert harness.cluster.list(SLICES) == []
    harness.create(_service())
    assert len(harness.cluster.list(SLICES)) == 1
    harness.patch(ENDPOINTS, "db", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}})
    assert harness.cluster.list(SLICES) == []
    harness.patch(ENDPOINTS, "db", {"metadata": {"labels": None}})
    assert len(harness.cluster.list(SLICES)) == 1
    harness.patch("Service/v1", "db", {"spec": {"selector": {"app": "db"}}})
    managers = {s["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] for s in harness.cluster.list(SLICES)}
    assert managers == {"endpointslice-controller.k8s.io"}
