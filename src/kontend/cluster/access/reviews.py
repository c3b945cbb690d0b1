"""Reviews: questions to the server about who someone is and what they may do. They are answered, not stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.cluster.access.attributes import Attributes
from kontend.cluster.access.rbac import authorize, grants
from kontend.cluster.access.rules import Rule
from kontend.cluster.access.tokens import BadServiceToken, authenticate
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.cluster.users import User, user_of
from kontend.kube.errors import BadRequest, Invalid, invalid
from kontend.kube.field_errors import FieldError
from kontend.kube.field_errors import invalid as invalid_field

_GROUPS: Final = ("authorization.k8s.io", "authentication.k8s.io")
_ALL: Final = ["*"]
_RESOURCE_FIELDS: Final = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS: Final = ("verbs", "nonResourceURLs")


def is_review(target: Target) -> bool:
    """Reports whether a create is a review."""
    return target.resource.group in _GROUPS and target.resource.verbs == ("create",)


def answer(state: State, target: Target, body: Mapping[str, Any]) -> dict[str, Any]:
    """The review with its status."""
    kind = target.resource.kind
    review = {**body, "kind": kind, "apiVersion": target.resource.api_version}
    review.setdefault("metadata", {})
    spec = body.get("spec")
    asked: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    if kind == "SelfSubjectReview":
        review["metadata"] = {"creationTimestamp": rfc3339(state.now)}
        review["status"] = {"userInfo": target.user.info()}
    elif kind == "TokenReview":
        review["status"] = _token_status(state, asked)
    elif kind == "SelfSubjectRulesReview":
        review["status"] = _rules_status(state, target.user, asked)
    else:
        review["status"] = _access_status(state, target, asked)
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


def _access_status(state: State, target: Target, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The status of a SubjectAccessReview, local or of oneself."""
    user = target.user
    about_oneself = target.resource.kind == "SelfSubjectAccessReview"
    if not about_oneself:
        user = user_of({**asked, "groups": asked.get("groups") or asked.get("group")})
    resource, other = asked.get("resourceAttributes"), asked.get("nonResourceAttributes")
    errors: list[FieldError] = []
    if resource and other:
        shown = {"Path": other.get("path", ""), "Verb": other.get("verb", "")}
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid_field("spec.nonResourceAttributes", shown, why))
    if not resource and not other:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid_field("spec.resourceAttributes", None, why))
    if not about_oneself and not user.name and not user.groups:
        errors.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    if errors:
        raise _refused(errors)
    if target.resource.kind == "LocalSubjectAccessReview":
        _check_local(target, resource, other)
    if resource:
        texts = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        action = Attributes(user, **{name: str(resource.get(name) or "") for name in texts})
    else:
        assert other is not None  # it was checked above
        action = Attributes(user, str(other.get("verb") or ""), path=str(other.get("path") or ""))
    decision = authorize(state, action)
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _check_local(target: Target, resource: Any, other: Any) -> None:
    if other:
        raise _refused([invalid_field("spec.nonResourceAttributes", dict(other), "disallowed on this kind of request")])
    namespace = resource.get("namespace", "")
    if namespace != target.namespace:
        raise _refused([invalid_field("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace")])


def _refused(errors: list[FieldError]) -> Invalid:
    return invalid("authorization.k8s.io", "", "", errors)
