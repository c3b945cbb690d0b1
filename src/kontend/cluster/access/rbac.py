"""Role-based access control: what the roles and bindings of a cluster allow.

Cluster role bindings count everywhere, role bindings in their namespace. The order in which kube-apiserver visits
bindings is that of a map; here it is that of their names, so that reasons are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.access.attributes import Attributes, attributes_of
from kontend.cluster.access.rules import Rule, allows
from kontend.cluster.memo import Memo
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import Objects, State
from kontend.cluster.users import MASTERS, User, service_account_user
from kontend.kube.errors import Forbidden, forbidden
from kontend.kube.field_errors import go_quote
from kontend.kube.meta.names import Key

_GROUP: Final = "rbac.authorization.k8s.io"
_CLUSTER_BINDINGS: Final = f"clusterrolebindings.{_GROUP}"
_BINDINGS: Final = f"rolebindings.{_GROUP}"
_ROLES: Final = {"ClusterRole": f"clusterroles.{_GROUP}", "Role": f"roles.{_GROUP}"}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about an action, and its reason."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """One rule that a binding gives to a user; without the rule, where the role could not be found."""

    source: str
    rule: Rule | None
    error: str = ""


def check(state: State, request: ApiRequest) -> None:
    """Raise :class:`Forbidden` for a request that its user may not make. Without ``rbac`` everything is allowed."""
    if state.settings.rbac and not request.authorized and MASTERS not in request.user.groups:
        require(state, attributes_of(request.user, request.method, request.path, request.query))


def require(state: State, asked: Attributes) -> None:
    """Raise :class:`Forbidden` for an action that is not allowed."""
    decision = authorize(state, asked)
    if not decision.allowed:
        raise _forbidden(asked, decision.reason)


def authorize(state: State, asked: Attributes) -> Decision:
    """Decides about one action."""
    if not state.settings.rbac or MASTERS in asked.user.groups:
        return Decision(True)
    errors: list[str] = []
    for grant in grants(state, asked.user, asked.namespace):
        if grant.rule is None:
            errors.append(grant.error)
        elif allows(grant.rule, asked):
            return Decision(True, f"RBAC: allowed by {grant.source}")
    unique = list(dict.fromkeys(errors))
    if not unique:
        return Decision(False)
    return Decision(False, f"RBAC: {unique[0] if len(unique) == 1 else '[' + ', '.join(unique) + ']'}")


def grants(state: State, user: User, namespace: str) -> Iterator[Grant]:
    """All rules that count for a user in a namespace."""
    for binding in _by_namespace(state.objects(_CLUSTER_BINDINGS)).get("", ()):
        yield from _granted(state, binding, user, "")
    if namespace:
        for binding in _by_namespace(state.objects(_BINDINGS)).get(namespace, ()):
            yield from _granted(state, binding, user, namespace)


def role_rules(state: State, reference: Mapping[str, Any], namespace: str) -> list[Rule] | None:
    """Return the rules of a role, or None where there is no such role."""
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    if kind not in _ROLES:
        return None
    version = state.find(_ROLES[kind], Key(namespace if kind == "Role" else "", name))
    return None if version is None else _rules(version.body)


def _granted(state: State, binding: Mapping[str, Any], user: User, namespace: str) -> Iterator[Grant]:
    for subject in binding.get("subjects") or ():
        if _is_subject(subject, user, namespace):
            break
    else:
        return
    reference = binding["roleRef"]
    rules = role_rules(state, reference, namespace)
    if rules is None:
        kind = str(reference.get("kind", "")).lower()
        yield Grant("", None, f"{kind}.{_GROUP} {go_quote(reference.get('name', ''))} not found")
        return
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = binding["metadata"]["name"]
    where = f"{name}/{namespace}" if namespace else name
    source = (
        f"{kind} {go_quote(where)} of {reference['kind']} {go_quote(reference['name'])} to "
        f"{subject['kind']} {go_quote(_subject_name(subject, namespace))}"
    )
    for rule in rules:
        yield Grant(source, rule)


def _subject_name(subject: Mapping[str, Any], namespace: str) -> str:
    name = str(subject.get("name") or "")
    if subject.get("kind") == "ServiceAccount":
        return f"{name}/{subject.get('namespace') or namespace}"
    return name


def _is_subject(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name") or ""
    if kind == "User":
        return bool(user.name == name)
    if kind == "Group":
        return name in user.groups
    where = subject.get("namespace") or namespace
    return bool(kind == "ServiceAccount" and where and user.name == service_account_user(where, name).name)


def _forbidden(asked: Attributes, reason: str) -> Forbidden:
    who = f"User {go_quote(asked.user.name)} cannot {asked.verb}"
    if asked.path:
        return forbidden("", "", "", f"{who} path {go_quote(asked.path)}" + (f": {reason}" if reason else ""))
    where = f"in the namespace {go_quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
    why = f"{who} resource {go_quote(asked.full_resource)} in API group {go_quote(asked.group)} {where}"
    return forbidden(asked.group, asked.resource, asked.name, why + (f": {reason}" if reason else ""))


def _bindings(objects: Objects) -> dict[str, list[dict[str, Any]]]:
    bindings: dict[str, list[dict[str, Any]]] = {}
    for key, version in sorted(objects.items()):
        bindings.setdefault(key.namespace, []).append(version.content())
    return bindings


_by_namespace: Final = Memo(_bindings)
_rules_by_body: dict[bytes, list[Rule]] = {}


def _rules(body: bytes) -> list[Rule]:
    """Return the rules of a stored role; parsed once, because every request of a user asks for them."""
    rules = _rules_by_body.get(body)
    if rules is None:
        if len(_rules_by_body) > 2000:
            _rules_by_body.clear()
        rules = _rules_by_body[body] = orjson.loads(body).get("rules") or []
    return rules
