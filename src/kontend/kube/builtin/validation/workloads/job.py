"""Jobs: their specs, also inside of cron jobs, and what may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import (
    immutable,
    label_name,
    label_selector,
    non_negative,
    path_of,
    selects,
)
from kontend.kube.builtin.validation.domain_path import domain_prefixed_path
from kontend.kube.builtin.validation.pods.pod_template import validate_pod_template
from kontend.kube.builtin.validation.workloads.index_intervals import IntervalError, count_indexes
from kontend.kube.field_errors import (
    OMITTED,
    FieldError,
    duplicate,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label

_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_SPEC: Final = "spec"
_TEMPLATE_LABELS: Final = "spec.template.metadata.labels"
_POLICIES: Final = {"podFailurePolicy": "PodFailurePolicy", "successPolicy": "SuccessPolicy"}
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")


def validate_job(job: Json) -> list[FieldError]:
    """Validate a job."""
    return _validate_job(job, prefixed_labels=True)


def _validate_job(job: Json, *, prefixed_labels: bool) -> list[FieldError]:
    spec, name = job.get("spec") or {}, (job.get("metadata") or {}).get("name", "")
    errors = _generated_selector(job, prefixed_labels=prefixed_labels) + _spec_with_selector(spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if dns1123_label(hostname):
            why = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(invalid("metadata.name", name, why))
    return errors


def _generated_selector(job: Json, *, prefixed_labels: bool) -> list[FieldError]:
    spec, metadata = job.get("spec") or {}, job.get("metadata") or {}
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    errors = [] if metadata.get("uid") else [required("metadata.uid")]
    labels = path_of(spec, "template", "metadata", "labels") or {}
    expected: dict[str, str] = {}
    for uid_label, name_label in list(zip(_UID_LABELS, _NAME_LABELS, strict=True))[: 2 if prefixed_labels else 1]:
        for key, value in ((uid_label, metadata.get("uid", "")), (name_label, metadata.get("name", ""))):
            expected[key] = value
            if key not in labels:
                errors.append(required(f"{_TEMPLATE_LABELS}[{key}]", f"must be '{value}'"))
            elif labels[key] != value:
                errors.append(invalid(f"{_TEMPLATE_LABELS}[{key}]", labels, f"must be '{value}'"))
    if not label_selector(spec["selector"], "") and not selects(spec["selector"], expected):
        shown = shown_as("LabelSelector", spec["selector"])
        errors.append(invalid("spec.selector", shown, "`selector` not auto-generated"))
    return errors


def _spec_with_selector(spec: Json) -> list[FieldError]:
    errors = validate_job_spec(spec, _SPEC)
    selector = spec.get("selector")
    selector_errors = [required("spec.selector")] if selector is None else label_selector(selector, "spec.selector")
    errors += selector_errors
    labels = path_of(spec, "template", "metadata", "labels")
    if (selector is None or not selector_errors) and not selects(selector, labels or {}):
        errors.append(invalid(_TEMPLATE_LABELS, labels, "`selector` does not match template `labels`"))
    return errors


def validate_job_spec(spec: Json, path: str) -> list[FieldError]:
    """Validate the spec of a job, apart from its selector."""
    errors: list[FieldError] = []
    for field in (
        "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    ):  # fmt: skip
        errors += non_negative(spec.get(field), f"{path}.{field}")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += _managed_by(spec["managedBy"], f"{path}.managedBy")
    errors += _completion_mode(spec, path)
    template = spec.get("template") or {}
    if spec.get("podFailurePolicy") is not None:
        errors += _failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") != "Indexed":
            shown = shown_as("SuccessPolicy", spec["successPolicy"])
            errors.append(invalid(f"{path}.successPolicy", shown, "requires indexed completion mode"))
        else:
            errors += _success_policy(spec, f"{path}.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in allowed:
        errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, allowed))
    errors += validate_pod_template(template, f"{path}.template")
    restart, where = (template.get("spec") or {}).get("restartPolicy", ""), f"{path}.template.spec.restartPolicy"
    if restart in ("", "Always"):
        errors.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif restart not in ("OnFailure", "Never"):
        errors.append(not_supported(where, restart, ("OnFailure", "Never")))
    elif spec.get("podFailurePolicy") is not None and restart != "Never":
        errors.append(invalid(where, restart, 'only "Never" is supported when podFailurePolicy is specified'))
    return errors


def _managed_by(value: str, path: str) -> list[FieldError]:
    errors = domain_prefixed_path(value, path)
    return [*errors, too_long(path, 63)] if len(value) > 63 else errors


def _completion_mode(spec: Json, path: str) -> list[FieldError]:
    mode, completions, parallelism = (spec.get(key) for key in ("completionMode", "completions", "parallelism"))
    failed = spec.get("maxFailedIndexes")
    errors = []
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                errors.append(invalid(f"{path}.{field}", spec[field], "requires indexed completion mode"))
    if mode != "Indexed":
        return errors
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > 100000:
        why = "must be less than or equal to 100000 when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, why))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > 100000:
        errors.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to 100000"))
    if completions is not None and completions > 100000 and spec.get("backoffLimitPerIndex") is not None:
        tail = "when completions are above 100000 and used with backoff limit per index"
        if failed is None:
            errors.append(required(f"{path}.maxFailedIndexes", "must be specified when completions is above 100000"))
        for field in ("parallelism", "maxFailedIndexes"):
            if spec.get(field) is not None and spec[field] > 10000:
                errors.append(invalid(f"{path}.{field}", spec[field], f"must be less than or equal to 10000 {tail}"))
    return errors


def _listed(values: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(go_quote(value) for value in values) + "]"


def _failure_policy(spec: Json, path: str) -> list[FieldError]:
    rules = spec["podFailurePolicy"].get("rules") or []
    errors = [too_many(f"{path}.rules", len(rules), 20)] if len(rules) > 20 else []
    pod = path_of(spec, "template", "spec") or {}
    names = {
        container.get("name", "") for field in ("containers", "initContainers") for container in pod.get(field) or []
    }
    for index, rule in enumerate(rules):
        where, action = f"{path}.rules[{index}]", rule.get("action", "")
        if not action:
            errors.append(required(f"{where}.action", _listed(_ACTIONS)))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            errors.append(invalid(f"{where}.action", action, "requires the backoffLimitPerIndex to be set"))
        elif action not in _ACTIONS:
            errors.append(not_supported(f"{where}.action", action, _ACTIONS))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            errors += _exit_codes(codes, names, f"{where}.onExitCodes")
        errors += _pod_conditions(conditions, f"{where}.onPodConditions")
        if codes is not None and conditions:
            why = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(invalid(where, OMITTED, why))
        elif codes is None and not conditions:
            errors.append(invalid(where, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _exit_codes(codes: Mapping[str, Any], names: set[str], path: str) -> list[FieldError]:
    operator, values, container = codes.get("operator", ""), codes.get("values") or [], codes.get("containerName")
    errors = []
    if not operator:
        errors.append(required(f"{path}.operator", _listed(("In", "NotIn"))))
    elif operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, why))
    if not values:
        errors.append(invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > 255:
        errors.append(too_many(f"{path}.values", len(values), 255))
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(duplicate(f"{path}.values[{index}]", value))
        seen.add(value)
    if list(values) != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))
    return errors


def _pod_conditions(patterns: list[Json], path: str) -> list[FieldError]:
    errors = [too_many(path, len(patterns), 20)] if len(patterns) > 20 else []
    statuses = ("False", "True", "Unknown")
    for index, pattern in enumerate(patterns):
        status = pattern.get("status", "")
        errors += label_name(pattern.get("type", ""), f"{path}[{index}].type")
        if not status:
            errors.append(required(f"{path}[{index}].status", _listed(statuses)))
        elif status not in statuses:
            errors.append(not_supported(f"{path}[{index}].status", status, statuses))
    return errors


def _success_policy(spec: Json, path: str) -> list[FieldError]:
    rules, completions = spec["successPolicy"].get("rules") or [], spec.get("completions") or 0
    errors: list[FieldError] = []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", why))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.rules", len(rules), 20))
    for index, rule in enumerate(rules):
        where, count, indexes = f"{path}.rules[{index}]", rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            errors.append(required(where, "at least one of succeededCount or succeededIndexes must be specified"))
        total = 0
        if indexes is not None:
            try:
                total = count_indexes(indexes, completions)
            except IntervalError as error:
                why = f"error parsing succeededIndexes: {error}"
                errors.append(invalid(f"{where}.succeededIndexes", indexes, why))
        if count is not None:
            errors += non_negative(count, f"{where}.succeededCount")
            if count > completions:
                why = f"must be less than or equal to {completions} (the number of specified completions)"
                errors.append(invalid(f"{where}.succeededCount", count, why))
            if indexes is not None and count > total:
                what = "the number of indexes in the specified succeededIndexes field"
                why = f"must be less than or equal to {total} ({what})"
                errors.append(invalid(f"{where}.succeededCount", count, why))
    return errors


def validate_job_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed job; the server checks the whole spec twice."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    old_labels = path_of(before, "template", "metadata", "labels") or {}
    prefixed = _UID_LABELS[1] in old_labels and _NAME_LABELS[1] in old_labels
    errors = _validate_job(new, prefixed_labels=prefixed) + _spec_with_selector(spec)
    errors += _completions(spec, before)
    shown = shown_as("LabelSelector", spec.get("selector"))
    errors += immutable(spec.get("selector"), before.get("selector"), "spec.selector", shown)
    not_started = path_of(old, "status", "startTime") is None
    template, old_template = spec.get("template") or {}, before.get("template") or {}
    if before.get("suspend") and not_started:
        old_template = _with_scheduling_of(old_template, template)
    shown = shown_as("PodTemplateSpec", template)
    errors += immutable(template, old_template, "spec.template", shown)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        value = spec.get(field)
        printed = shown_as(_POLICIES[field], value) if field in _POLICIES else value
        errors += immutable(value, before.get(field), f"spec.{field}", printed)
    return errors


def _completions(spec: Json, old: Json) -> list[FieldError]:
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return immutable(completions, old.get("completions"), "spec.completions")
    if completions is None or completions == old.get("completions") or completions == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def _with_scheduling_of(old: Json, new: Json) -> Json:
    """Return the old template with all that a suspended job may still change taken from the new one."""
    metadata, spec = dict(old.get("metadata") or {}), dict(old.get("spec") or {})
    new_metadata, new_spec = new.get("metadata") or {}, new.get("spec") or {}
    for target, source, fields in (
        (metadata, new_metadata, ("annotations", "labels")),
        (spec, new_spec, ("nodeSelector", "tolerations", "schedulingGates")),
    ):
        for field in fields:
            target.pop(field, None)
            if field in source:
                target[field] = source[field]
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    nodes = (new_spec.get("affinity") or {}).get("nodeAffinity")
    if nodes is not None:
        affinity["nodeAffinity"] = nodes
    spec.pop("affinity", None)
    if affinity or "affinity" in new_spec:
        spec["affinity"] = affinity
    merged = {**old, "spec": spec}
    if metadata or "metadata" in new:
        merged["metadata"] = metadata
    return merged
