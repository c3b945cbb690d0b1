"""The requirements of each type of service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def has_cluster_ip(spec: Mapping[str, Any]) -> bool:
    """Every service but an ExternalName has an address in the cluster, even if it is "None"."""
    return spec.get("type") != "ExternalName"


def is_headless(spec: Mapping[str, Any]) -> bool:
    """Report whether the service has no address of its own."""
    return spec.get("clusterIPs") == ["None"]


def needs_node_ports(spec: Mapping[str, Any]) -> bool:
    """Report whether the service opens ports on the nodes."""
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False


def needs_health_check_port(spec: Mapping[str, Any]) -> bool:
    """Report whether a load balancer must be able to ask which nodes have endpoints."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Mapping[str, Any]) -> bool:
    """Report whether traffic can come from outside of the cluster."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
