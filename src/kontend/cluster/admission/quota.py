"""ResourceQuota: refuses writes beyond the quotas of a namespace, and charges the quotas for the others.

As in a cluster, only what the status of a quota says counts: the controller of quotas writes it (``--controllers``),
and admission adds to it, so that two writes in a row cannot both take the last of something.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.options import WriteOptions
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.request import Target
from kontend.cluster.state import State, Version
from kontend.cluster.storage import store
from kontend.kube.builtin.admission.pod_resources import Amounts, amounts
from kontend.kube.builtin.admission.quota import ZERO, in_scope, shown, unspecified, usage
from kontend.kube.errors import Forbidden, forbidden
from kontend.kube.meta.names import GroupVersionKind, Key

_QUOTAS: Final = "resourcequotas"
_KIND: Final = GroupVersionKind("", "v1", "ResourceQuota")


def charge(state: State, target: Target, obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> State:
    """Return the state in which a write is paid for. Raises :class:`Forbidden` for what exceeds a quota."""
    objects = state.objects(_QUOTAS)
    if not len(objects) or target.subresource or not target.resource.namespaced:
        return state
    resource = target.resource
    for key, version in sorted(objects.items()):
        if key.namespace != target.namespace:
            continue
        quota = version.content()
        if not in_scope(quota, resource.plural, obj) or (resource.group and not _counts(quota, resource.plural)):
            continue
        wanted = usage(resource.group, resource.plural, obj)
        before = {} if old is None else usage(resource.group, resource.plural, old)
        delta = {name: value - before.get(name, ZERO) for name, value in wanted.items()}
        changed = _charged(target, key.name, quota, obj, delta, creating=old is None)
        if changed and not target.options.dry_run:
            state = _write(state, key, version, quota)
    return state


def _counts(quota: Mapping[str, Any], plural: str) -> bool:
    return any(name.startswith(f"count/{plural}.") for name in (quota.get("status") or {}).get("hard") or ())


def _charged(
    target: Target, name: str, quota: dict[str, Any], obj: Mapping[str, Any], delta: Amounts, *, creating: bool
) -> bool:
    """Add what a write uses to the status of a quota, in place; whether that changes anything."""
    status = quota.get("status") or {}
    hard = amounts(status.get("hard"))
    if creating and target.resource.key == "pods":
        missing = unspecified(obj, hard)
        if missing:
            raise _refused(target, obj, f"failed quota: {name}: must specify {missing}")
    counted = {resource: value for resource, value in delta.items() if resource in hard and value != ZERO}
    if not counted:
        return False
    used = amounts(status.get("used"))
    total = {resource: used.get(resource, ZERO) + value for resource, value in counted.items()}
    exceeded = [resource for resource, value in total.items() if hard[resource] < value and counted[resource] > ZERO]
    if exceeded:
        requested, limited = {e: counted[e] for e in exceeded}, {e: hard[e] for e in exceeded}
        now = {name: used.get(name, ZERO) for name in exceeded}
        why = f"requested: {shown(requested)}, used: {shown(now)}, limited: {shown(limited)}"
        raise _refused(target, obj, f"exceeded quota: {name}, {why}")
    status["used"] = {**(status.get("used") or {}), **{resource: str(value) for resource, value in total.items()}}
    return True


def _refused(target: Target, obj: Mapping[str, Any], why: str) -> Forbidden:
    return forbidden(target.resource.group, target.resource.plural, obj["metadata"].get("name") or "", why)


def _write(state: State, key: Key, version: Version, quota: dict[str, Any]) -> State:
    resource = state.registry.of_kind(_KIND)
    assert resource is not None  # it is built in
    options = WriteOptions(field_manager="kube-apiserver")
    status = Target(state.registry, resource, "update", key.namespace, key.name, "status", options)
    managed = owners_after_update(state, status, version.content(), quota, version.managed)
    return store(state, status, key, quota, managed, version)[0]
