"""Reviews: questions to the server about access rights. They are answered, not stored.

Everybody may do everything here, so the answer is always yes; who asks is who sent the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.request import Target

_GROUPS: Final = ("authorization.k8s.io", "authentication.k8s.io")
_ALL: Final = ["*"]


def is_review(target: Target) -> bool:
    """Reports whether a create is a review."""
    return target.resource.group in _GROUPS and target.resource.verbs == ("create",)


def answer(target: Target, body: Mapping[str, Any]) -> dict[str, Any]:
    """The review with its status."""
    review = {**body, "kind": target.resource.kind, "apiVersion": target.resource.api_version}
    review.setdefault("metadata", {})
    review["status"] = _status(target, body)
    return review


def _status(target: Target, body: Mapping[str, Any]) -> dict[str, Any]:
    user = {"username": target.user, "groups": list(target.groups)}
    if target.resource.kind == "SelfSubjectReview":
        return {"userInfo": user}
    if target.resource.kind == "TokenReview":
        spec = body.get("spec")
        token = spec.get("token") if isinstance(spec, Mapping) else None
        return {"authenticated": True, "user": user} if token else {"authenticated": False, "user": {}}
    if target.resource.kind == "SelfSubjectRulesReview":
        return {
            "resourceRules": [{"verbs": _ALL, "apiGroups": _ALL, "resources": _ALL}],
            "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
            "incomplete": False,
        }
    return {"allowed": True}
