"""``authorizer``: whether someone may do something, asked from a rule.

authorizer.group('apps').resource('deployments').namespace('default').check('create').allowed()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from kontend.kube.cel.library.functions import register
from kontend.kube.cel.values import NoOverload

#: From the fields of an action (verb, group, resource, namespace, name, path, user) to the decision and its reason.
Decide = Callable[[Mapping[str, str]], tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a check."""

    CEL_TYPE: ClassVar[str] = "kubernetes.authorization.Decision"
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Check:
    """An action, as far as it has been described."""

    CEL_TYPE: ClassVar[str] = "kubernetes.authorization.ResourceCheck"
    decide: Decide
    fields: Mapping[str, str] = field(default_factory=dict)

    def having(self, name: str, value: Any) -> Check:
        """Return the action with one more field."""
        if not isinstance(value, str):
            raise NoOverload
        return replace(self, fields={**self.fields, name: value})


class Authorizer(dict[str, Any]):
    """The variable; its only field is ``requestResource``, the resource of the request under review."""

    CEL_TYPE: ClassVar[str] = "kubernetes.authorization.Authorizer"

    def __init__(self, decide: Decide, request: Mapping[str, str]) -> None:
        super().__init__(requestResource=Check(decide, dict(request)))
        self.decide = decide
        self.user: Mapping[str, str] = {}


def _check_of(target: Any) -> Check:
    if isinstance(target, Authorizer):
        return Check(target.decide, dict(target.user))
    if isinstance(target, Check):
        return target
    raise NoOverload


@register("serviceAccount")
def service_account(authorizer: Any, namespace: Any, name: Any) -> Authorizer:
    """Asks for a service account instead of the user of the request."""
    if not isinstance(authorizer, Authorizer):
        raise NoOverload
    other = Authorizer(authorizer.decide, {})
    other.user = {"user": f"system:serviceaccount:{namespace}:{name}"}
    return other


def _setter(name: str) -> Callable[[Any, Any], Check]:
    def set_field(target: Any, value: Any) -> Check:
        return _check_of(target).having(name, value)

    return set_field


for _name in ("path", "group", "resource", "subresource", "namespace", "name", "fieldSelector", "labelSelector"):
    register(_name)(_setter(_name))


@register("check")
def check(target: Any, verb: Any) -> Decision:
    """Decides."""
    asked = _check_of(target).having("verb", verb)
    return Decision(*asked.decide(asked.fields))


def _decision(value: Any) -> Decision:
    if not isinstance(value, Decision):
        raise NoOverload
    return value


@register("allowed")
def allowed(decision: Any) -> bool:
    """Report whether it is allowed."""
    return _decision(decision).allowed


@register("reason")
def reason(decision: Any) -> str:
    """Return the reason of a decision."""
    return _decision(decision).reason


@register("errored")
def errored(decision: Any) -> bool:
    """Report whether the check failed: never here."""
    return _decision(decision) is None


@register("error")
def error(decision: Any) -> str:
    """Return the error of a check: none here."""
    return "" if _decision(decision) is not None else "unknown"
