"""Services: addresses, ports, changes of type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.service_allocation import CLUSTER_IPS, NODE_PORTS, allocate
from kontend.kube.errors import Invalid

SERVICES = strategy_for("", "Service")


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", **spec}}


def test_a_service_gets_the_lowest_free_address() -> None:
    obj = service()
    allocate(obj, ["10.0.0.2", "10.0.0.3"], [])

    assert obj["spec"] == {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.4",
        "clusterIPs": ["10.0.0.4"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }


def test_a_headless_service_has_no_address() -> None:
    obj = service(clusterIP="None", selector={"a": "b"})
    allocate(obj, [], [])

    assert (obj["spec"]["clusterIPs"], obj["spec"]["ipFamilies"]) == (["None"], ["IPv4"])


def test_a_headless_service_without_a_selector_is_of_both_families() -> None:
    obj = service(clusterIP="None")
    allocate(obj, [], [])

    assert (obj["spec"]["ipFamilies"], obj["spec"]["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_an_external_name_has_nothing_to_allocate() -> None:
    obj = service(type="ExternalName", externalName="e.com", internalTrafficPolicy="Cluster")
    allocate(obj, [], [])

    assert obj["spec"] == {"type": "ExternalName", "externalName": "e.com"}


def test_an_update_keeps_what_was_allocated() -> None:
    old = service(type="NodePort", ports=[{"port": 80}])
    allocate(old, [], [])
    new = service(type="NodePort", ports=[{"port": 80}])
    allocate(new, ["10.0.0.2"], [30000], old=old)

    assert new == old


def test_a_port_over_two_protocols_has_one_node_port() -> None:
    obj = service(
        type="NodePort", ports=[{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}, {"port": 1}]
    )
    allocate(obj, [], [30000])

    assert [port["nodePort"] for port in obj["spec"]["ports"]] == [30001, 30001, 30002]


def test_a_load_balancer_with_local_traffic_has_a_port_for_health_checks() -> None:
    obj = service(type="LoadBalancer", externalTrafficPolicy="Local", ports=[{"port": 80}])
    allocate(obj, [], [])

    assert obj["spec"]["healthCheckNodePort"] == 30001


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"clusterIP": "10.0.0.7"},
            'Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated',
        ),
        ({"clusterIP": "x"}, 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30007}]},
            "spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
    ],
)
def test_what_is_taken_or_impossible_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        allocate(service(**spec), ["10.0.0.7"], [30007])

    assert message in caught.value.message


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sets(st.integers(2, 20)), st.sets(st.integers(30000, 30010)), st.integers(0, 4))
def test_nothing_is_handed_out_twice(hosts: set[int], ports: set[int], count: int) -> None:
    addresses = {f"10.0.0.{host}" for host in hosts}
    obj = service(type="NodePort", ports=[{"port": 80 + number} for number in range(count)])
    allocate(obj, addresses, ports)

    given_ports = [port["nodePort"] for port in obj["spec"]["ports"]]
    assert obj["spec"]["clusterIP"] not in addresses
    assert len({*given_ports, *ports}) == len(given_ports) + len(ports)
    assert set(given_ports) <= set(NODE_PORTS)
    assert CLUSTER_IPS.prefixlen == 24


def test_a_service_that_becomes_an_external_name_gives_its_address_back() -> None:
    old = service(clusterIP="10.0.0.2", clusterIPs=["10.0.0.2"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    new = {"metadata": {"name": "s"}, "spec": {**old["spec"], "type": "ExternalName", "externalName": "e.com"}}
    SERVICES.prepare("", new, old)

    assert new["spec"] == {"type": "ExternalName", "externalName": "e.com"}
    assert new["status"] == {"loadBalancer": {}}


def test_a_service_that_is_no_longer_on_nodes_gives_its_ports_back() -> None:
    old = service(type="NodePort", ports=[{"port": 80, "nodePort": 30000}], externalTrafficPolicy="Cluster")
    new = service(ports=[{"port": 80, "nodePort": 30000}], externalTrafficPolicy="Cluster")
    SERVICES.prepare("", new, old)

    assert new["spec"] == {"type": "ClusterIP", "ports": [{"port": 80}]}


def test_labels_of_an_endpoint_slice_count() -> None:
    slices = strategy_for("discovery.k8s.io", "EndpointSlice")
    old: dict[str, Any] = {"metadata": {"generation": 1}, "addressType": "IPv4"}
    new: dict[str, Any] = {"metadata": {"generation": 1, "labels": {"a": "b"}}, "addressType": "IPv4"}
    slices.prepare("", new, old)

    assert new["metadata"]["generation"] == 2
