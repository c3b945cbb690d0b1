"""Deployments, stateful sets and daemon sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import (
    at_most_all,
    dns_label,
    immutable,
    int_or_percent,
    non_negative,
    path_of,
    percent_of,
)
from kontend.kube.builtin.validation.pods.pod_template import template_metadata, validate_pod_template
from kontend.kube.builtin.validation.storage.volume_claim import validate_claim_spec
from kontend.kube.builtin.validation.workloads.replication import (
    always_restarted,
    counts,
    not_more_than,
    selector_and_template,
    selector_problems,
    template_matches,
)
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json

_STATEFUL_SET_UPDATABLE: Final = (
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)  # fmt: skip
_STATEFUL_SET_FORBIDDEN: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _number(value: int | str | None) -> int:
    percent = percent_of(value)
    if percent is not None:
        return percent
    return value if isinstance(value, int) else 0


def validate_deployment(obj: Json) -> list[FieldError]:
    """Validate a deployment."""
    spec = obj.get("spec") or {}
    errors = non_negative(spec.get("replicas"), "spec.replicas")
    errors += selector_and_template(spec, "deployment", "ReplicaSet")
    errors += _deployment_strategy(spec.get("strategy") or {}, "spec.strategy")
    errors += non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += non_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += non_negative(deadline, "spec.progressDeadlineSeconds")
        if deadline <= (spec.get("minReadySeconds") or 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _deployment_strategy(strategy: Json, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(f"{path}.rollingUpdate", why)]
    if kind != "RollingUpdate":
        return [not_supported(path, shown_as("DeploymentStrategy", strategy), ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    unavailable, surge, where = rolling.get("maxUnavailable"), rolling.get("maxSurge"), f"{path}.rollingUpdate"
    errors = int_or_percent(unavailable, f"{where}.maxUnavailable") + int_or_percent(surge, f"{where}.maxSurge")
    if _number(unavailable) == 0 and _number(surge) == 0:
        errors.append(invalid(f"{where}.maxUnavailable", unavailable or 0, "may not be 0 when `maxSurge` is 0"))
    return errors + at_most_all(unavailable, f"{where}.maxUnavailable")


def validate_deployment_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed deployment."""
    return validate_deployment(new) + same_selector(new, old)


def same_selector(new: Json, old: Json) -> list[FieldError]:
    """Return a selector never changes."""
    selector = path_of(new, "spec", "selector")
    shown = shown_as("LabelSelector", selector)
    return immutable(selector, path_of(old, "spec", "selector"), "spec.selector", shown)


