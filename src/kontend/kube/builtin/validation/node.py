"""Nodes and runtime classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import bad, immutable, label_name, labels, parse_cidr, path_of, valid_cidr
from kontend.kube.builtin.validation.pods.scheduling import TAINT_EFFECTS, tolerations
from kontend.kube.builtin.validation.resources import quantity_value, resource_requirements
from kontend.kube.field_errors import (
    DUPLICATE,
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
from kontend.kube.meta.name_rules import dns1123_label, label_value


def validate_node(obj: Json) -> list[FieldError]:
    """Validate a node."""
    spec = obj.get("spec") or {}
    # The server really says that taints are in the metadata.
    errors = _taints(spec.get("taints") or [], "metadata.taints") + _resources(obj)
    ranges = spec.get("podCIDRs") or []
    for index, text in enumerate(ranges):
        errors += valid_cidr(text, f"spec.podCIDRs[{index}]")
    if len(ranges) > 1:
        versions = {network.version for network in map(parse_cidr, ranges) if network is not None}
        if len(ranges) > 2 or len(versions) < 2:
            why = "may specify no more than one CIDR for each IP family"
            errors.append(invalid("spec.podCIDRs", ranges, why))
    return errors


def _taints(taints: list[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where = f"{path}[{index}]"
        key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
        errors += label_name(key, f"{where}.key")
        messages = label_value(value)
        if messages:
            errors.append(invalid(f"{where}.value", value, ";".join(messages)))
        if not effect:
            errors.append(required(f"{where}.effect"))
        elif effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{where}.effect", effect, TAINT_EFFECTS))
        if (key, effect) in seen:
            why = "taints must be unique by key and effect pair"
            errors.append(FieldError(DUPLICATE, where, why, shown_as("Taint", taint)))
        seen.add((key, effect))
    return errors


def _resources(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        amounts: Mapping[str, Any] = path_of(obj, "status", field) or {}
        for name, value in amounts.items():
            errors += quantity_value(name, value, f"status.{field}.{name}")
    return errors


def validate_node_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed node."""
    errors = _resources(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    seen = []
    for index, address in enumerate(path_of(new, "status", "addresses") or []):
        if address in seen:
            kind, text = address.get("type", ""), address.get("address", "")
            shown = Verbatim(f'{{"Type":{go_quote(kind)},"Address":{go_quote(text)}}}')
            errors.append(duplicate(f"status.addresses[{index}]", shown))
        seen.append(address)
    ranges, old_ranges = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if old_ranges:
        pairs = zip(ranges, old_ranges, strict=False)
        count = 1 if len(ranges) != len(old_ranges) else sum(one != other for one, other in pairs)
        why = 'node updates may not change podCIDR except from "" to valid'
        errors += [forbidden("spec.podCIDRs", why)] * count
    if before.get("providerID") and before["providerID"] != spec.get("providerID", ""):
        why = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", why))
    errors += _taints(spec.get("taints") or [], "metadata.taints")
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def validate_runtime_class(obj: Json) -> list[FieldError]:
    """Validate a runtime class."""
    handler = obj.get("handler", "")
    errors = bad("handler", handler, dns1123_label(handler))
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling")
    if overhead is not None:
        errors += resource_requirements({"limits": overhead.get("podFixed") or {}}, frozenset(), "overhead")
    if scheduling is None:
        return errors
    errors += labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    given = scheduling.get("tolerations") or []
    errors += tolerations(given, "scheduling.tolerations")
    keys = [
        tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect")) for toleration in given
    ]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            errors.append(duplicate(f"scheduling.tolerations[{index}]", shown_as("Toleration", given[index])))
    return errors


def validate_runtime_class_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed runtime class."""
    return validate_runtime_class(new) + immutable(new.get("handler", ""), old.get("handler", ""), "handler")
