"""The ``binding`` subresource: a scheduler gives a pod its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.errors import conflict
from kontend.kube.field_errors import FieldError, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.strategy import metadata_of


def validate_binding(binding: Mapping[str, Any]) -> list[FieldError]:
    """Validate a binding."""
    target = _target(binding)
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def bind(pod: Json, binding: Mapping[str, Any], now: str) -> None:
    """Assign the pod to the binding's node, in place; raise ``Conflict`` if it cannot be assigned."""
    metadata, spec = metadata_of(pod), pod["spec"]
    name = metadata.get("name", "")
    why = ""
    if metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise conflict("", "pods/binding", name, why)
    spec["nodeName"] = _target(binding).get("name", "")
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    given = binding.get("metadata") or {}
    for field in ("annotations", "labels"):
        if given.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **given[field]}
    set_condition(status, {"type": "PodScheduled", "status": "True"}, now)


def set_condition(status: Json, condition: Mapping[str, Any], now: str) -> None:
    """Add or replace a pod condition; the time of the transition stays if the status does not change."""
    conditions: list[Json] = status.get("conditions") or []
    fresh = {"lastProbeTime": None, **condition, "lastTransitionTime": now}
    for index, item in enumerate(conditions):
        if item.get("type") == condition["type"]:
            if item.get("status") == condition["status"]:
                fresh["lastTransitionTime"] = item.get("lastTransitionTime")
            conditions[index] = fresh
            break
    else:
        conditions = [*conditions, fresh]
    status["conditions"] = conditions


def _target(binding: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the node that a binding names; nothing when it names none."""
    target = binding.get("target")
    return target if isinstance(target, Mapping) else {}
