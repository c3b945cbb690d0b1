"""No one gives away permissions that they do not have: the checks on roles and bindings under RBAC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kontend.cluster.access.attributes import Attributes
from kontend.cluster.access.rbac import authorize, grants, role_rules
from kontend.cluster.access.rules import Rule, described, missing
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.users import MASTERS
from kontend.kube.errors import Forbidden, forbidden, not_found
from kontend.kube.field_errors import go_quote

_GROUP: Final = "rbac.authorization.k8s.io"
_EVERYTHING: Final[Sequence[Rule]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


def check(state: State, target: Target, obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    """Raise :class:`Forbidden` for a role or binding that grants more than its writer has."""
    if not state.settings.rbac or target.resource.group != _GROUP or MASTERS in target.user.groups:
        return
    if old is not None and _of_interest(obj) == _of_interest(old):
        return
    if target.resource.kind in ("Role", "ClusterRole"):
        _check_role(state, target, obj, old or {})
    else:
        _check_binding(state, target, obj)


def _of_interest(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object without what the garbage collector may change, and without its version."""
    ignored = ("finalizers", "ownerReferences", "managedFields", "resourceVersion")
    metadata = {name: value for name, value in obj["metadata"].items() if name not in ignored and value}
    return {**{name: value for name, value in obj.items() if value}, "metadata": metadata}


def _check_role(state: State, target: Target, role: Mapping[str, Any], old: Mapping[str, Any]) -> None:
    name = _name(role)
    asked = _asked(target, "escalate", target.resource.plural, name)
    if authorize(state, asked).allowed:
        return
    if (role.get("aggregationRule") or old.get("aggregationRule")) and _lacks(state, target, _EVERYTHING):
        raise forbidden(
            _GROUP, target.resource.plural, name, "must have cluster-admin privileges to use the aggregationRule"
        )
    _require(state, target, name, role.get("rules") or ())


def _check_binding(state: State, target: Target, binding: Mapping[str, Any]) -> None:
    reference = binding.get("roleRef") or {}
    role_name = str(reference.get("name") or "")
    plural = "clusterroles" if reference.get("kind") == "ClusterRole" else "roles"
    if authorize(state, _asked(target, "bind", plural, role_name)).allowed:
        return
    rules = role_rules(state, reference, target.namespace)
    if rules is None:
        raise not_found(_GROUP, target.resource.plural, role_name)
    _require(state, target, _name(binding), rules)


def _require(state: State, target: Target, name: str, rules: Sequence[Rule]) -> None:
    lacking = _lacks(state, target, rules)
    if lacking:
        raise _refused(target, name, lacking)


def _lacks(state: State, target: Target, rules: Sequence[Rule]) -> list[Rule]:
    held = [grant.rule for grant in grants(state, target.user, target.namespace) if grant.rule is not None]
    return missing(held, rules)


def _refused(target: Target, name: str, lacking: Sequence[Rule]) -> Forbidden:
    user = target.user
    groups = " ".join(go_quote(group) for group in user.groups)
    why = (
        f"user {go_quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n"
        + "\n".join(described(lacking))
    )
    return forbidden(_GROUP, target.resource.plural, name, why)


def _asked(target: Target, verb: str, plural: str, name: str) -> Attributes:
    asked = Attributes(target.user, verb, _GROUP, "v1", plural, name=name)
    return replace(asked, namespace=target.namespace)


def _name(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("name") or "")
