"""Scheduling constraints of a pod: node selectors, affinities, tolerations, spread constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import (
    bad,
    label_name,
    label_selector,
    positive,
    selector_operator,
)
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label, dns1123_subdomain, label_value

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(given: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    """All affinities of a pod."""
    if not given:
        return []
    errors: list[FieldError] = []
    nodes = given.get("nodeAffinity")
    if nodes:
        where = f"{path}.nodeAffinity"
        if nodes.get(_REQUIRED) is not None:
            errors += node_selector(nodes[_REQUIRED], f"{where}.{_REQUIRED}")
        for index, term in enumerate(nodes.get(_PREFERRED) or []):
            item = f"{where}.{_PREFERRED}[{index}]"
            errors += _weight(term, item)
            errors += _node_selector_term(term.get("preference") or {}, f"{item}.preference", check_values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = given.get(kind)
        if not pods:
            continue
        for index, term in enumerate(pods.get(_REQUIRED) or []):
            errors += _pod_affinity_term(term, f"{path}.{kind}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(pods.get(_PREFERRED) or []):
            item = f"{path}.{kind}.{_PREFERRED}[{index}]"
            errors += _weight(weighted, item)
            errors += _pod_affinity_term(weighted.get("podAffinityTerm") or {}, f"{item}.podAffinityTerm")
    return errors


def _weight(term: Mapping[str, Any], path: str) -> list[FieldError]:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def node_selector(selector: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return a selector of nodes."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: list[FieldError] = []
    for index, term in enumerate(terms):
        errors += _node_selector_term(term, f"{path}.nodeSelectorTerms[{index}]", check_values=True)
    return errors


def _node_selector_term(term: Mapping[str, Any], path: str, *, check_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, expression in enumerate(term.get("matchExpressions") or []):
        errors += _node_requirement(expression, f"{path}.matchExpressions[{index}]", check_values=check_values)
    for index, field in enumerate(term.get("matchFields") or []):
        errors += _node_field_requirement(field, f"{path}.matchFields[{index}]")
    return errors


def _node_requirement(requirement: Mapping[str, Any], path: str, *, check_values: bool) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("Gt", "Lt"):
        why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        errors = [] if len(values) == 1 else [required(f"{path}.values", why)]
    else:
        errors = selector_operator(operator, values, path)
    errors += label_name(requirement.get("key", ""), f"{path}.key")
    for index, value in enumerate(values if check_values else []):
        errors += bad(f"{path}.values[{index}]", value, label_value(value))
    return errors


def _node_field_requirement(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", why))
    key = requirement.get("key", "")
    if key != "metadata.name":
        return [*errors, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += bad(f"{path}.values[{index}]", value, dns1123_subdomain(value))
    return errors


def _pod_affinity_term(term: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    errors += label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or []:
        errors += bad(f"{path}.namespace", name, dns1123_label(name))
    errors += _label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + label_name(key, f"{path}.topologyKey")


def _label_keys(term: Mapping[str, Any], path: str) -> list[FieldError]:
    """Keys whose values are taken from the pod's own labels."""
    selector = term.get("labelSelector")
    errors: list[FieldError] = []
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += label_name(key, f"{path}.{field}[{index}]")
    if selector is not None:
        seen = set(selector.get("matchLabels") or {})
        for expression in selector.get("matchExpressions") or []:
            key = expression.get("key", "")
            if key in match and key in seen:
                why = "exists in both matchLabelKeys and labelSelector"
                last = max(index for index, label in enumerate(match) if label == key)
                errors.append(invalid(f"{path}[{last}]", key, why))
            seen.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, why))
    return errors


def tolerations(given: list[Json], path: str) -> list[FieldError]:
    """Validate the tolerations of a pod."""
    errors: list[FieldError] = []
    for index, toleration in enumerate(given):
        where = f"{path}[{index}]"
        key, operator, value, effect = (toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key:
            errors += label_name(key, f"{where}.key")
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{where}.operator", operator, why))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{where}.effect", effect, why))
        if operator in ("", "Equal"):
            messages = label_value(value)
            if messages:
                errors.append(invalid(f"{where}.operator", value, ";".join(messages)))
        elif operator == "Exists":
            if value:
                errors.append(invalid(f"{where}.operator", value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            errors.append(not_supported(f"{where}.operator", operator, ("Equal", "Exists", "Lt", "Gt")))
        else:
            errors.append(not_supported(f"{where}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{where}.effect", effect, TAINT_EFFECTS))
    return errors


def spread_constraints(given: list[Json], path: str) -> list[FieldError]:
    """Validate the topology spread constraints of a pod."""
    errors: list[FieldError] = []
    actions = ("DoNotSchedule", "ScheduleAnyway")
    for index, constraint in enumerate(given):
        where = f"{path}[{index}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        errors += positive(constraint.get("maxSkew"), f"{where}.maxSkew")
        if not key:
            errors.append(required(f"{where}.topologyKey", "can not be empty"))
        if action not in actions:
            errors.append(not_supported(f"{where}.whenUnsatisfiable", action, actions))
        if any(
            other.get("topologyKey", "") == key and other.get("whenUnsatisfiable", "") == action
            for other in given[index + 1 :]
        ):
            errors.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        domains = constraint.get("minDomains")
        if domains is not None:
            errors += positive(domains, f"{where}.minDomains")
            if action != "DoNotSchedule":
                why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                errors.append(invalid(f"{where}.minDomains", domains, why))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(field) not in (None, "Honor", "Ignore"):
                errors.append(not_supported(f"{where}.{field}", constraint[field], ("Honor", "Ignore")))
        errors += _label_keys(constraint, where)
        errors += label_selector(constraint.get("labelSelector"), f"{where}.labelSelector")
    return errors
