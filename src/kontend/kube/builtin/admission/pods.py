"""Admission plugins of pods that are always on: priorities, tolerations and runtime classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.errors import forbidden
from kontend.kube.json_types import Json
from kontend.kube.strategy import ListObjects

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"

#: The priority classes that every cluster has.
SYSTEM_CLASSES: Final[Mapping[str, Mapping[str, Any]]] = {
    "system-cluster-critical": {"value": 2000000000, "preemptionPolicy": "PreemptLowerPriority"},
    "system-node-critical": {"value": 2000001000, "preemptionPolicy": "PreemptLowerPriority"},
}
_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def add_default_tolerations(spec: Json) -> None:
    """Lets the pod stay for five minutes on a node that is not ready or not reachable, unless it says otherwise."""
    tolerations: list[Json] = spec.get("tolerations") or []
    missing = [
        taint for taint in (NOT_READY, UNREACHABLE) if not any(_covers(toleration, taint) for toleration in tolerations)
    ]
    if missing:
        spec["tolerations"] = tolerations + [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for taint in missing
        ]


def _covers(toleration: Json, taint: str) -> bool:
    return toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")


def set_priority(pod: Json, list_objects: ListObjects) -> None:
    """Works out the pod's priority from its priority class, or from the cluster's default class."""
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    chosen: Mapping[str, Any] | None
    classes: dict[str, Mapping[str, Any]] = {
        priority_class["metadata"]["name"]: priority_class
        for priority_class in list_objects("scheduling.k8s.io", "PriorityClass")
    }
    if name:
        chosen = classes.get(name) or SYSTEM_CLASSES.get(name)
        if chosen is None:
            raise _forbidden(pod, f"no PriorityClass with name {name} was found")
    else:
        # Of several defaults the lowest counts.
        defaults = [priority_class for priority_class in classes.values() if priority_class.get("globalDefault")]
        chosen = min(defaults, key=lambda default: int(default.get("value", 0)), default=None) or {}
        if chosen:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    priority = chosen.get("value", 0)
    policy = chosen.get("preemptionPolicy") or "PreemptLowerPriority"
    given, given_policy = spec.get("priority"), spec.get("preemptionPolicy")
    if given is not None and given != priority:
        raise _forbidden(
            pod,
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name",
        )
    if given_policy is not None and given_policy != policy:
        raise _forbidden(
            pod,
            f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    spec["priority"] = priority
    spec["preemptionPolicy"] = policy


def check_overhead(pod: Json, runtime_class: Mapping[str, Any] | None) -> None:
    """Refuse a pod with another overhead than its runtime class has; this follows the validation of the pod."""
    overhead = pod["spec"].get("overhead")
    defined = (runtime_class or {}).get("overhead")
    if defined is None and overhead is not None:
        raise _forbidden(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if defined is not None and (defined.get("podFixed") or {}) != (overhead or {}):
        raise _forbidden(pod, _OTHER_OVERHEAD)


def _forbidden(pod: Json, why: str) -> Exception:
    return forbidden("", "pods", (pod.get("metadata") or {}).get("name", ""), why)


def set_runtime_class(pod: Json, list_objects: ListObjects) -> None:
    """Give the pod the overhead and the scheduling of its runtime class."""
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if not name:
        return
    classes = {
        runtime_class["metadata"]["name"]: runtime_class
        for runtime_class in list_objects("node.k8s.io", "RuntimeClass")
    }
    chosen = classes.get(name)
    if chosen is None:
        raise _forbidden(pod, f'pod rejected: RuntimeClass "{name}" not found')
    fixed = (chosen.get("overhead") or {}).get("podFixed")
    if fixed:
        if spec.get("overhead") and spec["overhead"] != fixed:
            raise _forbidden(pod, _OTHER_OVERHEAD)
        spec["overhead"] = dict(fixed)
    scheduling = chosen.get("scheduling") or {}
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.setdefault(key, value) != value:
            where = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise _forbidden(pod, f"conflict: {where}; pod.spec.nodeSelector[{key}] = {selector[key]}")
    if selector:
        spec["nodeSelector"] = selector
    tolerations = spec.get("tolerations") or []
    spec["tolerations"] = [*tolerations, *(t for t in scheduling.get("tolerations") or () if t not in tolerations)]
