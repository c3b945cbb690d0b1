"""Addresses and ports of services, which depend on all the other services of the cluster."""

from __future__ import annotations

from typing import Any

from kontend.cluster.state import State
from kontend.kube.builtin.service_allocation import allocate


def allocate_addresses(state: State, service: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Give a service its cluster IP and node ports, in place."""
    own = (service["metadata"].get("namespace", ""), service["metadata"].get("name", ""))
    addresses: set[str] = set()
    ports: set[int] = set()
    for key, version in state.objects("services").items():
        if tuple(key) == own:
            continue
        spec = version.content().get("spec") or {}
        addresses.update(spec.get("clusterIPs") or ())
        ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        if spec.get("healthCheckNodePort"):
            ports.add(spec["healthCheckNodePort"])
    allocate(service, addresses, ports, old=old)
