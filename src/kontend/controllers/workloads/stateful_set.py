"""The StatefulSet controller: pods with a stable name, an ordinal and volumes of their own.

Pods are numbered. They are made in order, each when the one before it is available, and taken away in reverse order;
``podManagementPolicy: Parallel`` lifts that. A new template makes a new revision, and pods are replaced from the last
one down, a few at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from kontend.controllers.adoption import claim
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.workloads.int_or_percent import scaled
from kontend.controllers.workloads.pods import (
    CONTROLLER,
    PODS,
    by_controller,
    is_available,
    is_finished,
    is_ready,
    phase_of,
    pods_of,
    selecting,
)
from kontend.controllers.workloads.revisions import HASH_LABEL, new_revision, revisions_of, store_revision, template_of
from kontend.controllers.workloads.stateful_claims import Claims
from kontend.controllers.workloads.stateful_pods import (
    has_identity,
    has_storage,
    is_member,
    new_pod,
    ordinal_of,
    ordinals,
    set_identity,
    set_storage,
)
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import is_deleting, labels_of
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Indexer, Mapper, Request, Result

STATEFUL_SETS: Final = "StatefulSet.apps/v1"
_COMPARED: Final = (
    "replicas",
    "currentReplicas",
    "readyReplicas",
    "updatedReplicas",
    "currentRevision",
    "availableReplicas",
    "updateRevision",
)


@dataclass(slots=True)
class Rollout:
    """A StatefulSet, its two revisions and its pods."""

    stateful_set: Object
    current: Object
    update: Object
    collisions: int
    #: One for each ordinal, created or not.
    replicas: list[Object]
    #: Pods with other ordinals, the last one first.
    condemned: list[Object]
    now: str

    @property
    def min_ready(self) -> int:
        """Returns ``minReadySeconds``: how long a pod must be ready to count as available."""
        return int(self.stateful_set["spec"].get("minReadySeconds") or 0)

    @property
    def in_order(self) -> bool:
        """Reports whether pods are created and deleted in order."""
        return bool(self.stateful_set["spec"].get("podManagementPolicy") != "Parallel")

    def is_unavailable(self, pod: Object) -> bool:
        """Report whether a pod is not available."""
        return not is_available(pod, self.min_ready, self.now) or is_deleting(pod)

    @property
    def first_unavailable(self) -> Object | None:
        """Returns the first pod that is not available."""
        pods = [*self.replicas, *reversed(self.condemned)]
        return next((pod for pod in pods if self.is_unavailable(pod)), None)

    def status(self, pods: list[Object]) -> dict[str, Any]:
        """Return the status of some pods."""
        made = [pod for pod in pods if phase_of(pod)]
        ready = [pod for pod in made if _is_running_and_ready(pod)]
        staying = [labels_of(pod).get(HASH_LABEL) for pod in made if not is_deleting(pod)]
        return {
            "observedGeneration": self.stateful_set["metadata"].get("generation", 0),
            "replicas": len(made),
            "readyReplicas": len(ready),
            "availableReplicas": sum(is_available(pod, self.min_ready, self.now) for pod in ready),
            "currentReplicas": staying.count(self.current["metadata"]["name"]),
            "updatedReplicas": staying.count(self.update["metadata"]["name"]),
            "currentRevision": self.current["metadata"]["name"],
            "updateRevision": self.update["metadata"]["name"],
            "collisionCount": self.collisions,
        }


class StatefulSets(BuiltIn):
    """Keeps the pods of StatefulSets."""

    name = "statefulset"
    kind = STATEFUL_SETS
    owns = (PODS,)
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(STATEFUL_SETS)}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {CONTROLLER: by_controller}}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Brings pods and volumes a step closer to the spec."""
        try:
            stateful_set = await api.get(STATEFUL_SETS, request)
        except NotFound:
            return None
        revisions = await revisions_of(api, stateful_set)
        selector = selector_from_json(stateful_set["spec"]["selector"])
        every = await pods_of(api, stateful_set)
        pods = await claim(api, stateful_set, every, selector, accepts=lambda pod: is_member(stateful_set, pod))
        rollout = await _rollout(api, stateful_set, revisions, pods)
        failure: ApiError | None = None
        if is_deleting(stateful_set):
            status = rollout.status(pods)
        else:
            removed, failure = await self._update(api, rollout)
            status = rollout.status([*rollout.replicas, *rollout.condemned])
            # Pods of an orphaned set with another template are of neither revision, so none of them was counted.
            status["currentReplicas"] = max(0, status["currentReplicas"] - removed)
        await self._write_status(api, rollout, status)
        await _forget_revisions(api, rollout, revisions, pods)
        if failure is not None:
            raise failure
        if rollout.min_ready and status["availableReplicas"] != stateful_set["spec"]["replicas"]:
            return Result(requeue_after=float(rollout.min_ready))
        return None

    async def _update(self, api: Api, rollout: Rollout) -> tuple[int, ApiError | None]:
        """Make, fixes and remove pods. Returns how many were removed for an update, and what went wrong."""
        try:
            for pod in rollout.replicas:
                if await self._keep(api, rollout, pod) and rollout.in_order:
                    return 0, None
            claims = Claims(api, rollout.stateful_set)
            for pod in rollout.condemned:
                await claims.follow_policy(pod)
            unavailable = rollout.first_unavailable
            for pod in rollout.condemned:
                if await self._remove(api, rollout, pod, unavailable) and rollout.in_order:
                    return 0, None
            return await self._replace(api, rollout), None
        except ApiError as error:
            return 0, error

    async def _keep(self, api: Api, rollout: Rollout, pod: Object) -> bool:
        """Create or repairs a pod; return whether the ones after it have to wait."""
        claims = Claims(api, rollout.stateful_set)
        if is_finished(pod):
            if not is_deleting(pod):
                await api.delete(pod)
            return True
        if not phase_of(pod):
            if await claims.are_stale(pod):
                return True
            await claims.create_missing(pod)
            made = deepcopy(pod)  # the next reconcile counts it
            await api.create(made)
            await claims.follow_policy(made)
            if rollout.in_order:
                return True
        if phase_of(pod) == "Pending":
            await claims.create_missing(pod)
            await claims.follow_policy(pod)
        if rollout.in_order and (is_deleting(pod) or not self._is_up(rollout, pod)):
            return True
        stateful_set = rollout.stateful_set
        if phase_of(pod) and not (has_identity(stateful_set, pod) and has_storage(stateful_set, pod)):
            fixed = deepcopy(pod)
            set_identity(stateful_set, fixed)
            set_storage(stateful_set, fixed)
            await claims.create_missing(fixed)
            await api.update(fixed)
        await claims.follow_policy(pod)
        return False

    def _is_up(self, rollout: Rollout, pod: Object) -> bool:
        return _is_running_and_ready(pod) and is_available(pod, rollout.min_ready, rollout.now)

    async def _remove(self, api: Api, rollout: Rollout, pod: Object, unavailable: Object | None) -> bool:
        """Remove a surplus pod; return whether the others have to wait."""
        if is_deleting(pod):
            return True
        if rollout.in_order and pod is not unavailable and not self._is_up(rollout, pod):
            return True
        try:
            await api.delete(pod)
        except NotFound:
            return True
        return True

    async def _replace(self, api: Api, rollout: Rollout) -> int:
        """Remove pods of an older revision, from the last one down, as far as the budget goes."""
        strategy = rollout.stateful_set["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return 0
        rolling = strategy.get("rollingUpdate") or {}
        count = len(rollout.replicas)
        budget = max(1, scaled(rolling.get("maxUnavailable", 1), count, up=False))
        budget -= sum(rollout.is_unavailable(pod) for pod in rollout.replicas)
        removed = 0
        for index in range(count - 1, (rolling.get("partition") or 0) - 1, -1):
            pod = rollout.replicas[index]
            if removed >= budget:
                break
            if labels_of(pod).get(HASH_LABEL) != rollout.update["metadata"]["name"] and not is_deleting(pod):
                with suppress(NotFound):  # it is gone already
                    await api.delete(pod)
                removed += 1
        return removed

    async def _write_status(self, api: Api, rollout: Rollout, status: dict[str, Any]) -> None:
        stateful_set = rollout.stateful_set
        spec, old = stateful_set["spec"], stateful_set.get("status") or {}
        wanted = spec["replicas"]
        rolling = (spec.get("updateStrategy") or {}).get("type") == "RollingUpdate"
        if rolling and status["updatedReplicas"] == status["readyReplicas"] == status["replicas"] == wanted:
            status["currentReplicas"] = status["updatedReplicas"]
            status["currentRevision"] = status["updateRevision"]
        observed = status["observedGeneration"] > old.get("observedGeneration", 0)
        if observed or any(status[name] != old.get(name, type(status[name])()) for name in _COMPARED):
            omitted = ("readyReplicas", "currentReplicas", "updatedReplicas")
            stateful_set["status"] = {name: value for name, value in status.items() if value or name not in omitted}
            await api.status.update(stateful_set)


def _is_running_and_ready(pod: Object) -> bool:
    return phase_of(pod) == "Running" and is_ready(pod)


async def _rollout(api: Api, stateful_set: Object, revisions: list[Object], pods: list[Object]) -> Rollout:
    """Find or make the revisions, and sorts the pods by ordinal."""
    status = stateful_set.get("status") or {}
    collisions = status.get("collisionCount") or 0
    wanted = new_revision(stateful_set, revisions[-1]["revision"] + 1 if revisions else 1)
    equal = [revision for revision in revisions if revision.get("data") == wanted["data"]]
    if not equal:
        update, collisions = await store_revision(api, stateful_set, wanted, collisions)
    else:
        update = equal[-1]
        if update is not revisions[-1]:  # back to an earlier template: that one is the newest again
            update["revision"] = wanted["revision"]
            await api.update(update)
    current = next(
        (revision for revision in revisions if revision["metadata"]["name"] == status.get("currentRevision")), update
    )
    line = ordinals(stateful_set)
    existing = {ordinal_of(pod): pod for pod in pods}
    replicas = [existing.get(ordinal) or _new_pod(stateful_set, current, update, ordinal) for ordinal in line]
    outside = [pod for pod in pods if ordinal_of(pod) >= 0 and ordinal_of(pod) not in line]
    condemned = sorted(outside, key=ordinal_of, reverse=True)
    return Rollout(stateful_set, current, update, collisions, replicas, condemned, api.now())


def _new_pod(stateful_set: Object, current: Object, update: Object, ordinal: int) -> Object:
    """Return a new pod for an ordinal, of the revision that belongs there."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    start = ordinals(stateful_set).start
    if rolling is not None:
        old = ordinal < start + (rolling.get("partition") or 0)
    else:
        made = (stateful_set.get("status") or {}).get("currentReplicas") or 0
        old = strategy.get("type") == "RollingUpdate" and ordinal < start + made
    revision = current if old else update
    return new_pod(stateful_set, template_of(revision), revision["metadata"]["name"], ordinal)


async def _forget_revisions(api: Api, rollout: Rollout, revisions: list[Object], pods: list[Object]) -> None:
    """Delete the oldest revisions that nothing uses, down to the limit."""
    used = {rollout.current["metadata"]["name"], rollout.update["metadata"]["name"]}
    used |= {labels_of(pod).get(HASH_LABEL, "") for pod in pods}
    unused = [stored for stored in revisions if stored["metadata"]["name"] not in used]
    limit = rollout.stateful_set["spec"].get("revisionHistoryLimit", 10)
    for revision in unused[: max(0, len(unused) - limit)]:
        await api.delete(revision)
