"""Reviews: questions to the server about who someone is and what they may do. They are answered, not stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from kontend.cluster.access.attributes import Attributes
from kontend.cluster.access.rbac import authorize, grants
from kontend.cluster.access.rules import Rule
from kontend.cluster.access.tokens import BadServiceToken, authenticate
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.cluster.users import User, user_of
from kontend.kube.errors import BadRequest, invalid
from kontend.kube.field_errors import FieldError, Verbatim, forbidden, required
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.meta.field_selectors import BadFieldSelector, parse_field_selector
from kontend.kube.meta.name_rules import label_value, qualified_name
from kontend.kube.meta.selectors import BadSelector, parse_selector

_GROUPS: Final = ("authorization.k8s.io", "authentication.k8s.io")
_ALL: Final = ["*"]
_RESOURCE_FIELDS: Final = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS: Final = ("verbs", "nonResourceURLs")
#: The fields of ObjectMeta in the order in which Go writes them.
_METADATA_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_ENTRY_ORDER: Final = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def is_review(target: Target) -> bool:
    """Report whether a create is a review."""
    return target.resource.group in _GROUPS and target.resource.verbs == ("create",)


def answer(state: State, target: Target, body: dict[str, Any]) -> dict[str, Any]:
    """Return the review with its status; ``body`` has the metadata that the server gives it."""
    kind = target.resource.kind
    review = {**body, "kind": kind, "apiVersion": target.resource.api_version}
    spec = body.get("spec")
    asked: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    if kind == "SelfSubjectReview":
        review["metadata"] = {"creationTimestamp": rfc3339(state.now)}
        review["status"] = {"userInfo": target.user.info()}
    elif kind == "TokenReview":
        review["status"] = _token_status(state, asked)
    elif kind == "SelfSubjectRulesReview":
        # The answer is made anew; of the question nothing is left.
        review |= {"metadata": {}, "spec": {}, "status": _rules_status(state, target.user, asked)}
    else:
        review["status"] = _access_status(state, target, body["metadata"], asked)
    return review


def _token_status(state: State, asked: Mapping[str, Any]) -> dict[str, Any]:
    token, audiences = asked.get("token"), list(asked.get("audiences") or ())
    if not token or not isinstance(token, str):
        raise BadRequest("token is required for TokenReview in authentication")
    known = state.settings.tokens.get(token)
    if known is not None:
        audiences = audiences or [state.settings.issuer]
        return {"authenticated": True, "user": known.info(), "audiences": audiences}
    try:
        user, common = authenticate(state, token, audiences)
    except BadServiceToken as bad:
        why = str(bad)
        return {"user": {}, "error": f"[invalid bearer token, {why}]" if why else "invalid bearer token"}
    return {"authenticated": True, "user": user.info(), "audiences": common}


def _rules_status(state: State, user: User, asked: Mapping[str, Any]) -> dict[str, Any]:
    namespace = asked.get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    if not state.settings.rbac:
        return {
            "resourceRules": [{"verbs": _ALL, "apiGroups": _ALL, "resources": _ALL}],
            "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
            "incomplete": False,
        }
    everything = list(grants(state, user, str(namespace)))
    rules = [grant.rule for grant in everything if grant.rule is not None]
    errors = list(dict.fromkeys(grant.error for grant in everything if grant.error))
    status: dict[str, Any] = {
        "resourceRules": [_fields(rule, _RESOURCE_FIELDS) for rule in rules if rule.get("resources")],
        "nonResourceRules": [_fields(rule, _PATH_FIELDS) for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }
    if errors:
        status |= {"incomplete": True, "evaluationError": errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"}
    return status


def _fields(rule: Rule, names: Sequence[str]) -> dict[str, list[str]]:
    return {name: list(rule[name]) for name in names if rule.get(name)}


def _access_status(
    state: State, target: Target, metadata: Mapping[str, Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the status of a SubjectAccessReview, local or of oneself."""
    user = target.user
    about_oneself = target.resource.kind == "SelfSubjectAccessReview"
    if not about_oneself:
        user = user_of({**asked, "groups": asked.get("groups") or asked.get("group")})
    resource, other = asked.get("resourceAttributes"), asked.get("nonResourceAttributes")
    errors: list[FieldError] = []
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid_field("spec.nonResourceAttributes", _internal(other), why))
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid_field("spec.resourceAttributes", None, why))
    if not about_oneself and not user.name and not user.groups:
        errors.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    errors += _selector_errors(resource)
    errors += _metadata_errors(target, metadata)
    if target.resource.kind == "LocalSubjectAccessReview":
        errors += _local_errors(target, resource, other)
    if errors:
        raise invalid(_GROUPS[0], "", "", errors)
    if resource is not None:
        texts = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        action = Attributes(user, **{name: str(resource.get(name) or "") for name in texts})
    else:
        assert other is not None  # it was checked above
        action = Attributes(user, str(other.get("verb") or ""), path=str(other.get("path") or ""))
    decision = authorize(state, action)
    status: dict[str, Any] = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    ignored = _ignored_selectors(resource or {})
    if ignored:
        status["evaluationError"] = "; ".join(ignored)
    return status


