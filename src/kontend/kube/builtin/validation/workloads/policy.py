"""Pod disruption budgets and priority classes."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.admission.pods import SYSTEM_CLASSES
from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import (
    at_most_all,
    immutable,
    int_or_percent,
    label_selector,
    non_negative,
    one_of,
)
from kontend.kube.builtin.validation.conditions import conditions
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported
from kontend.kube.json_types import Json

_HIGHEST: Final = 1000000000
_SYSTEM: Final = "system-"


def validate_disruption_budget(obj: Json) -> list[FieldError]:
    """Validate a pod disruption budget."""
    spec = obj.get("spec") or {}
    errors: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid("spec", shown_as("PodDisruptionBudgetSpec", spec), why))
    for field in ("minAvailable", "maxUnavailable"):
        value = spec.get(field)
        if value is not None:
            errors += int_or_percent(value, f"spec.{field}") + at_most_all(value, f"spec.{field}")
    errors += label_selector(spec.get("selector"), "spec.selector")
    policy, policies = spec.get("unhealthyPodEvictionPolicy"), ("AlwaysAllow", "IfHealthyBudget")
    if policy is not None and policy not in policies:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, policies))
    return errors


def validate_disruption_budget_status(obj: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = obj.get("status") or {}
    errors = conditions(status.get("conditions") or [], "status.conditions")
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += non_negative(status.get(field), f"status.{field}")
    return errors


def validate_priority_class(obj: Json) -> list[FieldError]:
    """Validate a priority class."""
    name, value = (obj.get("metadata") or {}).get("name", ""), obj.get("value") or 0
    errors: list[FieldError] = []
    if name.startswith(_SYSTEM):
        known = SYSTEM_CLASSES.get(name)
        why = ""
        if known is None:
            why = f"{name} is not a known system priority class"
        elif known["value"] != value:
            why = f"value of {name} PriorityClass must be {known['value']}"
        elif obj.get("globalDefault"):
            why = f"globalDefault of {name} PriorityClass must be false"
        if why:
            rule = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {why}"
            errors.append(forbidden("metadata.name", rule))
    elif value > _HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    if obj.get("preemptionPolicy") is not None:
        errors += one_of(obj["preemptionPolicy"], "preemptionPolicy", ("PreemptLowerPriority", "Never"))
    return errors


def validate_priority_class_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed priority class."""
    errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")
