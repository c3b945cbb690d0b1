"""Compute resources: their names, and the requests and limits of containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.amounts import amount, is_whole
from kontend.kube.builtin.validation.checks import NEGATIVE, bad, dns_label
from kontend.kube.field_errors import NOT_FOUND, FieldError, duplicate, forbidden, invalid, not_supported, required
from kontend.kube.meta.name_rules import qualified_name

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_QUOTA: Final = frozenset(
    (*_COMPUTE, *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _COMPUTE), *_COUNTED)
) | {"requests.storage"}
_STANDARD: Final = _QUOTA | {"storage"}
_POD_LEVEL: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"

NameCheck = Callable[[str, str], list[FieldError]]


def is_native(name: str) -> bool:
    """Report whether Kubernetes itself defines the resource."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Report whether the resource is an extended one, defined outside of Kubernetes."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def may_be_overcommitted(name: str) -> bool:
    """Report whether a container may ask for less than its limit."""
    return is_native(name) and not name.startswith(_HUGE_PAGES)


def any_resource_name(name: str, path: str) -> list[FieldError]:
    """Return a resource of any kind."""
    errors = bad(path, name, qualified_name(name))
    known = name in _STANDARD or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))
    if not errors and "/" not in name and not known:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def container_resource_name(name: str, path: str) -> list[FieldError]:
    """Return a resource that containers can ask for."""
    errors = any_resource_name(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not name.startswith(_HUGE_PAGES):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def pod_resource_name(name: str, path: str) -> list[FieldError]:
    """Return a resource that whole pods can ask for."""
    errors = any_resource_name(name, path)
    if not errors and name not in _POD_LEVEL and not name.startswith(_HUGE_PAGES):
        errors.append(not_supported(path, name, ("cpu", _HUGE_PAGES, "memory")))
    return errors


def is_quota_resource(name: str) -> bool:
    """Report whether a quota knows the resource by itself."""
    return name in _QUOTA or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))


def quota_resource_name(name: str, path: str) -> list[FieldError]:
    """Return a resource that a quota can limit."""
    errors = any_resource_name(name, path)
    if "/" not in name and not is_quota_resource(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def quantity_value(name: str, value: Any, path: str) -> list[FieldError]:
    """Return an amount of a resource: not negative, and whole if the resource is counted."""
    number = amount(value)
    errors = [invalid(path, str(value), NEGATIVE)] if number < 0 else []
    if (name in _COUNTED or is_extended(name)) and not is_whole(number):
        errors.append(invalid(path, str(value), "must be an integer"))
    return errors


def resource_requirements(
    requirements: Mapping[str, Any] | None,
    claims: frozenset[str],
    path: str,
    check_name: NameCheck = container_resource_name,
) -> list[FieldError]:
    """Request and limit; ``claims`` are the names of the pod's resource claims."""
    if not requirements:
        return []
    errors: list[FieldError] = []
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    for name, value in limits.items():
        where = f"{path}.limits[{name}]"
        errors += check_name(name, where) + quantity_value(name, value, where)
    for name, value in requests.items():
        where = f"{path}.requests[{name}]"
        errors += check_name(name, where) + quantity_value(name, value, where)
        if name in limits:
            limit = limits[name]
            if amount(value) != amount(limit) and not may_be_overcommitted(name):
                errors.append(invalid(f"{path}.requests", str(value), f"must be equal to {name} limit of {limit}"))
            elif amount(value) > amount(limit):
                why = f"must be less than or equal to {name} limit of {limit}"
                errors.append(invalid(f"{path}.requests", str(value), why))
        elif not may_be_overcommitted(name):
            errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    asked = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in asked) and not asked & {"cpu", "memory"}:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors + _claims(requirements.get("claims") or [], claims, f"{path}.claims")


def _claims(wanted: list[Mapping[str, Any]], known: frozenset[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(wanted):
        name, request, where = claim.get("name", ""), claim.get("request", ""), f"{path}[{index}]"
        if not name:
            errors.append(required(where))
            continue
        if name in seen:
            errors.append(duplicate(where, name))
        else:
            key = f"{name}/{request}" if request else name
            if request:
                errors += dns_label(request, f"{where}.request")
            if key in seen or (not request and any(other.startswith(f"{name}/") for other in seen)):
                errors.append(duplicate(where, key))
            seen.add(key)
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{names}"
            errors.append(FieldError(NOT_FOUND, where, detail, name))
    return errors
