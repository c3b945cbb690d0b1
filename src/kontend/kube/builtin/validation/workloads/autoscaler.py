"""Horizontal pod autoscalers in their second version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.amounts import amount
from kontend.kube.builtin.validation.checks import NEGATIVE, bad, dns_label, non_negative, path_of
from kontend.kube.builtin.validation.resources import container_resource_name
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import path_segment

_METRICS: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
#: In the order in which the server looks.
_SOURCES: Final = ("object", "external", "pods", "resource", "containerResource")


def validate_autoscaler(new: Json, old: Json | None = None) -> list[FieldError]:
    """Validate an autoscaler, new or changed."""
    spec = new.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    lowest = 0 if path_of(old or {}, "spec", "minReplicas") == 0 else 1
    errors: list[FieldError] = []
    if least is not None and least < lowest:
        errors.append(invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}"))
    if most < 1:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target, before = spec.get("scaleTargetRef") or {}, path_of(old or {}, "spec", "scaleTargetRef")
    kept = before is not None and all(target.get(f, "") == before.get(f, "") for f in ("apiVersion", "kind"))
    errors += _reference(
        target,
        "spec.scaleTargetRef",
        check_version=not kept,
        group_required=target.get("kind") != "ReplicationController",
    )
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        errors += _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", why))
    for direction in ("scaleUp", "scaleDown"):
        rules = path_of(spec, "behavior", direction)
        if rules is not None:
            errors += _rules(rules, f"spec.behavior.{direction}")
    return errors


def _reference(
    reference: Mapping[str, Any], path: str, *, check_version: bool = True, group_required: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("kind", "name"):
        value = reference.get(field, "")
        errors += bad(f"{path}.{field}", value, path_segment(value)) if value else [required(f"{path}.{field}")]
    version = reference.get("apiVersion", "")
    if check_version and version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        errors.append(invalid(f"{path}.apiVersion", version, why))
    elif check_version and group_required and not version.rpartition("/")[0]:
        errors.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def _metric(metric: Json, path: str) -> list[FieldError]:
    kind = metric.get("type", "")
    errors: list[FieldError] = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    unsupported = not_supported(f"{path}.type", kind, tuple(_METRICS))
    if kind not in _METRICS:
        errors.append(unsupported)
    present = [source for source in _SOURCES if metric.get(source) is not None]
    if present:
        errors += _source(present[0], metric[present[0]], f"{path}.{present[0]}")
    expected = _METRICS.get(kind)
    if expected is None:
        errors.append(unsupported)
    elif metric.get(expected) is None:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        why = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{source}", why) for source in present if source != expected]
    return errors


def _source(kind: str, source: Json, path: str) -> list[FieldError]:
    target, where = source.get("target") or {}, f"{path}.target"
    value, average, utilization = (target.get(f) for f in ("value", "averageValue", "averageUtilization"))
    errors: list[FieldError] = []
    if kind == "object":
        errors += _reference(source.get("describedObject") or {}, f"{path}.describedObject")
    if kind in ("object", "external", "pods"):
        name = path_of(source, "metric", "name") or ""
        name_errors = bad(f"{path}.metric.name", name, path_segment(name))
        errors += name_errors if name else [required(f"{path}.metric.name", "must specify a metric name")]
    else:
        name = source.get("name", "")
        if not name:
            errors.append(required(f"{path}.name", "must specify a resource name"))
        elif kind == "containerResource":
            errors += container_resource_name(name, f"{path}.name")
    if kind == "containerResource":
        container = source.get("container", "")
        name_errors = dns_label(container, f"{path}.container")
        errors += name_errors if container else [required(f"{path}.container", "must specify a container")]
    errors += _target(target, where)
    if kind == "object" and value is None and average is None:
        errors.append(required(f"{where}.averageValue", "must set either a target value or averageValue"))
    if kind == "external":
        if value is None and average is None:
            why = "must set either a target value for metric or a per-pod target"
            errors.append(required(f"{where}.averageValue", why))
        if value is not None and average is not None:
            why = "may not set both a target value for metric and a per-pod target"
            errors.append(forbidden(f"{where}.value", why))
    if kind == "pods" and average is None:
        errors.append(required(f"{where}.averageValue", "must specify a positive target averageValue"))
    if kind in ("resource", "containerResource"):
        if utilization is None and average is None:
            why = "must set either a target raw value or a target utilization"
            errors.append(required(f"{where}.averageUtilization", why))
        if utilization is not None and average is not None:
            why = "may not set both a target raw value and a target utilization"
            errors.append(forbidden(f"{where}.averageValue", why))
    return errors


def _target(target: Json, path: str) -> list[FieldError]:
    kind, utilization = target.get("type", ""), target.get("averageUtilization")
    errors: list[FieldError] = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        if target.get(field) is not None and amount(target[field]) <= 0:
            errors.append(invalid(f"{path}.{field}", str(target[field]), "must be positive"))
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _rules(rules: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    window, select, policies = (rules.get(f) for f in ("stabilizationWindowSeconds", "selectPolicy", "policies"))
    where = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(invalid(where, window, "must be greater than or equal to zero"))
    if window is not None and window > 3600:
        errors.append(invalid(where, window, "must be less than or equal to 3600"))
    if select is not None and select not in ("Disabled", "Max", "Min"):
        errors.append(not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min")))
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies or []):
        where = f"{path}.policies[{index}]"
        if policy.get("type", "") not in ("Percent", "Pods"):
            errors.append(not_supported(f"{where}.type", policy.get("type", ""), ("Percent", "Pods")))
        for field in ("value", "periodSeconds"):
            if (policy.get(field) or 0) <= 0:
                errors.append(invalid(f"{where}.{field}", policy.get(field) or 0, "must be greater than zero"))
        if (policy.get("periodSeconds") or 0) > 1800:
            why = "must be less than or equal to 1800"
            errors.append(invalid(f"{where}.periodSeconds", policy["periodSeconds"], why))
    tolerance = rules.get("tolerance")
    if tolerance is not None and amount(tolerance) < 0:
        errors.append(invalid(f"{path}.tolerance", str(tolerance), NEGATIVE))
    return errors


def validate_autoscaler_status(new: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = new.get("status") or {}
    errors = non_negative(status.get("currentReplicas"), "status.currentReplicas")
    return errors + non_negative(status.get("desiredReplicas"), "status.desiredReplicas")
