"""Namespaces, resource quotas and limit ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.amounts import amount, quotient
from kontend.kube.builtin.validation.checks import IMMUTABLE, bad
from kontend.kube.builtin.validation.resources import (
    any_resource_name,
    container_resource_name,
    is_quota_resource,
    may_be_overcommitted,
    quantity_value,
    quota_resource_name,
)
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import qualified_name

_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_POD_COMPUTE: Final = frozenset(
    ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods")
)
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": _POD_COMPUTE,
    "NotTerminating": _POD_COMPUTE,
    "BestEffort": frozenset(("pods",)),
    "NotBestEffort": _POD_COMPUTE,
    "PriorityClass": _POD_COMPUTE,
    "CrossNamespacePodAffinity": _POD_COMPUTE,
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
_EXISTS_ONLY: Final = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONFLICTS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def _finalizer(name: str, path: str) -> list[FieldError]:
    errors = bad(path, name, qualified_name(name))
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(invalid(path, name, why))
    return errors


def validate_namespace(obj: Json) -> list[FieldError]:
    """Validate a namespace."""
    errors: list[FieldError] = []
    for name in (obj.get("spec") or {}).get("finalizers") or []:
        errors += _finalizer(name, "spec.finalizers")
    return errors


def validate_namespace_finalize(obj: Json) -> list[FieldError]:
    """Validate a change of a namespace's finalizers."""
    errors: list[FieldError] = []
    for index, name in enumerate((obj.get("spec") or {}).get("finalizers") or []):
        errors += _finalizer(name, f"spec.finalizers[{index}]")
    return errors


def validate_namespace_status(obj: Json) -> list[FieldError]:
    """A namespace is terminating when and only when it is being deleted."""
    phase = (obj.get("status") or {}).get("phase", "")
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        expected, when = "Terminating", "not empty"
    else:
        expected, when = "Active", "empty"
    if phase == expected:
        return []
    return [invalid("status.Phase", phase, f"may only be '{expected}' if `deletionTimestamp` is {when}")]


def _hard(amounts: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in (amounts or {}).items():
        where = f"{path}[{name}]"
        errors += quota_resource_name(name, where) + quantity_value(name, value, where)
    return errors


def validate_resource_quota(obj: Json) -> list[FieldError]:
    """Validate a resource quota."""
    spec = obj.get("spec") or {}
    return _hard(spec.get("hard"), "spec.hard") + _scopes(spec) + _scope_selector(spec)


def _does_not_apply(scope: str, hard: Mapping[str, Any]) -> int:
    """Return how many of the limited resources a scope cannot apply to."""
    allowed = _SCOPES.get(scope)
    return 0 if allowed is None else sum(is_quota_resource(name) and name not in allowed for name in hard)


def _scopes(spec: Json) -> list[FieldError]:
    scopes, path = spec.get("scopes") or [], "spec.scopes"
    errors = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(path, scopes, "unsupported scope"))
        count = _does_not_apply(scope, spec.get("hard") or {})
        errors += [invalid(path, scopes, "unsupported scope applied to resource")] * count
    return errors + [invalid(path, scopes, "conflicting scopes") for pair in _CONFLICTS if set(pair) <= set(scopes)]


def _scope_selector(spec: Json) -> list[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return []
    path, errors = "spec.scopeSelector.matchExpressions", []
    names = []
    for requirement in selector.get("matchExpressions") or []:
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values") or []
        names.append(scope)
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        count = _does_not_apply(scope, spec.get("hard") or {})
        unsupported = invalid(path, shown_as("ScopeSelector", selector), "unsupported scope applied to resource")
        errors += [unsupported] * count
        if scope in _EXISTS_ONLY and operator != "Exists":
            why = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors.append(invalid(f"{path}.operator", operator, why))
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{path}.values", why))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{path}.values", values, why))
        else:
            errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    shown = spec.get("scopes")
    return errors + [invalid(path, shown, "conflicting scopes") for pair in _CONFLICTS if set(pair) <= set(names)]


