"""Endpoints and endpoint slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import (
    PROTOCOLS,
    bad,
    dns_label,
    dns_subdomain,
    immutable,
    label_name,
    one_of,
    parse_ip,
    port_number,
    valid_ip,
)
from kontend.kube.field_errors import FieldError, duplicate, invalid, not_supported, required, too_many
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1123_label, dns1123_subdomain, label_value

_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")


def endpoint_ip(address: str, path: str) -> list[FieldError]:
    """Return an address that traffic can be sent to."""
    parsed = parse_ip(address)
    if parsed is None:
        return [invalid(path, address, "must be a valid IP address")]
    rules = (
        (parsed.is_unspecified, f"may not be unspecified ({address})"),
        (parsed.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (parsed.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            address.startswith("224.0.0.") or (parsed.version == 6 and parsed.packed[:2] == b"\xff\x02"),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return [invalid(path, address, why) for wrong, why in rules if wrong]


def validate_endpoints(obj: Json) -> list[FieldError]:
    """Validate endpoints."""
    errors: list[FieldError] = []
    for index, subset in enumerate(obj.get("subsets") or []):
        where, ports = f"subsets[{index}]", subset.get("ports") or []
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(where, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or []):
                errors += _address(address, f"{where}.{field}[{number}]")
        for number, port in enumerate(ports):
            errors += _port(port, f"{where}.ports[{number}]", name_required=len(ports) > 1)
    return errors


def validate_endpoints_update(new: Json, old: Json) -> list[FieldError]:
    """Validate changed endpoints; what was wrong before may stay."""
    return [] if new.get("subsets") == old.get("subsets") else validate_endpoints(new)


def _address(address: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = valid_ip(address.get("ip", ""), f"{path}.ip")
    if address.get("hostname"):
        errors += dns_label(address["hostname"], f"{path}.hostname")
    if address.get("nodeName") is not None:
        errors += dns_subdomain(address["nodeName"], f"{path}.nodeName")
    return errors + endpoint_ip(address.get("ip", ""), f"{path}.ip")


def _port(port: Mapping[str, Any], path: str, *, name_required: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if port.get("name"):
        errors += dns_label(port["name"], f"{path}.name")
    elif name_required:
        errors.append(required(f"{path}.name"))
    errors += port_number(port.get("port") or 0, f"{path}.port")
    errors += one_of(port.get("protocol", ""), f"{path}.protocol", PROTOCOLS)
    if port.get("appProtocol") is not None:
        errors += label_name(port["appProtocol"], f"{path}.appProtocol")
    return errors


def validate_endpoint_slice(obj: Json) -> list[FieldError]:
    """Validate an endpoint slice."""
    return _type_and_ports(obj) + _endpoints(obj)


def validate_endpoint_slice_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed endpoint slice; what was wrong with the endpoints before may stay."""
    errors = _type_and_ports(new)
    if not same(new.get("endpoints"), old.get("endpoints")):
        errors += _endpoints(new)
    return errors + immutable(new.get("addressType", ""), old.get("addressType", ""), "addressType")


def _type_and_ports(obj: Json) -> list[FieldError]:
    errors = one_of(obj.get("addressType", ""), "addressType", _ADDRESS_TYPES)
    ports = obj.get("ports") or []
    if len(ports) > 20000:
        return [*errors, too_many("ports", len(ports), 20000)]
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name, protocol = f"ports[{index}]", port.get("name") or "", port.get("protocol")
        if name:
            errors += dns_label(name, f"{where}.name")
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.add(name)
        if protocol is None:
            errors.append(required(f"{where}.protocol"))
        elif protocol not in PROTOCOLS:
            errors.append(not_supported(f"{where}.protocol", protocol, PROTOCOLS))
        if port.get("appProtocol") is not None:
            errors += label_name(port["appProtocol"], f"{where}.appProtocol")
    return errors


def _endpoints(obj: Json) -> list[FieldError]:
    endpoints, kind = obj.get("endpoints") or [], obj.get("addressType", "")
    if len(endpoints) > 1000:
        return [too_many("endpoints", len(endpoints), 1000)]
    errors: list[FieldError] = []
    for index, endpoint in enumerate(endpoints):
        where = f"endpoints[{index}]"
        addresses = endpoint.get("addresses") or []
        if not addresses:
            errors.append(required(f"{where}.addresses", "must contain at least 1 address"))
        elif len(addresses) > 100:
            errors.append(too_many(f"{where}.addresses", len(addresses), 100))
        for number, address in enumerate(addresses):
            errors += _slice_address(address, kind, f"{where}.addresses", number)
        if endpoint.get("nodeName") is not None:
            errors += dns_subdomain(endpoint["nodeName"], f"{where}.nodeName")
        if endpoint.get("hostname") is not None:
            errors += dns_label(endpoint["hostname"], f"{where}.hostname")
        errors += _hints(endpoint.get("hints") or {}, f"{where}.hints")
    return errors


def _slice_address(address: str, kind: str, path: str, index: int) -> list[FieldError]:
    where = f"{path}[{index}]"
    if kind == "FQDN":
        return _domain_name(address, where)
    if kind not in _ADDRESS_TYPES:
        return []
    errors = valid_ip(address, where)
    parsed = parse_ip(address)
    if errors or parsed is None:
        return errors
    if kind == "IPv6" and parsed.version == 6 and str(parsed) != address:
        return [invalid(where, address, f'must be in canonical form ("{parsed}")')]
    if kind != f"IPv{parsed.version}":
        errors.append(invalid(path, address, f"must be an {kind} address"))
    return errors + endpoint_ip(address, where)


def _domain_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    messages = dns1123_subdomain(name)
    if messages:
        return [invalid(path, name, ",".join(messages))]
    parts = name.split(".")
    if len(parts) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for part in parts:
        messages = dns1123_label(part)
        if messages:
            return [invalid(path, part, ",".join(messages))]
    return []


def _hints(hints: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, rule in (("forZones", label_value), ("forNodes", dns1123_subdomain)):
        names = [hint.get("name", "") for hint in hints.get(field) or []]
        if len(names) > 8:
            return [*errors, too_many(f"{path}.{field}", len(names), 8)]
        for index, name in enumerate(names):
            where = f"{path}.{field}[{index}].name"
            if name in names[:index]:
                errors.append(duplicate(where, name))
            errors += bad(where, name, rule(name))
    return errors
