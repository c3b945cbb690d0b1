"""The ReplicaSet controller: as many pods as the spec says, adopted where they exist and created where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final

from kontend.controllers.adoption import claim
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.conditions import new_condition, put_condition, remove_condition
from kontend.controllers.workloads.pods import (
    CONTROLLER,
    PODS,
    by_controller,
    first_to_lose,
    is_active,
    is_available,
    is_namespace_terminating,
    is_ready,
    is_terminating,
    next_available,
    pod_from,
    pods_of,
    selecting,
)
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import controller_of, is_controlled_by, is_deleting, labels_of
from kontend.kube.meta.conditions import find_condition
from kontend.kube.meta.selectors import LabelSelector, selector_from_json, selector_from_labels
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Indexer, Mapper, Request, Result

REPLICA_SETS: Final = "ReplicaSet.apps/v1"
#: The largest number of pods created or deleted in one reconcile.
_BURST: Final = 500


class ReplicaSets(BuiltIn):
    """Keeps the number of pods of ReplicaSets.

    What differs for ReplicationControllers is an attribute: kube-controller-manager runs the same code for both too.
    """

    name = "replicaset"
    kind = REPLICA_SETS
    owns = (PODS,)
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(REPLICA_SETS)}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {CONTROLLER: by_controller}}
    #: Whether the status has a field for the pods that are being deleted.
    counts_terminating: ClassVar[bool] = True

    @staticmethod
    def selector(written: Mapping[str, Any]) -> LabelSelector:
        """Read ``spec.selector``."""
        return selector_from_json(written)

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Count the pods, creates or deletes some, and writes the status."""
        try:
            replica_set = await api.get(self.kind, request)
        except NotFound:
            return None
        spec = replica_set["spec"]
        selector = self.selector(spec["selector"])
        pods = await pods_of(api, replica_set)
        active = await claim(api, replica_set, [pod for pod in pods if is_active(pod)], selector)
        terminating = [pod for pod in pods if is_terminating(pod) and _is_claimed(pod, replica_set, selector)]
        failure = None
        if not is_deleting(replica_set):
            failure = await self._manage(api, replica_set, active)
        now = api.now()
        status = _status(replica_set, active, failure, now)
        if self.counts_terminating:
            status["terminatingReplicas"] = len(terminating)
        if status != (replica_set.get("status") or {}):
            replica_set["status"] = status
            await api.status.update(replica_set)
        if failure is not None:
            raise failure
        min_ready = spec.get("minReadySeconds") or 0
        if min_ready and status.get("readyReplicas", 0) != status.get("availableReplicas", 0):
            return Result(requeue_after=next_available(active, min_ready, now) or float(min_ready))
        return None

    async def _manage(self, api: Api, replica_set: Object, active: list[Object]) -> ApiError | None:
        """Create or delete pods; return what went wrong."""
        excess = len(active) - (replica_set["spec"].get("replicas") or 0)
        try:
            for _ in range(min(-excess, _BURST)):
                await self._create(api, replica_set)
            if excess > 0:
                related = await self._related(api, replica_set)
                for pod in first_to_lose(active, related, min(excess, _BURST), api.now()):
                    await _delete(api, pod)
        except ApiError as error:
            return error
        return None

    async def _create(self, api: Api, replica_set: Object) -> None:
        try:
            await api.create(pod_from(replica_set["spec"]["template"], replica_set))
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise

    async def _related(self, api: Api, replica_set: Object) -> list[Object]:
        """Return the pods of all ReplicaSets with the same controller: they crowd the same nodes."""
        namespace = replica_set["metadata"]["namespace"]
        owner = controller_of(replica_set)
        siblings = [replica_set]
        if owner is not None:
            every = await api.list(self.kind, namespace=namespace)
            siblings = [
                replica_set
                for replica_set in every
                if (controller_of(replica_set) or {}).get("uid") == owner.get("uid")
            ]
        selectors = [self.selector(sibling["spec"]["selector"]) for sibling in siblings]
        pods = await api.list(PODS, namespace=namespace)
        return [pod for pod in pods if any(selector.matches(labels_of(pod)) for selector in selectors)]


async def _delete(api: Api, pod: Object) -> None:
    try:
        await api.delete(pod)
    except NotFound:
        return


def _is_claimed(pod: Object, replica_set: Object, selector: LabelSelector) -> bool:
    return is_controlled_by(pod, replica_set) and selector.matches(labels_of(pod))


def _status(replica_set: Object, active: list[Object], failure: ApiError | None, now: str) -> dict[str, Any]:
    spec = replica_set["spec"]
    template = selector_from_labels(((spec.get("template") or {}).get("metadata") or {}).get("labels"))
    ready = [pod for pod in active if is_ready(pod)]
    min_ready = spec.get("minReadySeconds") or 0
    status = deepcopy(replica_set.get("status") or {})
    counts = {
        "fullyLabeledReplicas": sum(template.matches(labels_of(pod)) for pod in active),
        "readyReplicas": len(ready),
        "availableReplicas": sum(is_available(pod, min_ready, now) for pod in ready),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    for name, count in counts.items():
        if count:
            status[name] = count
        else:
            status.pop(name, None)
    status["replicas"] = len(active)
    _set_failure(status, len(active) - (spec.get("replicas") or 0), failure, now)
    return status


def _set_failure(status: dict[str, Any], excess: int, failure: ApiError | None, now: str) -> None:
    known = find_condition(status.get("conditions"), "ReplicaFailure") is not None
    if failure is not None and not known:
        reason = "FailedCreate" if excess < 0 else "FailedDelete"
        put_condition(status, new_condition("ReplicaFailure", "True", reason, failure.message, now))
    elif failure is None and known:
        remove_condition(status, "ReplicaFailure")