def validate_deployment_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = new.get("status") or {}
    fields = (
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount",
    )  # fmt: skip
    errors = counts(status, fields)
    errors += not_more_than(status, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    if (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        why = "cannot be greater than readyReplicas"
        errors.append(invalid("status.availableReplicas", status["availableReplicas"], why))
    return errors + _collisions(status, old)


def _collisions(status: Mapping[str, Any], old: Json) -> list[FieldError]:
    count, before = status.get("collisionCount"), path_of(old, "status", "collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]


def validate_stateful_set(obj: Json) -> list[FieldError]:
    """Validate a stateful set."""
    return _stateful_set(obj.get("spec") or {}, new=True)


def _stateful_set(spec: Json, *, new: bool) -> list[FieldError]:
    errors = _pod_management(spec) + _stateful_set_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    for field in ("whenDeleted", "whenScaled"):
        if retention is not None and retention.get(field, "") not in ("Retain", "Delete"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(not_supported(path, retention.get(field, ""), ("Retain", "Delete")))
    claims = spec.get("volumeClaimTemplates") or []
    for index, claim in enumerate(claims if new else []):
        errors += validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    errors += non_negative(spec.get("replicas"), "spec.replicas")
    errors += non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += non_negative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start")
    if new and spec.get("serviceName"):
        errors += dns_label(spec["serviceName"], "spec.serviceName")
    selector, template = spec.get("selector"), spec.get("template") or {}
    selector_errors = selector_problems(selector, "statefulset")
    errors += selector_errors
    if selector_errors and selector:
        errors.append(invalid("spec.selector", shown_as("LabelSelector", selector), ""))
    else:
        errors += template_matches(selector, template)
        errors += validate_pod_template(_with_claims(template, claims), "spec.template")
        errors += template_metadata(template, "spec.template")  # the server looks twice
    return errors + always_restarted(template, "StatefulSet")


def _pod_management(spec: Json) -> list[FieldError]:
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        return [required("spec.podManagementPolicy")]
    if policy in ("OrderedReady", "Parallel"):
        return []
    return [invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")]


def _stateful_set_strategy(strategy: Json, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = shown_as("RollingUpdateStatefulSetStrategy", rolling)
        return [invalid(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = shown_as("StatefulSetUpdateStrategy", strategy)
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    errors = non_negative(rolling.get("partition"), f"{path}.rollingUpdate.partition")
    unavailable, where = rolling.get("maxUnavailable"), f"{path}.rollingUpdate.maxUnavailable"
    if unavailable is not None:
        errors += int_or_percent(unavailable, where)
        if _number(unavailable) == 0:
            errors.append(invalid(where, unavailable, "cannot be 0"))
        errors += at_most_all(unavailable, where)
    return errors


def _with_claims(template: Json, claims: list[Json]) -> Json:
    """Return the template as the pods will have it: with a volume for each claim, without the names of the host."""
    spec = template.get("spec") or {}
    if not (claims or spec.get("subdomain") or spec.get("hostname")):
        return template
    spec = {key: value for key, value in spec.items() if key not in ("subdomain", "hostname")}
    if claims:
        names = list(dict.fromkeys((claim.get("metadata") or {}).get("name", "") for claim in claims))
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        spec["volumes"] = added + [
            volume for volume in spec.get("volumes") or [] if volume.get("name", "") not in names
        ]
    return {**template, "spec": spec}


def validate_stateful_set_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed stateful set: most of it is fixed."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors = _stateful_set(spec, new=False)
    fixed, fixed_before = (
        {key: value for key, value in version.items() if key not in _STATEFUL_SET_UPDATABLE and value}
        for version in (spec, before)
    )
    return errors if fixed == fixed_before else [*errors, forbidden("spec", _STATEFUL_SET_FORBIDDEN)]


def validate_stateful_set_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = new.get("status") or {}
    replicas = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    errors = counts(status, ("replicas", *replicas, "observedGeneration", "collisionCount"))
    errors += not_more_than(status, replicas)
    if (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        why = "cannot be greater than status.readyReplicas"
        errors.append(invalid("status.availableReplicas", status["availableReplicas"], why))
    return errors + _collisions(status, old)


def validate_daemon_set(obj: Json) -> list[FieldError]:
    """Validate a daemon set."""
    spec = obj.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template") or {}
    selector_errors = [error for error in selector_problems(selector, "daemonset") if error.field != "spec.selector"]
    errors = list(selector_errors)
    if not selector_errors:
        errors += template_matches(selector, template, even_if_empty=True)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        shown = shown_as("LabelSelector", selector)
        errors.append(invalid("spec.selector", shown, "empty selector is invalid for daemonset"))
    errors += validate_pod_template(template, "spec.template")
    errors += always_restarted(template, "DaemonSet")
    errors += non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += _daemon_set_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    return errors + non_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def _daemon_set_strategy(strategy: Json, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(path, shown_as("DaemonSetUpdateStrategy", strategy), ("RollingUpdate", "OnDelete"))]
    if rolling is None:
        return [required(f"{path}.rollingUpdate")]
    unavailable, surge, where = rolling.get("maxUnavailable"), rolling.get("maxSurge"), f"{path}.rollingUpdate"
    errors = int_or_percent(unavailable, f"{where}.maxUnavailable") + int_or_percent(surge, f"{where}.maxSurge")
    errors += at_most_all(unavailable, f"{where}.maxUnavailable") + at_most_all(surge, f"{where}.maxSurge")
    if _number(unavailable) and _number(surge):
        errors.append(invalid(f"{where}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not _number(unavailable) and not _number(surge):
        errors.append(required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def validate_daemon_set_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed daemon set."""
    return same_selector(new, old) + validate_daemon_set(new)


def validate_daemon_set_status_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = new.get("status") or {}
    fields = (
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    )  # fmt: skip
    return counts(status, fields) + _collisions(status, old)


def validate_controller_revision(obj: Json) -> list[FieldError]:
    """Validate a new revision."""
    errors = non_negative(obj.get("revision"), "revision")
    data = obj.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def validate_controller_revision_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed revision."""
    return non_negative(new.get("revision"), "revision") + immutable(new.get("data"), old.get("data"), "data")
