"""Flow schemas and priority levels: how the server shares itself among its clients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import bad
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label, dns1123_subdomain

_HIGHEST_PRECEDENCE: Final = 10000
_MOST_QUEUES: Final = 10_000_000
_HASH_BITS: Final = 60
_METHODS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_ROUND_TRIP: Final = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"

_EVERYTHING: Final = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _group(name: str) -> Json:
    return {"kind": "Group", "group": {"name": name}}


#: Schemas and levels that the server needs, and that nobody may change.
_FIXED_SCHEMAS: Final[Mapping[str, Json]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [_group("system:masters")], **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": [_group("system:unauthenticated"), _group("system:authenticated")], **_EVERYTHING}],
    },
}
_FIXED_LEVELS: Final[Mapping[str, Json]] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}


def validate_flow_schema(obj: Json) -> list[FieldError]:
    """Return the mistakes in a flow schema."""
    name, spec = (obj.get("metadata") or {}).get("name") or "", obj.get("spec") or {}
    errors = _precedence(spec.get("matchingPrecedence") or 0, name)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = shown_as("FlowDistinguisherMethod", method)
        errors.append(not_supported("spec.distinguisherMethod.type", shown, _METHODS))
    where, level = "spec.priorityLevelConfiguration.name", (spec.get("priorityLevelConfiguration") or {}).get("name")
    errors += (
        bad(where, level, dns1123_subdomain(level)) if level else [required(where, "must reference a priority level")]
    )
    for index, rule in enumerate(spec.get("rules") or []):
        errors += _rule(rule, f"spec.rules[{index}]")
    fixed = _FIXED_SCHEMAS.get(name)
    if fixed is not None and spec != fixed:
        why = f"spec of '{name}' must equal the fixed value"
        errors.append(invalid("spec", shown_as("FlowSchemaSpec", spec), why))
    return errors + validate_flow_status(obj)


def _precedence(precedence: int, name: str) -> list[FieldError]:
    path = "spec.matchingPrecedence"
    errors: list[FieldError] = []
    if precedence <= 0:
        errors.append(invalid(path, precedence, "must be a positive value"))
    if precedence > _HIGHEST_PRECEDENCE:
        errors.append(invalid(path, precedence, f"must not be greater than {_HIGHEST_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(invalid(path, precedence, why))
    return errors


def _rule(rule: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    subjects = rule.get("subjects") or []
    for index, subject in enumerate(subjects):
        errors += _subject(subject, f"{path}.subjects[{index}]")
    if not subjects:
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(path, why))
    for index, inner in enumerate(rule.get("resourceRules") or []):
        errors += _resource_rule(inner, f"{path}.resourceRules[{index}]")
    for index, inner in enumerate(rule.get("nonResourceRules") or []):
        errors += _non_resource_rule(inner, f"{path}.nonResourceRules[{index}]")
    return errors


_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


def _subject(subject: Json, path: str) -> list[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        return [not_supported(f"{path}.kind", kind, ("Group", "ServiceAccount", "User"))]
    field = _SUBJECTS[kind]
    errors = _named_subject(subject.get(field), f"{path}.{field}", kind)
    for other, name in _SUBJECTS.items():
        if other != kind and subject.get(name) is not None:
            why = f"{name} is forbidden when subject kind is not '{other}'"
            errors.append(forbidden(f"{path}.{name}", why))
    return errors


def _named_subject(subject: Json | None, path: str, kind: str) -> list[FieldError]:
    if subject is None:
        return [required(path, f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")]
    name = subject.get("name") or ""
    errors = [] if name else [required(f"{path}.name")]
    if kind != "ServiceAccount":
        return errors
    if name and name != "*":
        errors += bad(f"{path}.name", name, dns1123_subdomain(name))
    namespace = subject.get("namespace") or ""
    if not namespace:
        return [*errors, required(f"{path}.namespace", "must specify namespace for service account")]
    return errors + bad(f"{path}.namespace", namespace, dns1123_label(namespace))


def _verbs(rule: Json, path: str) -> list[FieldError]:
    verbs = rule.get("verbs") or []
    if not verbs:
        return [required(f"{path}.verbs", "verbs must contain at least one value")]
    if "*" in verbs:
        why = "if '*' is present, must not specify other verbs"
        return [invalid(f"{path}.verbs", verbs, why)] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(f"{path}.verbs", verbs, _VERBS)]


def _resource_rule(rule: Json, path: str) -> list[FieldError]:
    errors = _verbs(rule, path)
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        given = rule.get(field) or []
        if not given:
            errors.append(required(f"{path}.{field}", f"resource rules must supply at least one {one}"))
        elif len(given) > 1 and "*" in given:
            errors.append(invalid(f"{path}.{field}", given, f"if '*' is present, must not specify other {many}"))
    where, namespaces = f"{path}.namespaces", rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(where, why))
    elif "*" in namespaces:
        if len(namespaces) > 1:
            errors.append(invalid(where, namespaces, "if '*' is present, must not specify other namespaces"))
    else:
        intro = "each member of this list must be '*' or a DNS-1123 label; "
        for index, namespace in enumerate(namespaces):
            errors += bad(f"{where}[{index}]", namespace, (intro + wrong for wrong in dns1123_label(namespace)))
    return errors


def _non_resource_rule(rule: Json, path: str) -> list[FieldError]:
    errors = _verbs(rule, path)
    where, urls = f"{path}.nonResourceURLs", rule.get("nonResourceURLs") or []
    if not urls:
        return [*errors, required(where, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        why = "if '*' is present, must not specify other non-resource URLs"
        return [*errors, invalid(where, urls, why)] if len(urls) > 1 else errors
    for index, url in enumerate(urls):
        why = _bad_url_path(url)
        if why:
            errors.append(invalid(f"{where}[{index}]", url, why))
    return errors


def _bad_url_path(text: str) -> str:
    if not text:
        return "must not be empty"
    if text == "/":
        return ""
    if not text.startswith("/"):
        return "must start with slash"
    if " " in text:
        return "must not contain white-space"
    if "//" in text:
        return "must not contain double slash"
    stars = text.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars == 1 and not text.endswith("/*")) else ""


def validate_flow_status(obj: Json) -> list[FieldError]:
    """Return the mistakes in the status of a flow schema or a priority level."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or []):
        path, kind = f"status.conditions[{index}].type", condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(path))
    return errors


