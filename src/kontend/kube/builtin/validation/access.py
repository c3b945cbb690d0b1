"""Roles and their bindings."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.validation.checks import bad, label_selector
from kontend.kube.field_errors import FieldError, Verbatim, go_quote, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain, path_segment

_GROUP: Final = "rbac.authorization.k8s.io"


def validate_role(obj: Json) -> list[FieldError]:
    """Validate a role."""
    return _rules(obj, namespaced=True)


def validate_cluster_role(obj: Json) -> list[FieldError]:
    """Validate a cluster role."""
    errors = _rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        selectors, path = aggregation.get("clusterRoleSelectors") or [], "aggregationRule.clusterRoleSelectors"
        if not selectors:
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(required(path, why))
        for index, selector in enumerate(selectors):
            selector_errors = label_selector(selector, f"{path}[{index}]")
            errors += selector_errors
            if selector_errors:
                errors.append(invalid(f"{path}[{index}]", None, "invalid label selector."))
    return errors


def _rules(obj: Json, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(obj.get("rules") or []):
        path, urls = f"rules[{index}]", rule.get("nonResourceURLs") or []
        if not rule.get("verbs"):
            errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        if urls:
            where = f"{path}.nonResourceURLs"
            if namespaced:
                errors.append(invalid(where, urls, "namespaced rules cannot apply to non-resource URLs"))
            if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(where, urls, why))
            continue
        if not rule.get("apiGroups"):
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def validate_role_binding(obj: Json) -> list[FieldError]:
    """Validate a role binding."""
    return _binding(obj, ("Role", "ClusterRole"), namespaced=True)


def validate_cluster_role_binding(obj: Json) -> list[FieldError]:
    """Validate a cluster role binding."""
    return _binding(obj, ("ClusterRole",), namespaced=False)


def _binding(obj: Json, kinds: tuple[str, ...], *, namespaced: bool) -> list[FieldError]:
    reference = obj.get("roleRef") or {}
    group, kind, name = (reference.get(field, "") for field in ("apiGroup", "kind", "name"))
    errors = [] if group == _GROUP else [not_supported("roleRef.apiGroup", group, (_GROUP,))]
    if kind not in kinds:
        errors.append(not_supported("roleRef.kind", kind, kinds))
    errors += bad("roleRef.name", name, path_segment(name)) if name else [required("roleRef.name")]
    for index, subject in enumerate(obj.get("subjects") or []):
        errors += _subject(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def _subject(subject: Json, path: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            errors += bad(f"{path}.name", name, dns1123_subdomain(name))
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, (_GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def validate_same_role(new: Json, old: Json) -> list[FieldError]:
    """Return a binding never changes the role."""
    reference = new.get("roleRef") or {}
    if reference == (old.get("roleRef") or {}):
        return []
    fields = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
    shown = ",".join(f"{go_quote(name)}:{go_quote(reference.get(key, ''))}" for name, key in fields)
    return [invalid("roleRef", Verbatim(f"{{{shown}}}"), "cannot change roleRef")]
