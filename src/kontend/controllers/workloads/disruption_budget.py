"""The disruption controller: how many pods of each PodDisruptionBudget may be evicted now.

Only its status makes an eviction possible: kube-apiserver refuses to evict while the status is older than the spec, and
takes one disruption off for each eviction that it grants. Where the number cannot be computed, none is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.cluster.times import seconds
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.workloads.int_or_percent import scaled
from kontend.controllers.workloads.pods import PODS, is_ready
from kontend.controllers.workloads.replica_set import REPLICA_SETS
from kontend.kube.errors import NotFound
from kontend.kube.meta.accessors import controller_of, is_deleting, labels_of, uid_of
from kontend.kube.meta.conditions import find_condition, without_condition
from kontend.kube.meta.names import GroupVersionKind, Key, key_of, split_api_version
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

BUDGETS: Final = "PodDisruptionBudget.policy/v1"
_ALLOWED: Final = "DisruptionAllowed"
#: Seconds after which an evicted pod that is still there counts again.
_DELETION_TIMEOUT: Final = 120


class _Uncountable(Exception):
    """The number of pods that a budget expects cannot be known; the message says why."""


def _budgets_of_pod(pod: Object, cache: Cache) -> Iterator[Key]:
    for budget in cache.list(BUDGETS, namespace=pod["metadata"]["namespace"]):
        if selector_from_json((budget.get("spec") or {}).get("selector")).matches(labels_of(pod)):
            yield key_of(budget)


class DisruptionBudgets(BuiltIn):
    """Keeps the status of PodDisruptionBudgets."""

    name = "disruption"
    kind = BUDGETS
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: _budgets_of_pod}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Count the healthy pods, and writes how many of them may go."""
        try:
            budget = await api.get(BUDGETS, request)
        except NotFound:
            return None
        now, old = api.now(), budget.get("status") or {}
        selector = selector_from_json((budget.get("spec") or {}).get("selector"))
        pods = [pod for pod in await api.list(PODS, namespace=request.namespace) if selector.matches(labels_of(pod))]
        try:
            expected, desired = await _wanted(api, budget, pods)
        except _Uncountable as error:
            await _write(api, budget, {**old, "disruptionsAllowed": 0}, "SyncFailed", str(error), now)
            return None
        disrupted = _disrupted(pods, old.get("disruptedPods") or {}, now)
        healthy = sum(is_ready(pod) and not is_deleting(pod) and _name(pod) not in disrupted for pod in pods)
        # A budget without pods allows nothing, so that its first pods are safe before they have been counted.
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status = {
            "observedGeneration": budget["metadata"].get("generation", 0),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            **({"disruptedPods": disrupted} if disrupted else {}),
            **({"conditions": old["conditions"]} if old.get("conditions") else {}),
        }
        await _write(api, budget, status, "SufficientPods" if allowed else "InsufficientPods", "", now)
        waits = [seconds(since) + _DELETION_TIMEOUT - seconds(now) for since in disrupted.values()]
        return Result(requeue_after=float(min(waits) + 1)) if waits else None


async def _wanted(api: Api, budget: Object, pods: list[Object]) -> tuple[int, int]:
    """Return the number of pods that are expected, and of those that have to stay healthy."""
    spec = budget.get("spec") or {}
    if spec.get("maxUnavailable") is not None:
        expected = await _scale(api, pods)
        return expected, max(0, expected - scaled(spec["maxUnavailable"], expected, up=True))
    least = spec.get("minAvailable")
    if isinstance(least, str):
        expected = await _scale(api, pods)
        return expected, scaled(least, expected, up=True)
    return (0, 0) if least is None else (len(pods), int(least))


async def _scale(api: Api, pods: Iterable[Object]) -> int:
    """Return the pods that the controllers of some pods want together. Pods without a controller do not count."""
    scales: dict[str, int] = {}
    seen = set()
    for pod in pods:
        reference = controller_of(pod)
        if reference is not None and reference["uid"] not in seen:
            seen.add(reference["uid"])
            uid, replicas = await _scale_of(api, reference, pod)
            scales[uid] = replicas
    return sum(scales.values())


async def _scale_of(api: Api, reference: Mapping[str, Any], pod: Object) -> tuple[str, int]:
    """The uid and the replicas of a pod's controller; of a ReplicaSet's Deployment, where it has one."""
    namespace = pod["metadata"]["namespace"]
    owner: Mapping[str, Any] = reference
    if _kind(reference) == REPLICA_SETS:
        try:
            replica_set = await api.get(REPLICA_SETS, Key(namespace, reference["name"]))
        except NotFound:
            raise _Uncountable(f'found no controllers for pod "{_name(pod)}"') from None
        owner = controller_of(replica_set) or reference
    key = Key(namespace, owner["name"])
    try:
        scale = await api.live.get(_kind(owner), key, subresource="scale")
    except NotFound:
        if await _exists(api, _kind(owner), key):
            raise _Uncountable(f"{_kind(owner)} does not implement the scale subresource") from None
        raise _Uncountable(f'found no controllers for pod "{_name(pod)}"') from None
    if uid_of(scale) != owner["uid"]:
        raise _Uncountable(f'found no controllers for pod "{_name(pod)}"')
    return str(owner["uid"]), int((scale.get("spec") or {}).get("replicas") or 0)


async def _exists(api: Api, kind: str, key: Key) -> bool:
    try:
        await api.live.get(kind, key)
    except NotFound:
        return False
    return True


def _kind(reference: Mapping[str, Any]) -> str:
    group, version = split_api_version(reference["apiVersion"])
    return str(GroupVersionKind(group, version, reference["kind"]))


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _disrupted(pods: Iterable[Object], known: Mapping[str, str], now: str) -> dict[str, str]:
    """The pods whose eviction was granted and that have not gone yet; after a while they count as healthy again."""
    return {
        _name(pod): known[_name(pod)]
        for pod in pods
        if _name(pod) in known and not is_deleting(pod)
        if seconds(known[_name(pod)]) + _DELETION_TIMEOUT >= seconds(now)
    }


async def _write(api: Api, budget: Object, status: dict[str, Any], reason: str, message: str, now: str) -> None:
    """Write the status, unless nothing has changed."""
    value = "True" if reason == "SufficientPods" else "False"
    old = find_condition(status.get("conditions"), _ALLOWED)
    condition = {
        "type": _ALLOWED,
        "status": value,
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and old["status"] == value else now,
        "reason": reason,
        "message": message,
    }
    status["conditions"] = [*without_condition(status.get("conditions"), _ALLOWED), condition]
    if status == budget.get("status"):
        return
    await api.status.update({**budget, "status": status})
