"""The Deployment controller: a ReplicaSet for each template, and pods that move from the old ones to the new one.

A Deployment never touches pods. It makes a ReplicaSet that is named after a hash of the template, lets the new one grow
and the old ones shrink within ``maxSurge`` and ``maxUnavailable``, keeps a few old ones for a rollback, and reports
progress in its conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.adoption import claim
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.conditions import put_condition, remove_condition
from kontend.controllers.workloads.deployment_sets import (
    REVISION,
    ROLLBACK,
    UNLIMITED,
    annotate_new,
    annotations_of,
    by_age,
    counted,
    find_new,
    is_rolling,
    make_new,
    max_unavailable,
    new_size,
    number_in,
    proportions,
    replicas_of,
    set_sizes,
    template_without_hash,
    wanted,
)
from kontend.controllers.workloads.deployment_status import (
    Rollout,
    has_deadline,
    is_complete,
    is_saturated,
    next_look,
    set_progress,
    set_progressing,
    set_revision,
    status_of,
    was_scaled,
)
from kontend.controllers.workloads.pods import PODS, is_finished
from kontend.controllers.workloads.replica_set import REPLICA_SETS
from kontend.kube.errors import AlreadyExists, ApiError, NotFound
from kontend.kube.meta.accessors import controller_of, is_controlled_by, is_deleting, uid_of
from kontend.kube.meta.names import Key, key_of
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result
from kontend.runtime.writes.conditions import get_condition

DEPLOYMENTS: Final = "Deployment.apps/v1"


def _deployments_of(replica_set: Object, cache: Cache) -> Iterator[Key]:
    """Yield the Deployments that would adopt a ReplicaSet."""
    if controller_of(replica_set) is not None:
        return
    labels = replica_set["metadata"].get("labels") or {}
    for deployment in cache.list(DEPLOYMENTS, namespace=replica_set["metadata"]["namespace"]):
        if selector_from_json(deployment["spec"]["selector"]).matches(labels):
            yield key_of(deployment)


def _deployment_of_pod(pod: Object, cache: Cache) -> Iterator[Key]:
    """Yield the Deployment that waits for a pod to be gone before it makes new ones."""
    owner = controller_of(pod)
    if owner is None or owner.get("kind") != "ReplicaSet":
        return
    try:
        replica_set = cache.get(REPLICA_SETS, Key(pod["metadata"]["namespace"], owner["name"]))
    except NotFound:
        return
    parent = controller_of(replica_set)
    if parent is not None and parent.get("kind") == "Deployment":
        key = Key(pod["metadata"]["namespace"], parent["name"])
        view = cache.view(DEPLOYMENTS)
        if key in view and not is_rolling(view.get(key)):
            yield key


class Deployments(BuiltIn):
    """Rolls out Deployments."""

    name = "deployment"
    kind = DEPLOYMENTS
    owns = (REPLICA_SETS,)
    watches: ClassVar[Mapping[str, Mapper]] = {REPLICA_SETS: _deployments_of, PODS: _deployment_of_pod}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Take the next step of a rollout."""
        try:
            deployment = await api.get(DEPLOYMENTS, request)
        except NotFound:
            return None
        selector = selector_from_json(deployment["spec"]["selector"])
        existing = await api.list(REPLICA_SETS, namespace=request.namespace)
        sets = await claim(api, deployment, existing, selector)
        if is_deleting(deployment):
            rollout = await self._rollout(api, deployment, sets, create=False)
            return await self._write_status(api, rollout, status_of(rollout, api.now()))
        await self._say_paused(api, deployment)
        paused = bool(deployment["spec"].get("paused"))
        if ROLLBACK in annotations_of(deployment) and not paused:
            await self._roll_back(api, deployment, sets)
            return None
        rollout = await self._rollout(api, deployment, sets, create=False)
        if paused or was_scaled(rollout):
            await self._scale(api, rollout)
            if paused:
                await self._clean_up(api, rollout)
            return await self._write_status(api, rollout, status_of(rollout, api.now()))
        if is_rolling(deployment):
            return await self._roll(api, deployment, sets)
        return await self._recreate(api, rollout, sets)

    # The new ReplicaSet

    async def _rollout(self, api: Api, deployment: Object, sets: list[Object], *, create: bool) -> Rollout:
        """Find or make the new ReplicaSet, and set its revision."""
        new = find_new(deployment, sets)
        old = [replica_set for replica_set in by_age(sets) if new is None or uid_of(replica_set) != uid_of(new)]
        rollout = Rollout(deployment, new, old)
        revision = max((number_in(replica_set, REVISION) or 0 for replica_set in old), default=0) + 1
        if new is None:
            if create:
                await self._create_new(api, rollout, revision)
            return rollout
        spec = deployment["spec"]
        other_wait = (new["spec"].get("minReadySeconds") or 0) != (spec.get("minReadySeconds") or 0)
        if annotate_new(deployment, new, revision, exists=True) or other_wait:
            new["spec"]["minReadySeconds"] = spec.get("minReadySeconds") or 0
            await api.update(new)
            return rollout
        changed = set_revision(deployment, annotations_of(new).get(REVISION, ""))
        if has_deadline(deployment) and get_condition(deployment, "Progressing") is None:
            text = f'Found new replica set "{new["metadata"]["name"]}"'
            set_progressing(deployment, "True", "FoundNewReplicaSet", text, api.now())
            changed = True
        if changed:
            await api.status.update(deployment)
        return rollout

    async def _create_new(self, api: Api, rollout: Rollout, revision: int) -> None:
        deployment = rollout.deployment
        new = make_new(deployment)
        new["spec"]["replicas"] = new_size(deployment, rollout.every, new)
        annotate_new(deployment, new, revision, exists=False)
        name = new["metadata"]["name"]
        created = True
        try:
            await api.create(new)
        except AlreadyExists:
            created = False
            namespace = deployment["metadata"]["namespace"]
            new = await api.live.get(REPLICA_SETS, Key(namespace, name))
            template = template_without_hash(deployment["spec"]["template"])
            if not is_controlled_by(new, deployment) or template_without_hash(new["spec"]["template"]) != template:
                status = deployment.setdefault("status", {})
                status["collisionCount"] = (status.get("collisionCount") or 0) + 1
                await api.status.update(deployment)
                raise
        except ApiError as error:
            terminating = any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)
            if has_deadline(deployment) and not terminating:
                text = f'Failed to create new replica set "{name}": {error.message}'
                set_progressing(deployment, "False", "ReplicaSetCreateError", text, api.now())
                await api.status.update(deployment)
            raise
        rollout.new = new
        changed = set_revision(deployment, str(revision))
        if created and has_deadline(deployment):
            text = f'Created new replica set "{name}"'
            set_progressing(deployment, "True", "NewReplicaSetCreated", text, api.now())
            changed = True
        if changed:
            await api.status.update(deployment)

    # Sizes

    async def _resize(self, api: Api, rollout: Rollout, replica_set: Object, size: int) -> bool:
        """Scales a ReplicaSet; returns whether its size changed."""
        resized = replicas_of(replica_set) != size
        replica_set["spec"]["replicas"] = size
        if set_sizes(rollout.deployment, replica_set) or resized:
            await api.update(replica_set)
        return resized

    async def _scale(self, api: Api, rollout: Rollout) -> None:
        """Scales every ReplicaSet in proportion after the Deployment was scaled."""
        active = [replica_set for replica_set in rollout.every if replicas_of(replica_set)]
        if len(active) <= 1:
            latest = active[0] if active else rollout.new or (rollout.old[-1] if rollout.old else None)
            if latest is not None and replicas_of(latest) != rollout.size:
                await self._resize(api, rollout, latest, rollout.size)
        elif is_saturated(rollout):
            for old_item in rollout.old:
                if replicas_of(old_item):
                    await self._resize(api, rollout, old_item, 0)
        elif is_rolling(rollout.deployment):
            sizes = proportions(rollout.deployment, rollout.every)
            for replica_set in active:
                await self._resize(api, rollout, replica_set, sizes[replica_set["metadata"]["name"]])

    async def _roll(self, api: Api, deployment: Object, sets: list[Object]) -> Result | None:
        rollout = await self._rollout(api, deployment, sets, create=True)
        new = rollout.new
        assert new is not None  # it was made if it was not there
        if replicas_of(new) != rollout.size:
            grown = replicas_of(new) < rollout.size
            size = new_size(deployment, rollout.every, new) if grown else rollout.size
            if await self._resize(api, rollout, new, size):
                return await self._finish(api, rollout)
        if not await self._shrink(api, rollout, new) and is_complete(deployment, deployment.get("status") or {}):
            await self._clean_up(api, rollout)
        return await self._finish(api, rollout)

    async def _shrink(self, api: Api, rollout: Rollout, new: Object) -> bool:
        """Scales old ReplicaSets down: first unhealthy pods, then as many as ``maxUnavailable`` allows."""
        old = [replica_set for replica_set in rollout.old if replicas_of(replica_set)]
        if not old:
            return False
        least = rollout.size - max_unavailable(rollout.deployment)
        new_missing = replicas_of(new) - counted([new], "availableReplicas")
        room = wanted(rollout.every) - least - new_missing
        if room <= 0:
            return False
        shrunk = False
        for owned in by_age(old):
            broken = min(room, replicas_of(owned) - counted([owned], "availableReplicas"))
            if broken > 0:
                await self._resize(api, rollout, owned, replicas_of(owned) - broken)
                room -= broken
                shrunk = True
        spare = counted([*old, new], "availableReplicas") - least
        for owned in by_age(old):
            count = min(replicas_of(owned), spare)
            if count > 0:
                await self._resize(api, rollout, owned, replicas_of(owned) - count)
                spare -= count
                shrunk = True
        return shrunk

    async def _recreate(self, api: Api, rollout: Rollout, sets: list[Object]) -> Result | None:
        shrunk = False
        for replica_set in rollout.old:
            if replicas_of(replica_set):
                shrunk |= await self._resize(api, rollout, replica_set, 0)
        if shrunk or await self._old_pods_run(api, rollout):
            return await self._finish(api, rollout)
        if rollout.new is None:
            rollout = await self._rollout(api, rollout.deployment, sets, create=True)
        if rollout.new is not None and replicas_of(rollout.new) != rollout.size:
            await self._resize(api, rollout, rollout.new, rollout.size)
        if is_complete(rollout.deployment, rollout.deployment.get("status") or {}):
            await self._clean_up(api, rollout)
        return await self._finish(api, rollout)

    async def _old_pods_run(self, api: Api, rollout: Rollout) -> bool:
        if counted(rollout.old, "replicas"):
            return True
        old = {uid_of(replica_set) for replica_set in rollout.old}
        pods = await api.list(PODS, namespace=rollout.deployment["metadata"]["namespace"])
        return any((controller_of(pod) or {}).get("uid") in old and not is_finished(pod) for pod in pods)

    async def _clean_up(self, api: Api, rollout: Rollout) -> None:
        """Delete old ReplicaSets beyond the history limit."""
        limit = rollout.deployment["spec"].get("revisionHistoryLimit", UNLIMITED)
        if limit == UNLIMITED:
            return
        old = [replica_set for replica_set in by_age(rollout.old) if not is_deleting(replica_set)]
        old.sort(key=lambda replica_set: number_in(replica_set, REVISION) or 0)
        for replica_set in old[: max(0, len(old) - limit)]:
            status = replica_set.get("status") or {}
            behind = replica_set["metadata"].get("generation", 0) > status.get("observedGeneration", 0)
            if status.get("replicas") or replicas_of(replica_set) or behind:
                continue
            try:
                await api.delete(replica_set)
            except NotFound:
                continue

    async def _roll_back(self, api: Api, deployment: Object, sets: list[Object]) -> None:
        """Put back the template of an earlier revision, as an old annotation asks for."""
        rollout = await self._rollout(api, deployment, sets, create=True)
        revision = number_in(deployment, ROLLBACK) or 0
        if not revision:
            numbers = sorted({number_in(replica_set, REVISION) or 0 for replica_set in rollout.every})
            revision = numbers[-2] if len(numbers) > 1 else 0
        target = next(
            (replica_set for replica_set in rollout.every if number_in(replica_set, REVISION) == revision), None
        )
        if target is not None and revision:
            deployment["spec"]["template"] = template_without_hash(target["spec"]["template"])
        del deployment["metadata"]["annotations"][ROLLBACK]
        await api.update(deployment)

    # Status

    async def _say_paused(self, api: Api, deployment: Object) -> None:
        if not has_deadline(deployment):
            return
        known = get_condition(deployment, "Progressing") or {}
        if known.get("reason") == "ProgressDeadlineExceeded":
            return
        was, is_now = known.get("reason") == "DeploymentPaused", bool(deployment["spec"].get("paused"))
        if was == is_now:
            return
        reason, text = ("DeploymentPaused", "paused") if is_now else ("DeploymentResumed", "resumed")
        set_progressing(deployment, "Unknown", reason, f"Deployment is {text}", api.now())
        await api.status.update(deployment)

    async def _finish(self, api: Api, rollout: Rollout) -> Result | None:
        """Write the status of the rollout."""
        deployment, now = rollout.deployment, api.now()
        status = status_of(rollout, now)
        set_progress(rollout, status, now)
        failures = [
            failure
            for replica_set in (*([rollout.new] if rollout.new is not None else []), *rollout.every)
            if (failure := get_condition(replica_set, "ReplicaFailure")) is not None
        ]
        if failures:
            put_condition(status, {**failures[0], "lastUpdateTime": failures[0]["lastTransitionTime"]})
        else:
            remove_condition(status, "ReplicaFailure")
        return await self._write_status(api, rollout, status) or next_look(deployment, status, now)

    async def _write_status(self, api: Api, rollout: Rollout, status: dict[str, Any]) -> Result | None:
        if status != (rollout.deployment.get("status") or {}):
            rollout.deployment["status"] = status
            await api.status.update(rollout.deployment)
        return None
