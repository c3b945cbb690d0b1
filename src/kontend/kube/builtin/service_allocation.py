"""The addresses and ports that a service gets from the cluster.

Which are free depends on the other services, so the server calls :func:`allocate` with those in use, before it prepares
and validates the service; on an update it passes the old service, whose addresses are kept. The cluster is single-stack
IPv4 with the range 10.0.0.0/24, and node ports are 30000 to 32767; the lowest free one is taken, so that the same state
always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Address, ip_address
from typing import Any, Final

from kontend.kube import errors
from kontend.kube.builtin.service_shape import has_cluster_ip, needs_health_check_port, needs_node_ports
from kontend.kube.builtin.validation.networking.service import validate_cluster_ips
from kontend.kube.field_errors import FieldError, invalid
from kontend.kube.json_types import Json

CLUSTER_IPS: Final = IPv4Network("10.0.0.0/24")
NODE_PORTS: Final = range(30000, 32768)
#: The first address belongs to the service of the API server itself.
API_SERVER_IP: Final = "10.0.0.1"


def allocate(
    service: Json,
    used_ips: Collection[str],
    used_ports: Collection[int],
    *,
    old: Mapping[str, Any] | None = None,
) -> None:
    """Fill in the IP families, cluster IPs and node ports of a service; raise ``Invalid`` if it cannot have them.

    ``used_ips`` and ``used_ports`` are those of the other services.

    >>> service = {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP"}}
    >>> allocate(service, ["10.0.0.2"], [])
    >>> service["spec"]["clusterIP"], service["spec"]["ipFamilies"]
    ('10.0.0.3', ['IPv4'])
    """
    spec: Json = service["spec"]
    old_spec = None if old is None else old.get("spec") or {}
    if old_spec is not None:
        _keep_allocated(spec, old_spec)
    _normalize_cluster_ips(spec, old_spec)
    # A read drops this from services without endpoints in the cluster.
    if not has_cluster_ip(spec):
        spec.pop("internalTrafficPolicy", None)
        if old_spec is None:
            return
    else:
        _set_ip_families(service, spec, old_spec)
        _set_cluster_ips(service, spec, used_ips, old_spec)
    _set_ports(service, spec, set(used_ports) - _node_ports(old_spec or {}))


def _refuse(service: Mapping[str, Any], *found: FieldError) -> errors.Invalid:
    return errors.invalid("", "Service", (service.get("metadata") or {}).get("name", ""), found)


def _keep_allocated(spec: Json, old: Mapping[str, Any]) -> None:
    """Restores the allocated values that the writer left out."""
    if has_cluster_ip(old) and has_cluster_ip(spec):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and old.get(field):
                spec[field] = old[field]
    if needs_node_ports(old) and needs_node_ports(spec):
        old_ports, ports = old.get("ports") or [], spec.get("ports") or []
        both = {other.get("nodePort", 0) for other in old_ports} & {other.get("nodePort", 0) for other in ports}
        by_name = {other.get("name", ""): other.get("nodePort", 0) for other in old_ports}
        for port in ports:
            before = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and before and before not in both:
                port["nodePort"] = before
    both_checked = needs_health_check_port(old) and needs_health_check_port(spec)
    if both_checked and not spec.get("healthCheckNodePort") and old.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old["healthCheckNodePort"]


def _normalize_cluster_ips(spec: Json, old: Mapping[str, Any] | None) -> None:
    """Keep the single address and the list of them in step, whichever of the two the writer changed."""
    one, several = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if old is None:
        if one and not several:
            spec["clusterIPs"] = [one]
        return
    old_one, old_several = old.get("clusterIP", ""), old.get("clusterIPs") or []
    if old_several and not several and old_one == one:
        several = spec["clusterIPs"] = list(old_several)
    if one != old_one and several == old_several:
        if one:
            spec["clusterIPs"] = [one]
        else:
            spec.pop("clusterIPs", None)


def _set_ip_families(service: Json, spec: Json, old: Mapping[str, Any] | None) -> None:
    without_endpoints = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        kept = None if old is None else old.get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = kept or ("RequireDualStack" if without_endpoints else "SingleStack")
    broken = validate_cluster_ips(spec, [] if old is None else old.get("clusterIPs") or [])
    if broken:
        raise _refuse(service, *broken)
    policy = spec["ipFamilyPolicy"]
    addresses = spec.get("clusterIPs") or []
    families: list[str] = list(spec.get("ipFamilies") or [])
    errors = []
    if policy == "SingleStack":
        why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        if len(addresses) == 2:
            errors.append(invalid("spec.ipFamilyPolicy", policy, why.format("cluster IPs")))
        if len(families) == 2:
            errors.append(invalid("spec.ipFamilyPolicy", policy, why.format("IP families")))
    for index, address in enumerate(addresses):
        if address == "None":
            break
        if index >= len(families):
            family = _family_of(address)
            if family == "IPv6":
                why = "IPv6 is not configured on this cluster"
                errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, why))
            elif family:
                families.append(family)
    if errors:
        raise _refuse(service, *errors)
    if without_endpoints:
        families = families or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", policy, why))
    for index, family in enumerate(families):
        if family == "IPv6":
            errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if errors:
        raise _refuse(service, *errors)
    spec["ipFamilies"] = families or ["IPv4"]


def _family_of(address: str) -> str:
    try:
        return "IPv6" if isinstance(ip_address(address), IPv6Address) else "IPv4"
    except ValueError:
        return ""  # validation says what is wrong with it


def _set_cluster_ips(service: Json, spec: Json, used: Collection[str], old: Mapping[str, Any] | None) -> None:
    addresses: list[str] = list(spec.get("clusterIPs") or [])
    if addresses and addresses[0] == "None":
        return
    if addresses:
        kept = [] if old is None else old.get("clusterIPs") or []
        for address in addresses:
            why = "" if address in kept or _is_server(service, address) else _why_not_free(address, used)
            if why:
                detail = f"failed to allocate IP {address}: {why}"
                raise _refuse(service, invalid("spec.clusterIPs", addresses, detail))
    else:
        addresses = [_lowest_free_ip(used)]
    spec["clusterIPs"] = addresses
    spec["clusterIP"] = addresses[0]


def _is_server(service: Mapping[str, Any], address: str) -> bool:
    """Report whether the service is the one of the API server, which has an address of its own."""
    metadata = service["metadata"]
    names = (metadata.get("namespace"), metadata.get("name"))
    return address == API_SERVER_IP and names == ("default", "kubernetes")


def _why_not_free(address: str, used: Collection[str]) -> str:
    if not _family_of(address):
        return ""
    if ip_address(address) not in CLUSTER_IPS:
        return f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {CLUSTER_IPS}"
    return "provided IP is already allocated" if address in used or address == API_SERVER_IP else ""


def _lowest_free_ip(used: Collection[str]) -> str:
    for address in CLUSTER_IPS.hosts():
        text = str(address)
        if text != API_SERVER_IP and text not in used:
            return text
    raise errors.internal_error("failed to allocate a serviceIP: range is full")


def _node_ports(spec: Mapping[str, Any]) -> set[int]:
    return {port.get("nodePort", 0) for port in spec.get("ports") or []} | {spec.get("healthCheckNodePort", 0)}


def _set_ports(service: Json, spec: Json, used: Collection[int]) -> None:
    ports: list[Json] = spec.get("ports") or []
    taken = set(used)
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        # A port number that is served over several protocols has the same node port for all of them.
        by_port: dict[int, int] = {}
        wants_all = needs_node_ports(spec)
        for index, port in enumerate(ports):
            number = port.get("nodePort", 0)
            if not number and not wants_all:
                continue
            shared = by_port.get(port.get("port", 0), 0)
            if not number:
                asked = next(
                    (p["nodePort"] for p in ports if p.get("port") == port.get("port") and p.get("nodePort")), 0
                )
                number = shared or asked or _lowest_free_port(taken | {p.get("nodePort", 0) for p in ports})
            if number != shared:
                _claim(service, index, number, taken)
            port["nodePort"] = number
            by_port.setdefault(port.get("port", 0), number)
    if needs_health_check_port(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _lowest_free_port(taken)


def _claim(service: Json, index: int, number: int, taken: set[int]) -> None:
    if number not in NODE_PORTS:
        first, last = NODE_PORTS.start, NODE_PORTS.stop - 1
        why = f"provided port is not in the valid range. The range of valid ports is {first}-{last}"
    elif number in taken:
        why = "provided port is already allocated"
    else:
        taken.add(number)
        return
    raise _refuse(service, invalid(f"spec.ports[{index}].nodePort", number, why))


def _lowest_free_port(taken: Collection[int]) -> int:
    for number in NODE_PORTS:
        if number not in taken:
            return number
    raise errors.internal_error("failed to allocate a nodePort: range is full")