def validate_resource_quota_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed resource quota."""
    scopes, before = ((version.get("spec") or {}).get("scopes") for version in (new, old))
    errors = validate_resource_quota(new)
    return errors if set(scopes or []) == set(before or []) else [*errors, invalid("spec.scopes", scopes, IMMUTABLE)]


def validate_resource_quota_status(obj: Json) -> list[FieldError]:
    """Validate a changed status."""
    status = obj.get("status") or {}
    errors = [] if (obj.get("metadata") or {}).get("resourceVersion") else [required("resourceVersion")]
    return errors + _hard(status.get("hard"), "status.hard") + _hard(status.get("used"), "status.used")


def validate_limit_range(obj: Json) -> list[FieldError]:
    """Validate a limit range."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or []):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        type_errors = bad(f"{path}.type", kind, qualified_name(kind))
        if not type_errors and "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
            type_errors.append(invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified"))
        errors += type_errors
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _limit(limit, kind, path)
    return errors


def _limit(limit: Json, kind: str, path: str) -> list[FieldError]:
    check = container_resource_name if kind in ("Pod", "Container") else any_resource_name
    errors: list[FieldError] = []

    def names(field: str) -> None:
        for name in limit.get(field) or {}:
            errors.extend(check(name, f"{path}.{field}[{name}]"))

    names("max")
    names("min")
    for field in ("default", "defaultRequest"):
        if kind != "Pod":
            names(field)
        elif limit.get(field):
            errors.append(forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'"))
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(f) or {}) for f in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", why))
    names("maxLimitRequestRatio")
    fields = ("max", "min", *(() if kind == "Pod" else ("default", "defaultRequest")), "maxLimitRequestRatio")
    values = {field: limit.get(field) or {} for field in fields}
    for name in sorted({name for given in values.values() for name in given}):
        errors += _bounds({field: given[name] for field, given in values.items() if name in given}, name, path)
    return errors


def _bounds(given: Mapping[str, Any], name: str, path: str) -> list[FieldError]:
    """Validate how the limits of one resource relate to each other."""
    errors: list[FieldError] = []

    def above(first: str, second: str) -> bool:
        return first in given and second in given and amount(given[first]) > amount(given[second])

    def wrong(field: str, shown: str, why: str) -> None:
        errors.append(invalid(f"{path}.{field}[{name}]", str(given[shown]), why))

    least, most, default, request = (given.get(f) for f in ("min", "max", "default", "defaultRequest"))
    if above("min", "max"):
        wrong("min", "min", f"min value {least} is greater than max value {most}")
    if above("min", "defaultRequest"):
        wrong("defaultRequest", "defaultRequest", f"min value {least} is greater than default request value {request}")
    if above("defaultRequest", "max"):
        wrong("defaultRequest", "defaultRequest", f"default request value {request} is greater than max value {most}")
    if above("defaultRequest", "default"):
        why = f"default request value {request} is greater than default limit value {default}"
        wrong("defaultRequest", "defaultRequest", why)
    if above("min", "default"):
        wrong("default", "min", f"min value {least} is greater than default value {default}")
    if above("default", "max"):
        wrong("default", "max", f"default value {default} is greater than max value {most}")
    ratio = given.get("maxLimitRequestRatio")
    if ratio is not None and amount(ratio) < 1:
        wrong("maxLimitRequestRatio", "maxLimitRequestRatio", f"ratio {ratio} is less than 1")
    if ratio is not None and least is not None and most is not None and amount(least):
        limit = quotient(amount(most), amount(least))
        if float(amount(ratio)) > limit:
            why = f"ratio {ratio} is greater than max/min = {limit:f}"
            wrong("maxLimitRequestRatio", "maxLimitRequestRatio", why)
    both = default is not None and request is not None
    if both and not may_be_overcommitted(name) and amount(default) != amount(request):
        why = f"default value {default} must equal to defaultRequest value {request} in {name}"
        wrong("defaultRequest", "defaultRequest", why)
    return errors