def validate_priority_level(obj: Json) -> list[FieldError]:
    """Return the mistakes in a priority level."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    name, kind = metadata.get("name") or "", spec.get("type") or ""
    errors: list[FieldError] = []
    if _ROUND_TRIP in (metadata.get("annotations") or {}):
        errors.append(forbidden("metadata.annotations", f"annotation '{_ROUND_TRIP}' is forbidden"))
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        errors += _exempt(exempt or {})
    elif kind == "Limited":
        if exempt is not None:
            errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        missing = required("spec.limited", "must not be empty when type is Limited")
        errors += [missing] if limited is None else _limited(limited)
    else:
        errors.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
    return errors + _fixed_level(name, spec) + validate_flow_status(obj)


def _fixed_level(name: str, spec: Json) -> list[FieldError]:
    fixed = _FIXED_LEVELS.get(name)
    if fixed is None:
        return []
    given = {key: value for key, value in spec.items() if name != "exempt" or key != "exempt"}
    if given == fixed:
        return []
    but = " except the 'spec.exempt' field" if name == "exempt" else ""
    shown = shown_as("PriorityLevelConfigurationSpec", spec)
    return [invalid("spec", shown, f"spec of '{name}'{but} must equal the fixed value")]


def _percent(value: int | None, path: str) -> list[FieldError]:
    wrong = value is not None and not 0 <= value <= 100
    return [invalid(path, value, "must be between 0 and 100, inclusive")] if wrong else []


def _exempt(exempt: Json) -> list[FieldError]:
    shares = exempt.get("nominalConcurrencyShares") or 0
    errors: list[FieldError] = []
    if shares < 0:
        errors.append(invalid("spec.exempt.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    return errors + _percent(exempt.get("lendablePercent"), "spec.exempt.lendablePercent")


def _limited(limited: Json) -> list[FieldError]:
    shares, borrowing = limited.get("nominalConcurrencyShares") or 0, limited.get("borrowingLimitPercent")
    errors: list[FieldError] = []
    if shares < 0:
        errors.append(invalid("spec.limited.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    errors += _limit_response(limited.get("limitResponse") or {}, "spec.limited.limitResponse")
    errors += _percent(limited.get("lendablePercent"), "spec.limited.lendablePercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(invalid("spec.limited.borrowingLimitPercent", borrowing, why))
    return errors


def _limit_response(response: Json, path: str) -> list[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind == "Reject":
        why = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden(f"{path}.queuing", why)]
    if kind != "Queue":
        return [not_supported(f"{path}.type", kind, ("Queue", "Reject"))]
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return _queuing(queuing, f"{path}.queuing")


def _queuing(queuing: Mapping[str, Any], path: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize"))
    errors = [] if length > 0 else [invalid(f"{path}.queueLengthLimit", length, "must be positive")]
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(sum(math.log2(queues - index) for index in range(hand))) > _HASH_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_HASH_BITS}"
        errors.append(invalid(f"{path}.handSize", hand, why))
    return errors
