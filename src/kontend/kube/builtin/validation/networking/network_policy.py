"""Network policies."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.validation.checks import bad, label_selector, parse_cidr, port_number, valid_cidr
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import port_name

_TYPES: Final = ("Ingress", "Egress")


def validate_network_policy(obj: Json) -> list[FieldError]:
    """Validate a network policy."""
    spec = obj.get("spec") or {}
    errors = label_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or []):
            where = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or []):
                errors += _port(port, f"{where}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or []):
                errors += _peer(peer, f"{where}.{peers}[{number}]")
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for index, kind in enumerate(types):
        if kind not in _TYPES:
            errors.append(not_supported(f"spec.policyTypes[{index}]", kind, _TYPES))
    return errors


def _port(given: Json, path: str) -> list[FieldError]:
    protocol, port, end, where = given.get("protocol"), given.get("port"), given.get("endPort"), f"{path}.endPort"
    errors: list[FieldError] = []
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        errors.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if port is None:
        if end is not None:
            errors.append(invalid(where, end, "may not be specified when `port` is not specified"))
    elif isinstance(port, str):
        if end is not None:
            errors.append(invalid(where, end, "may not be specified when `port` is non-numeric"))
        errors += bad(f"{path}.port", port, port_name(port))
    else:
        errors += port_number(port, f"{path}.port")
        if end is not None:
            if end < port:
                errors.append(invalid(where, port, "must be greater than or equal to `port`"))
            errors += port_number(end, where)
    return errors


def _peer(peer: Json, path: str) -> list[FieldError]:
    given = [field for field in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(field) is not None]
    if not given:
        return [required(path, "must specify a peer")]
    errors: list[FieldError] = []
    for field in given:
        where = f"{path}.{field}"
        errors += _ip_block(peer[field], where) if field == "ipBlock" else label_selector(peer[field], where)
    if len(given) > 1 and "ipBlock" in given:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _ip_block(block: Json, path: str) -> list[FieldError]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = valid_cidr(cidr, f"{path}.cidr")
    whole = parse_cidr(cidr)
    for index, text in enumerate(block.get("except") or [] if whole else []):
        where = f"{path}.except[{index}]"
        errors += valid_cidr(text, where)
        part = parse_cidr(text)
        if part is None or whole is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            errors.append(invalid(where, text, "must be a strict subset of `cidr`"))
    return errors
