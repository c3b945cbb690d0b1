"""Matching of writes by webhooks and policies: rules, namespace and object selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.cluster.admission.operation import Operation
from kontend.cluster.resources import Resource
from kontend.kube.meta.selectors import selector_from_json

_GROUP: Final = "admissionregistration.k8s.io"


def matched_resource(constraints: Mapping[str, Any], operation: Operation, rules: str = "rules") -> Resource | None:
    """Return the resource as which a webhook or policy wants to see a write; None when the write is none of its
    business.

    ``constraints`` are the fields of a webhook, or of the match constraints of a policy, whose ``rules`` have another
    name. With the match policy ``Equivalent`` a rule for one version of a kind matches the others as well.
    """
    target = operation.target
    if target.resource.group == _GROUP:
        return None  # what configures admission is never subject to it
    if not _namespace_matches(constraints.get("namespaceSelector"), operation):
        return None
    if not _object_matches(constraints.get("objectSelector"), operation):
        return None
    excluded = constraints.get("excludeResourceRules") or ()
    equivalent = constraints.get("matchPolicy") != "Exact"
    if _matching(excluded, operation, equivalent=equivalent) is not None:
        return None
    wanted = constraints.get(rules) or ()
    return _matching(wanted, operation, equivalent=equivalent)


def _matching(rules: Iterable[Mapping[str, Any]], operation: Operation, *, equivalent: bool) -> Resource | None:
    rules = list(rules)
    own = operation.target.resource
    if any(_rule_matches(rule, operation, own) for rule in rules):
        return own
    if equivalent:
        others = [
            served for served in operation.state.registry.resources() if served.key == own.key and served is not own
        ]
        for resource in others:
            if any(_rule_matches(rule, operation, resource) for rule in rules):
                return resource
    return None


def _rule_matches(rule: Mapping[str, Any], operation: Operation, resource: Resource) -> bool:
    operations = rule.get("operations") or ()
    if "*" not in operations and operation.name not in operations:
        return False
    for value, allowed in ((resource.group, rule.get("apiGroups")), (resource.version, rule.get("apiVersions"))):
        if "*" not in (allowed or ()) and value not in (allowed or ()):
            return False
    scope = rule.get("scope") or "*"
    if scope != "*" and (scope == "Namespaced") != resource.namespaced:
        return False
    names = rule.get("resourceNames")
    if names and operation.object_name not in names:
        return False
    return any(
        _resource_matches(pattern, resource.plural, operation.target.subresource) for pattern in rule["resources"]
    )


def _resource_matches(pattern: str, plural: str, subresource: str) -> bool:
    """
    >>> [_resource_matches(each, "pods", "status") for each in ("*", "*/*", "pods/*", "*/status", "pods")]
    [False, True, True, True, False]
    """
    resource, _, wanted = pattern.partition("/")
    return resource in ("*", plural) and (wanted == subresource or (wanted == "*"))


def _namespace_matches(selector: Mapping[str, Any] | None, operation: Operation) -> bool:
    if not selector:
        return True
    target = operation.target
    if target.resource.key == "namespaces":
        labels = operation.labels()
        return any(selector_from_json(selector).matches(label) for label in labels[:1])
    if not target.resource.namespaced:
        return True
    namespace = operation.namespace_object
    labels_of = (namespace or {"metadata": {}})["metadata"].get("labels") or {}
    return selector_from_json(selector).matches(labels_of)


def _object_matches(selector: Mapping[str, Any] | None, operation: Operation) -> bool:
    if not selector:
        return True
    parsed = selector_from_json(selector)
    return any(parsed.matches(labels) for labels in operation.labels())