def _ignored_selectors(resource: Mapping[str, Any]) -> list[str]:
    """Return what kube-apiserver says about selectors that it cannot read and leaves out."""
    texts: list[str] = []
    for name, is_read in (("fieldSelector", _is_field_requirement), ("labelSelector", _is_label_requirement)):
        selector = resource.get(name) or {}
        read = [is_read(requirement) for requirement in selector.get("requirements") or ()]
        if selector.get("rawSelector"):
            read = [_parses(name, selector["rawSelector"])]
        if not all(read):
            partially = "partially " if any(read) else ""
            texts.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
    return texts


def _is_field_requirement(requirement: Mapping[str, Any]) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _is_label_requirement(requirement: Mapping[str, Any]) -> bool:
    return requirement.get("operator") in ("In", "NotIn", "Exists", "DoesNotExist")


def _parses(name: str, raw: str) -> bool:
    try:
        (parse_field_selector if name == "fieldSelector" else parse_selector)(raw)
    except (BadFieldSelector, BadSelector):
        return False
    return True


def _metadata_errors(target: Target, metadata: Mapping[str, Any]) -> list[FieldError]:
    local = target.resource.kind == "LocalSubjectAccessReview"
    ignored = ("managedFields", "namespace") if local else ("managedFields",)
    if not any(value for name, value in metadata.items() if name not in ignored):
        return []
    shown = {name: metadata[name] for name in _METADATA_ORDER if metadata.get(name)}
    shown["managedFields"] = [
        {name: entry[name] for name in _ENTRY_ORDER if name in entry} for entry in shown.get("managedFields") or ()
    ]
    text = Verbatim(orjson.dumps({name: value for name, value in shown.items() if value}).decode())
    return [invalid_field("metadata", text, "must be empty except for namespace" if local else "must be empty")]


def _selector_errors(resource: Mapping[str, Any] | None) -> list[FieldError]:
    """Return the faults in the selectors of attributes; operators that the server does not know are allowed."""
    errors: list[FieldError] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = (resource or {}).get(name)
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{name}"
        raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
        if raw and requirements:
            errors.append(
                invalid_field(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
            )
        if not raw and not requirements:
            why = f"when {path} is specified, requirements or rawSelector is required"
            errors.append(required(f"{path}.requirements", why))
        for index, requirement in enumerate(requirements):
            errors += _requirement_errors(
                requirement, f"{path}.requirements[{index}]", is_label=name == "labelSelector"
            )
    return errors


def _requirement_errors(requirement: Mapping[str, Any], path: str, *, is_label: bool) -> list[FieldError]:
    key, values = requirement.get("key") or "", requirement.get("values") or []
    by_key = [required(f"{path}.key", "must be specified")] if not key else []
    by_operator: list[FieldError] = []
    if requirement.get("operator") in ("In", "NotIn") and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        by_operator = [required(f"{path}.values", why)]
    elif requirement.get("operator") in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        by_operator = [forbidden(f"{path}.values", why)]
    if not is_label:
        return by_key + by_operator
    by_value = [
        invalid_field(f"{path}.values[{index}]", value, message)
        for index, value in enumerate(values)
        for message in label_value(value)
    ]
    return by_operator + [invalid_field(f"{path}.key", key, message) for message in qualified_name(key)] + by_value


def _local_errors(target: Target, resource: Any, other: Any) -> list[FieldError]:
    errors = []
    namespace = "" if resource is None else resource.get("namespace") or ""
    if resource is not None and namespace != target.namespace:
        why = "must match metadata.namespace"
        errors.append(invalid_field("spec.resourceAttributes.namespace", namespace, why))
    if other is not None:
        why = "disallowed on this kind of request"
        errors.append(invalid_field("spec.nonResourceAttributes", _internal(other), why))
    return errors


def _internal(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Attributes that are no resource's, as the server's internal type shows them."""
    return {"Path": attributes.get("path") or "", "Verb": attributes.get("verb") or ""}
