"""Replica sets and replication controllers, and what they share with the other kinds that run pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import immutable, label_selector, non_negative, selects
from kontend.kube.builtin.validation.pods.pod_template import validate_pod_template
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json


def selector_problems(selector: Json | None, kind: str) -> list[FieldError]:
    """List the errors in the selector in the spec of a workload."""
    if selector is None:
        return [required("spec.selector")]
    errors = label_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        why = f"empty selector is invalid for {kind}"
        errors.append(invalid("spec.selector", shown_as("LabelSelector", selector), why))
    return errors


def template_matches(selector: Json | None, template: Json, *, even_if_empty: bool = False) -> list[FieldError]:
    """A workload must select the pods that it makes."""
    if selector is not None and not even_if_empty and not any(selector.values()):
        return []
    labels = (template.get("metadata") or {}).get("labels")
    if selects(selector, labels or {}):
        return []
    why = "`selector` does not match template `labels`"
    return [invalid("spec.template.metadata.labels", labels, why)]


def always_restarted(template: Json, kind: str) -> list[FieldError]:
    """Pods that are kept running restart always and have no deadline."""
    spec = template.get("spec") or {}
    errors = []
    if spec.get("restartPolicy", "") != "Always":
        path = "spec.template.spec.restartPolicy"
        errors.append(not_supported(path, spec.get("restartPolicy", ""), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return errors


def selector_and_template(spec: Json, kind: str, template_kind: str) -> list[FieldError]:
    """Selector and template, one after the other."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = selector_problems(selector, kind)
    if selector is not None and label_selector(selector, ""):
        return [*errors, invalid("spec.selector", shown_as("LabelSelector", selector), "invalid label selector")]
    errors += template_matches(selector, template)
    errors += validate_pod_template(template, "spec.template")
    return errors + always_restarted(template, template_kind)


def counts(status: Mapping[str, Any], fields: tuple[str, ...]) -> list[FieldError]:
    """Numbers in a status, none of them negative."""
    errors: list[FieldError] = []
    for field in fields:
        errors += non_negative(status.get(field), f"status.{field}")
    return errors


def not_more_than(status: Mapping[str, Any], fields: tuple[str, ...]) -> list[FieldError]:
    """Parts of the replicas are not more than the replicas."""
    replicas = status.get("replicas") or 0
    why = "cannot be greater than status.replicas"
    return [invalid(f"status.{f}", status.get(f) or 0, why) for f in fields if (status.get(f) or 0) > replicas]


def validate_replica_set(obj: Json) -> list[FieldError]:
    """Validate a replica set."""
    spec = obj.get("spec") or {}
    errors = non_negative(spec.get("replicas"), "spec.replicas")
    errors += non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    return errors + selector_and_template(spec, "deployment", "ReplicaSet")


def validate_replica_set_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed replica set."""
    selector, before = ((version.get("spec") or {}).get("selector") for version in (new, old))
    shown = shown_as("LabelSelector", selector)
    return validate_replica_set(new) + immutable(selector, before, "spec.selector", shown)


def validate_replica_set_status(status: Mapping[str, Any]) -> list[FieldError]:
    """Validate the status of a replica set or a replication controller."""
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    errors = counts(status, ("replicas", *parts, "observedGeneration", "terminatingReplicas"))
    errors += not_more_than(status, parts)
    if (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        why = "cannot be greater than readyReplicas"
        errors.append(invalid("status.availableReplicas", status["availableReplicas"], why))
    return errors


def validate_replication_controller(obj: Json) -> list[FieldError]:
    """Validate a replication controller."""
    spec = obj.get("spec") or {}
    selector, template = spec.get("selector") or {}, spec.get("template")
    errors = non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    if not selector:
        errors.append(required("spec.selector"))
    if spec.get("replicas") is None:
        errors.append(required("spec.replicas"))
    errors += non_negative(spec.get("replicas"), "spec.replicas")
    if template is None:
        return [*errors, required("spec.template")]
    errors += template_matches({"matchLabels": selector}, template)
    errors += validate_pod_template(template, "spec.template")
    return errors + always_restarted(template, "ReplicationController")
