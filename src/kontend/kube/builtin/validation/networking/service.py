"""Services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube.builtin.service_shape import is_externally_accessible, is_headless, needs_health_check_port
from kontend.kube.builtin.validation.checks import (
    PROTOCOLS,
    dns_label,
    dns_subdomain,
    label_name,
    labels,
    one_of,
    parse_ip,
    port_number,
    port_number_or_name,
    valid_cidr,
    valid_ip,
)
from kontend.kube.builtin.validation.networking.endpoints import endpoint_ip
from kontend.kube.field_errors import (
    FieldError,
    Verbatim,
    duplicate,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
)
from kontend.kube.json_types import Json

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_LOAD_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"
_DAY: Final = 86400


def validate_service(service: Json, old: Json | None = None) -> list[FieldError]:
    """Validate a service."""
    spec, before = service.get("spec") or {}, (old or {}).get("spec") or {}
    ports: list[Json] = spec.get("ports") or []
    kind = spec.get("type", "")
    errors: list[FieldError] = []
    if not ports and not is_headless(spec) and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _type_rules(spec)
    errors += _ports(ports)
    errors += labels(spec.get("selector"), "spec.selector")
    errors += _session_affinity(spec)
    if kind != "ExternalName":
        errors += validate_cluster_ips(spec, before.get("clusterIPs") or [])
    known = before.get("externalIPs") or []
    for index, address in enumerate(spec.get("externalIPs") or []):
        where = f"spec.externalIPs[{index}]"
        ip_errors = [] if address in known else valid_ip(address, where)
        errors += ip_errors or endpoint_ip(address, where)
    errors += one_of(kind, "spec.type", _TYPES)
    errors += _distinct_ports(ports, kind)
    errors += _load_balancer(service, spec)
    errors += _traffic(spec)
    return errors


def _type_rules(spec: Json) -> list[FieldError]:
    kind = spec.get("type", "")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        return [invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    errors = [
        forbidden(f"spec.{field}", "may not be set for ExternalName services")
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(field)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    return errors + (dns_subdomain(name, "spec.externalName") if name else [required("spec.externalName")])


def _ports(ports: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            errors += dns_label(name, f"{where}.name")
            if name in names:
                errors.append(duplicate(f"{where}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{where}.name"))
        errors += port_number(port.get("port") or 0, f"{where}.port")
        errors += one_of(port.get("protocol", ""), f"{where}.protocol", PROTOCOLS)
        errors += port_number_or_name(port.get("targetPort"), f"{where}.targetPort")
        if port.get("appProtocol") is not None:
            errors += label_name(port["appProtocol"], f"{where}.appProtocol")
    return errors


def _session_affinity(spec: Json) -> list[FieldError]:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    errors = one_of(affinity, "spec.sessionAffinity", ("ClientIP", "None"))
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        errors.append(forbidden(path, "must not be set when session affinity is None"))
    if affinity != "ClientIP":
        return errors
    why = "when session affinity type is ClientIP"
    if config is None:
        return [*errors, required(path, why)]
    if config.get("clientIP") is None:
        return [*errors, required(f"{path}.clientIP", why)]
    seconds = config["clientIP"].get("timeoutSeconds")
    if seconds is None:
        return [*errors, required(f"{path}.clientIP.timeoutSeconds", why)]
    if not 0 < seconds <= _DAY:
        why = f"must be greater than 0 and less than {_DAY}"
        errors.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, why))
    return errors


def validate_cluster_ips(spec: Json, known: Sequence[str] = ()) -> list[FieldError]:
    """Validate the addresses of a service and their families; ``known`` ones may stay."""
    errors: list[FieldError] = []
    one, several = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families, policy = spec.get("ipFamilies") or [], spec.get("ipFamilyPolicy")
    if one and not several:
        errors.append(required("spec.clusterIPs"))
    elif one and several[0] != one:
        errors.append(invalid("spec.clusterIPs", several, "first value must match `clusterIP`"))
    elif several and not one:
        errors.append(invalid("spec.clusterIPs", several, "must be empty when `clusterIP` is not specified"))
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        if family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    if policy is not None and policy not in policies:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, policies))
    broken = False
    for index, address in enumerate(several):
        if index == 0 and address == "None":
            if len(several) > 1:
                broken = True
                errors.append(invalid("spec.clusterIPs", several, "'None' must be the first and only value"))
            continue
        ip_errors = [] if address in known else valid_ip(address, f"spec.clusterIPs[{index}]")
        broken = broken or bool(ip_errors)
        errors += ip_errors
    if len(several) > 2:
        errors.append(invalid("spec.clusterIPs", several, "may only hold up to 2 values"))
    if broken or is_headless(spec):
        return errors
    versions = [address.version for address in map(parse_ip, several) if address is not None]
    if len(several) > 1 and len(set(versions)) < 2:
        why = "may specify no more than one IP for each IP family"
        errors.append(invalid("spec.clusterIPs", several, why))
    for index, (address, version) in enumerate(zip(several, versions, strict=False)):
        if index < len(families) and families[index] in ("IPv4", "IPv6") and families[index] != f"IPv{version}":
            why = f"expected an {families[index]} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"spec.clusterIPs[{index}]", address, why))
    return errors


def _distinct_ports(ports: list[Json], kind: str) -> list[FieldError]:
    errors = []
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        errors = [forbidden(f"spec.ports[{i}].nodePort", why) for i, port in enumerate(ports) if port.get("nodePort")]
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort") or 0)
        if key[1] and key in seen:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        seen.add(key)
    seen = set()
    for index, port in enumerate(ports):
        protocol, number = key = (port.get("protocol", ""), port.get("port") or 0)
        if key in seen:
            shown = (
                f'{{"Name":"","Protocol":{go_quote(protocol)},"AppProtocol":null,"Port":{number},"TargetPort":0,'
                '"NodePort":0}'
            )
            errors.append(duplicate(f"spec.ports[{index}]", Verbatim(shown)))
        seen.add(key)
    return errors


def _load_balancer(service: Json, spec: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    balanced = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or []
    annotation = ((service.get("metadata") or {}).get("annotations") or {}).get(_SOURCE_RANGES)
    if ranges:
        if not balanced:
            errors.append(forbidden("spec.LoadBalancerSourceRanges", _ONLY_LOAD_BALANCER))
        for index, network in enumerate(ranges):
            errors += valid_cidr(network.strip(), f"spec.LoadBalancerSourceRanges[{index}]")
    elif annotation is not None:
        path = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            errors.append(forbidden(path, _ONLY_LOAD_BALANCER))
        for part in annotation.split(",") if annotation.strip() else []:
            errors += valid_cidr(part.strip(), path)
    allocate = spec.get("allocateLoadBalancerNodePorts")
    if allocate is not None and not balanced:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    if balanced and allocate is None:
        errors.append(required("allocateLoadBalancerNodePorts"))
    return errors + _load_balancer_class(spec)


def _load_balancer_class(spec: Json) -> list[FieldError]:
    given = spec.get("loadBalancerClass")
    if given is None:
        return []
    if spec.get("type") == "LoadBalancer":
        return label_name(given, "spec.loadBalancerClass")
    return [forbidden("spec.loadBalancerClass", _ONLY_LOAD_BALANCER)]


def _traffic(spec: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    external, port = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort") or 0
    if is_externally_accessible(spec):
        errors += one_of(external, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    elif external:
        why = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", external, why))
    if not needs_health_check_port(spec):
        if port:
            why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid("spec.healthCheckNodePort", port, why))
    else:
        errors += port_number(port, "spec.healthCheckNodePort") if port else [required("spec.healthCheckNodePort")]
    internal = spec.get("internalTrafficPolicy")
    if internal is None:
        if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
            errors.append(required("spec.internalTrafficPolicy"))
    elif internal not in ("Cluster", "Local"):
        errors.append(not_supported("spec.internalTrafficPolicy", internal, ("Cluster", "Local")))
    distribution = spec.get("trafficDistribution")
    distributions = ("PreferClose", "PreferSameZone", "PreferSameNode")
    if distribution is not None and distribution not in distributions:
        errors.append(not_supported("spec.trafficDistribution", distribution, distributions))
    return errors


def validate_service_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed service."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors: list[FieldError] = []
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        errors += _cluster_ips_update(spec, before) + _families_update(spec, before)
    both_balanced = spec.get("type") == before.get("type") == "LoadBalancer"
    given = spec.get("loadBalancerClass")
    if both_balanced and given != before.get("loadBalancerClass"):
        errors.append(invalid("spec.loadBalancerClass", given, "may not change once set"))
    errors += _load_balancer_class(spec)
    moved = spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    if moved and needs_health_check_port(spec) and needs_health_check_port(before):
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors + validate_service(new, old)


def _cluster_ips_update(spec: Json, old: Json) -> list[FieldError]:
    if is_headless(spec) and is_headless(old):
        return []
    new, before = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    why = "may not change once set"
    if len(new) == len(before):
        pairs = enumerate(zip(new, before, strict=True))
        return [invalid(f"spec.clusterIPs[{index}]", new, why) for index, (one, other) in pairs if one != other]
    if not new:
        return [invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")]
    errors = []
    if before and new[0] != before[0]:
        errors.append(invalid("spec.clusterIPs[0]", new, why))
    if len(before) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why))
    return errors


def _families_update(spec: Json, old: Json) -> list[FieldError]:
    if is_headless(spec) or is_headless(old):
        return []
    new, before = spec.get("ipFamilies") or [], old.get("ipFamilies") or []
    why = "may not change once set"
    if len(new) == len(before):
        return [invalid("spec.ipFamilies[0]", new, why) for one, other in zip(new, before, strict=True) if one != other]
    errors = []
    if len(before) > len(new) and not spec.get("clusterIPs"):
        errors.append(invalid("spec.ipFamilies[0]", new or None, "primary ipFamily can not be unset"))
    if new and before and new[0] != before[0]:
        errors.append(invalid("spec.ipFamilies[0]", spec.get("clusterIPs"), why))
    if len(before) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why))
    return errors


def validate_service_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status."""
    given, before = (_ingress(version) for version in (new, old))
    path = "status.loadBalancer.ingress"
    if (new.get("spec") or {}).get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")] if given else []
    known = {entry.get("ip", "") for entry in before}
    errors: list[FieldError] = []
    for index, entry in enumerate(given):
        where, address, mode = f"{path}[{index}]", entry.get("ip", ""), entry.get("ipMode")
        if address and address not in known:
            errors += valid_ip(address, f"{where}.ip")
        if mode is None:
            if address:
                errors.append(required(f"{where}.ipMode", "must be specified when `ip` is set"))
        elif not address:
            errors.append(forbidden(f"{where}.ipMode", "may not be specified when `ip` is not set"))
        elif mode not in ("Proxy", "VIP"):
            errors.append(not_supported(f"{where}.ipMode", mode, ("Proxy", "VIP")))
        errors += load_balancer_hostname(entry.get("hostname", ""), f"{where}.hostname")
    return errors


def load_balancer_hostname(name: str, path: str) -> list[FieldError]:
    """Return the name of a load balancer."""
    if not name:
        return []
    errors = dns_subdomain(name, path)
    if parse_ip(name) is not None:
        errors.append(invalid(path, name, "must be a DNS name, not an IP address"))
    return errors


def _ingress(service: Mapping[str, Any]) -> list[Json]:
    return ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
