"""Subresources of pods: binding and eviction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kontend.cluster.options import DeleteOptions, WriteOptions, delete_options
from kontend.cluster.ownership import owners_after_update
from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.storage import store
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.delete import check_preconditions, delete
from kontend.cluster.verbs.update import check_uid
from kontend.kube.builtin.binding import bind, set_condition, validate_binding
from kontend.kube.builtin.eviction import charge, evicts_freely, matching_budget
from kontend.kube.errors import ApiError, BadRequest, not_found
from kontend.kube.field_errors import aggregate
from kontend.kube.meta.names import GroupVersionKind

_BUDGETS: Final = "poddisruptionbudgets.policy"
_BUDGET_KIND: Final = GroupVersionKind("policy", "v1", "PodDisruptionBudget")
_POD_KIND: Final = GroupVersionKind("", "v1", "Pod")
_DISRUPTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind_pod(state: State, target: Target, binding: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Assign a pod to a node."""
    metadata = binding.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    if (metadata.get("name") or "") != target.name:
        raise BadRequest("name in URL does not match name in Binding object")
    errors = validate_binding(binding)
    if errors:
        raise ApiError(aggregate(errors), code=500)
    version = state.find("pods", target.key)
    if version is None:
        raise not_found("", "pods", target.name)
    if metadata.get("uid"):
        check_uid(replace(target, subresource=""), version, metadata["uid"])
    pod = version.versioned()
    bind(pod, binding, rfc3339(state.now))
    if not target.options.dry_run:  # the fields that a binding sets have no owner
        state, _ = store(state, target, target.key, pod, version.managed, version)
    return state, dict(_SUCCESS)


def bind_named_pod(state: State, target: Target, binding: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Return the same through the ``bindings`` resource: the pod is the one that the binding names."""
    pods = state.registry.of_kind(_POD_KIND)
    assert pods is not None  # it is built in
    metadata = binding.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return bind_pod(state, replace(target, resource=pods, name=str(name or ""), subresource="binding"), binding)


def evict_pod(state: State, target: Target, eviction: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Delete a pod, if the disruption budget allows it; the budget is charged for it."""
    metadata = eviction.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if name != target.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    version = state.find("pods", target.key)
    if version is None:
        raise not_found("", "pods", target.name)
    asked = eviction.get("deleteOptions")
    options = delete_options({}, asked) if asked is not None else DeleteOptions()
    options = replace(options, dry_run=options.dry_run or target.options.dry_run)
    pod = version.content()
    if not evicts_freely(pod):
        state = _charge_budget(state, target, pod, dry_run=options.dry_run)
    if not options.dry_run:
        state, options = _mark(state, target, options)
    state, _, _ = delete(state, replace(target, subresource=""), options)
    return state, dict(_SUCCESS)


def _mark(state: State, target: Target, options: DeleteOptions) -> tuple[State, DeleteOptions]:
    """Add the reason of the eviction to the pod. A precondition on its version then means the version after that."""
    version = state.find("pods", target.key)
    assert version is not None  # it was read before
    check_preconditions(target, version, options)
    pod = version.versioned()
    set_condition(pod.setdefault("status", {}), _DISRUPTED, rfc3339(state.now))
    state, marked = store(state, target, target.key, pod, version.managed, version)
    if options.resource_version is not None:
        options = replace(options, resource_version=str(marked.resource_version))
    return state, options


def _charge_budget(state: State, target: Target, pod: Mapping[str, Any], *, dry_run: bool) -> State:
    budgets = {
        key: version.content() for key, version in state.objects(_BUDGETS).items() if key.namespace == target.namespace
    }
    key = matching_budget(pod, budgets)
    if key is None:
        return state
    budget = budgets[key]
    if not charge(budget, pod, now=rfc3339(state.now)) or dry_run:
        return state
    version = state.find(_BUDGETS, key)
    resource = state.registry.of_kind(_BUDGET_KIND)
    assert version is not None  # it was read above
    assert resource is not None  # it is built in
    options = WriteOptions(field_manager="kube-apiserver")
    status = Target(state.registry, resource, "update", key.namespace, key.name, "status", options)
    managed = owners_after_update(state, status, version.content(), budget, version.managed)
    state, _ = store(state, status, key, budget, managed, version)
    return state
