"""Pods as their controllers see them: phase, readiness, creation from a template, and the order of deletion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cmp_to_key
from typing import Any, Final

from kontend.cluster.times import seconds
from kontend.kube.errors import ApiError
from kontend.kube.meta.accessors import controller_of, is_deleting, labels_of, uid_of
from kontend.kube.meta.names import Key, key_of
from kontend.kube.meta.selectors import LabelSelector, selector_from_json
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper
from kontend.runtime.writes.conditions import get_condition, is_true
from kontend.runtime.writes.owners import owner_reference

PODS: Final = "Pod/v1"
#: The index of what an object's controller is: its uid, or nothing for an orphan.
CONTROLLER: Final = "controller"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def by_controller(obj: Object) -> Iterator[str]:
    """Yield the value of the index ``controller``."""
    yield str((controller_of(obj) or {}).get("uid") or "")


def phase_of(pod: Mapping[str, Any]) -> str:
    """Return the phase of a pod; empty for one that is not stored yet."""
    return str((pod.get("status") or {}).get("phase") or "")


def is_finished(pod: Mapping[str, Any]) -> bool:
    """Report whether all containers have stopped for good."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Mapping[str, Any]) -> bool:
    """Report whether a pod runs or will run."""
    return not is_finished(pod) and not is_deleting(pod)


def is_terminating(pod: Mapping[str, Any]) -> bool:
    """Report whether a pod is being deleted and still runs."""
    return not is_finished(pod) and is_deleting(pod)


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Report whether a pod is ready.

    >>> is_ready({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    True
    """
    return is_true(pod, "Ready")


def ready_since(pod: Mapping[str, Any]) -> int | None:
    """Return the time at which a pod became ready, in seconds since 1970."""
    condition = get_condition(pod, "Ready") or {}
    time = condition.get("lastTransitionTime")
    return seconds(time) if condition.get("status") == "True" and time else None


def is_available(pod: Mapping[str, Any], min_ready: int, now: str) -> bool:
    """Report whether a pod has been ready for at least ``min_ready`` seconds."""
    if not is_ready(pod):
        return False
    since = ready_since(pod)
    return min_ready == 0 or (since is not None and since + min_ready <= seconds(now))


def next_available(pods: Iterable[Mapping[str, Any]], min_ready: int, now: str) -> float | None:
    """Return how many seconds until the next ready pod becomes available."""
    waits = [
        since + min_ready - seconds(now)
        for pod in pods
        if is_ready(pod) and (since := ready_since(pod)) is not None and since + min_ready > seconds(now)
    ]
    return float(min(waits)) if waits else None


def pod_from(template: Mapping[str, Any], owner: Mapping[str, Any]) -> Object:
    """A new pod from a template, controlled by ``owner`` and named by the server after it."""
    metadata = template.get("metadata") or {}
    name = owner["metadata"]["name"]
    made: dict[str, Any] = {
        "generateName": f"{name}-",
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [owner_reference(owner, controller=True)],
    }
    for part in ("labels", "annotations", "finalizers"):
        if metadata.get(part):
            made[part] = deepcopy(metadata[part])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": deepcopy(template.get("spec") or {})}


async def pods_of(api: Api, owner: Object) -> list[Object]:
    """Return the pods that an object controls, and those without a controller."""
    namespace = owner["metadata"]["namespace"]
    controlled = await api.list(PODS, namespace=namespace, index=(CONTROLLER, uid_of(owner)))
    orphans = await api.list(PODS, namespace=namespace, index=(CONTROLLER, ""))
    return controlled + orphans


def selecting(kind: str, read: Callable[[Mapping[str, Any]], LabelSelector] = selector_from_json) -> Mapper:
    """A mapping from a pod without a controller to the objects of a kind whose selector matches it."""

    def requests(pod: Object, cache: Cache) -> Iterator[Key]:
        if controller_of(pod) is not None:
            return
        for candidate in cache.list(kind, namespace=pod["metadata"]["namespace"]):
            selector = (candidate.get("spec") or {}).get("selector")
            if selector and read(selector).matches(labels_of(pod)):
                yield key_of(candidate)

    return requests


def is_namespace_terminating(error: ApiError) -> bool:
    """Report whether a create failed because its namespace is terminating."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)


def first_to_lose(pods: Sequence[Object], related: Iterable[Object], count: int, now: str) -> list[Object]:
    """Return the pods to delete first, as a ReplicaSet chooses them when it has too many.

    Not assigned before assigned, pending before running, not ready before ready, cheap before costly, crowded before
    alone on a node, young before old. Ages count on a logarithmic scale; within a step of it the uid decides.
    """
    if count >= len(pods):
        return list(pods)
    on_node: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            on_node[_node(pod)] = on_node.get(_node(pod), 0) + 1

    def compare(one: Object, other: Object) -> int:
        left, right = _standing(one, on_node), _standing(other, on_node)
        if left != right:
            return -1 if left < right else 1
        ready = _compare_ages(ready_since(one), ready_since(other), one, other, now) if is_ready(one) else 0
        if ready:
            return ready
        if _restarts(one) != _restarts(other):
            return -1 if _restarts(one) > _restarts(other) else 1
        return _compare_ages(_created(one), _created(other), one, other, now)

    return sorted(pods, key=cmp_to_key(compare))[:count]


def _node(pod: Mapping[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _standing(pod: Mapping[str, Any], on_node: Mapping[str, int]) -> tuple[bool, int, bool, int, int]:
    cost = (pod["metadata"].get("annotations") or {}).get(_DELETION_COST, "0")
    try:
        price = int(cost)
    except ValueError:
        price = 0
    return bool(_node(pod)), _PHASES.get(phase_of(pod), 0), is_ready(pod), price, -on_node.get(_node(pod), 0)


def _created(pod: Mapping[str, Any]) -> int | None:
    time = pod["metadata"].get("creationTimestamp")
    return seconds(time) if time else None


def _restarts(pod: Mapping[str, Any]) -> tuple[int, int]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    sidecars = {
        container["name"]
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    regular = [container_status.get("restartCount", 0) for container_status in status.get("containerStatuses") or ()]
    aside = [e.get("restartCount", 0) for e in status.get("initContainerStatuses") or () if e.get("name") in sidecars]
    return max(regular, default=0), max(aside, default=0)


def _compare_ages(left: int | None, right: int | None, one: Object, other: Object, now: str) -> int:
    if left == right:
        return 0
    if left is None or right is None:
        return -1 if left is None else 1
    difference = _age_rank(seconds(now) - left) - _age_rank(seconds(now) - right)
    if difference:
        return -1 if difference < 0 else 1
    return -1 if uid_of(one) < uid_of(other) else 1


def _age_rank(age: int) -> int:
    return int(math.log2(age * 1_000_000_000)) if age > 0 else -1
