"""Mutating and validating webhook configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kontend.kube.builtin.validation.admission.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    choice,
    ignores_conditions,
    match_conditions,
    rule_with_operations,
)
from kontend.kube.builtin.validation.checks import label_selector
from kontend.kube.field_errors import FieldError, duplicate, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain
from kontend.kube.webhook_client import REVIEW_VERSIONS, client_errors, review_version_errors

_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")


@dataclass(frozen=True, slots=True)
class _Strictness:
    """The checks that apply to webhooks: an update may keep mistakes that are stored already."""

    no_side_effects: bool = True
    known_version: bool = True
    unique_names: bool = True
    any_label_value: bool = False
    conditions: bool = True


def validate_webhooks(obj: Json, old: Json | None = None) -> list[FieldError]:
    """Return the mistakes in a webhook configuration; ``old`` is the one it replaces."""
    hooks = obj.get("webhooks") or []
    strictness = _Strictness() if old is None else _update_strictness(hooks, old.get("webhooks") or [])
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, hook in enumerate(hooks):
        path = f"webhooks[{index}]"
        errors += _webhook(hook, path, strictness)
        errors += _review_versions(hook, f"{path}.admissionReviewVersions", strictness)
        name = hook.get("name") or ""
        if strictness.unique_names and name:
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
            names.add(name)
    return errors


def _update_strictness(new: list[Json], old: list[Json]) -> _Strictness:
    selectors = [hook.get(field) for hook in old for field in ("namespaceSelector", "objectSelector")]
    names = [hook.get("name") or "" for hook in old]
    versions = [hook.get("admissionReviewVersions") or [] for hook in old]
    return _Strictness(
        no_side_effects=all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in old),
        known_version=all(not given or set(given) & set(REVIEW_VERSIONS) for given in versions),
        unique_names=len(set(names)) == len(names),
        any_label_value=any(label_selector(selector, "") for selector in selectors if selector),
        conditions=not ignores_conditions(new, old),
    )


def _webhook(hook: Json, path: str, strictness: _Strictness) -> list[FieldError]:
    errors = _full_name(hook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or []):
        errors += rule_with_operations(rule, f"{path}.rules[{index}]")
    errors += choice(hook.get("failurePolicy"), f"{path}.failurePolicy", FAILURE_POLICIES)
    errors += choice(hook.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    allowed = _NO_SIDE_EFFECTS if strictness.no_side_effects else _SIDE_EFFECTS
    effects = hook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(not_supported(f"{path}.sideEffects", effects, allowed))
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, "the timeout value must be between 1 and 30 seconds"))
    for field in ("namespaceSelector", "objectSelector"):
        errors += label_selector(hook.get(field), f"{path}.{field}", any_value=strictness.any_label_value)
    errors += choice(hook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", REINVOCATION_POLICIES)
    errors += client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if strictness.conditions:
        errors += match_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions", params=False)
    return errors


def _full_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    wrong = dns1123_subdomain(name)
    if wrong:
        return [invalid(path, name, ",".join(wrong))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _review_versions(hook: Json, path: str, strictness: _Strictness) -> list[FieldError]:
    versions = hook.get("admissionReviewVersions") or []
    if not versions:
        return [required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")]
    return review_version_errors(versions, path, known=strictness.known_version)
