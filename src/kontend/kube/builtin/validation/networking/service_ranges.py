"""Validates IPAddresses and ServiceCIDRs: the addresses that services hold, and the ranges that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.builtin.validation.checks import IMMUTABLE, bad, immutable, parse_cidr, strict_cidr, strict_ip
from kontend.kube.field_errors import FieldError, Verbatim, go_json, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain, path_segment

_ONE_OF_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def ip_address_name(name: str) -> list[str]:
    """Return the rule of names of IPAddresses: an address in canonical form.

    >>> ip_address_name("10.0.0.1"), ip_address_name("2001:DB8::1")
    ([], ['must be in canonical form ("2001:db8::1")'])
    """
    return [error.detail for error in strict_ip(name, "")]


def validate_ip_address(obj: Json) -> list[FieldError]:
    """Validate an IPAddress."""
    reference: Mapping[str, Any] | None = (obj.get("spec") or {}).get("parentRef")
    if reference is None:
        return [required("spec.parentRef")]
    path = "spec.parentRef"
    group, resource, name = (reference.get(field) or "" for field in ("group", "resource", "name"))
    errors = bad(f"{path}.group", group, dns1123_subdomain(group)) if group else []
    for field, value in (("resource", resource), ("name", name)):
        where = f"{path}.{field}"
        errors += bad(where, value, path_segment(value)) if value else [required(where)]
    namespace = reference.get("namespace") or ""
    return errors + (bad(f"{path}.namespace", namespace, path_segment(namespace)) if namespace else [])


def validate_ip_address_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a change of an IPAddress, whose parent must stay."""
    now, before = ((version.get("spec") or {}).get("parentRef") for version in (new, old))
    return validate_ip_address(new) + immutable(now, before, "spec.parentRef", _internal_reference(now))


def _internal_reference(reference: Mapping[str, Any] | None) -> Any:
    """Return a reference as the server's internal type shows it."""
    if reference is None:
        return None
    fields = {name.capitalize(): reference.get(name) or "" for name in ("group", "resource", "namespace", "name")}
    return Verbatim("{" + ",".join(f"{go_json(name)}:{go_json(value)}" for name, value in fields.items()) + "}")


def validate_service_cidr(obj: Json) -> list[FieldError]:
    """Validate a ServiceCIDR."""
    ranges = _ranges(obj)
    path = "spec.cidrs"
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > 2:
        return [invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")]
    errors = [error for index, text in enumerate(ranges) for error in strict_cidr(text, f"{path}[{index}]")]
    families = [None if (parsed := parse_cidr(text)) is None else parsed.version for text in ranges]
    if len(ranges) == 2 and families[0] == families[1] and families[0] is not None:
        errors.append(invalid(path, ranges, _ONE_OF_EACH))
    return errors


def validate_service_cidr_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a change of a ServiceCIDR, which may only get a second range."""
    now, before = _ranges(new), _ranges(old)
    if len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [invalid(f"spec.cidrs[{index}]", text, IMMUTABLE) for index, (text, was) in pairs if text != was]
    if (len(before), len(now)) == (1, 2):
        errors = [] if now[0] == before[0] else [invalid("spec.cidrs[0]", now[0], IMMUTABLE)]
        return errors + validate_service_cidr(new)
    return [invalid("spec.cidrs", (new.get("spec") or {}).get("cidrs"), IMMUTABLE)]


def _ranges(obj: Json) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []
