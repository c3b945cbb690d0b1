"""The Job controller: pods until enough of them have succeeded, or too many have failed.

No pod is counted twice and none is missed: each carries a finalizer until it is counted. A finished pod is first noted
by its uid in the status, then loses its finalizer, then becomes part of the number. A crash between any two of these
steps loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import ClassVar, Final

from kontend.controllers.adoption import claim
from kontend.controllers.batch.job_counting import (
    TRACKING,
    Count,
    count_pods,
    decide,
    new_job_condition,
    note_finished,
    set_indexes,
    set_numbers,
    set_suspended,
    settle_counts,
    surplus_of,
)
from kontend.controllers.batch.job_indexes import index_of, with_index
from kontend.controllers.batch.job_policies import backoff_left
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.workloads.pods import (
    CONTROLLER,
    PODS,
    by_controller,
    is_namespace_terminating,
    is_ready,
    is_terminating,
    pod_from,
    pods_of,
    selecting,
)
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.accessors import controller_of, finalizers_of, is_deleting, uid_of
from kontend.kube.meta.conditions import find_condition
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object, strategic_merge_patch
from kontend.runtime.controller import Indexer, Mapper, Request, Result
from kontend.runtime.writes.conditions import is_true

JOBS: Final = "Job.batch/v1"
_OURS: Final = "kubernetes.io/job-controller"
_MOST_AT_ONCE: Final = 500


class Jobs(BuiltIn):
    """Runs Jobs to their end."""

    name = "job"
    kind = JOBS
    owns = (PODS,)
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(JOBS)}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {CONTROLLER: by_controller}}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Count the pods, decides whether the Job is over, makes or removes pods, and writes the status."""
        try:
            job = await api.get(JOBS, request)
        except NotFound:
            await self._release_orphans(api, request)
            return None
        if (job["spec"].get("managedBy") or _OURS) != _OURS:
            return None
        status = job.setdefault("status", {})
        if is_true(job, "Complete") or is_true(job, "Failed"):
            await self._release_pods(api, await pods_of(api, job), uid_of(job))
            return None
        status.setdefault("uncountedTerminatedPods", {})
        selector = selector_from_json(job["spec"]["selector"])
        pods = await claim(api, job, await pods_of(api, job), selector, finalizer=TRACKING)
        count = count_pods(job, pods, api.now())
        failure: ApiError | None = None
        changed = False
        if not status.get("startTime") and not job["spec"].get("suspend"):
            status["startTime"] = count.now
        decide(count)
        active, ready = len(count.active), sum(is_ready(pod) for pod in count.active)
        if count.end is not None:
            removed, removed_ready, failure = await _delete_pods(api, count.active, keep_finalizer=True)
            if removed != active:
                count.end = None
            active, ready = active - removed, ready - removed_ready
            count.terminating += removed
        elif not is_deleting(job):
            active, ready, failure = await self._manage(api, count, active, ready)
            wanted = job["spec"].get("completions")
            succeeded = count.succeeded_total
            if active == 0 and (succeeded > 0 if wanted is None else succeeded >= wanted):
                count.end = new_job_condition(
                    "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", count.now
                )
            else:
                changed = set_suspended(count)
        changed |= set_numbers(status, active, ready, count.terminating)
        await self._track(api, count, changed)
        if failure is not None:
            raise failure
        return Result(requeue_after=count.wait) if count.wait is not None else None

    async def _manage(self, api: Api, count: Count, active: int, ready: int) -> tuple[int, int, ApiError | None]:
        """Create or delete pods; return how many are active and ready then, and what went wrong."""
        spec = count.spec
        wanted = 0
        if not spec.get("suspend"):
            completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
            if completions is None:
                wanted = active if count.succeeded_total > 0 else parallelism
            else:
                wanted = max(0, min(completions - count.succeeded_total, parallelism))
        surplus = surplus_of(count, max(0, active - wanted))[:_MOST_AT_ONCE]
        if surplus:
            removed, removed_ready, failure = await _delete_pods(api, surplus, keep_finalizer=False)
            count.terminating += removed
            return active - removed, ready - removed_ready, failure
        replaces_failed = spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy")
        missing = wanted - active - (count.terminating if replaces_failed else 0)
        if spec.get("suspend") or missing <= 0:
            return active, ready, None
        if spec.get("backoffLimitPerIndex") is None:
            left = backoff_left(count.pods, count.failed, count.now)
            if left:
                count.wait = left if count.wait is None else min(count.wait, left)
                return 0, ready, None
        made, failure = await self._create(api, count, min(missing, _MOST_AT_ONCE))
        return active + made, ready, failure

    async def _create(self, api: Api, count: Count, missing: int) -> tuple[int, ApiError | None]:
        indexes: list[int | None] = [None] * missing
        if count.is_indexed:
            taken = {index_of(pod) for pod in count.active} | count.done | count.lost
            if count.spec.get("podReplacementPolicy") == "Failed" or count.spec.get("podFailurePolicy"):
                taken |= {index_of(pod) for pod in count.pods if is_terminating(pod)}
            free = (index for index in range(count.spec["completions"]) if index not in taken)
            indexes = list(islice(free, missing))
        made = 0
        for index in indexes:
            pod = pod_from(count.spec["template"], count.job)
            finalizers = pod["metadata"].setdefault("finalizers", [])
            if TRACKING not in finalizers:
                finalizers.append(TRACKING)
            if index is not None:
                per_index = count.spec.get("backoffLimitPerIndex") is not None
                with_index(pod, count.job, index, count.index_failures.get(index, 0) if per_index else None)
            try:
                await api.create(pod)
            except ApiError as error:
                if is_namespace_terminating(error):
                    return made, None
                return made, error
            made += 1
        return made, None

    async def _track(self, api: Api, count: Count, changed: bool) -> None:
        """Record finished pods, remove their finalizers, and count them."""
        job, status = count.job, count.status
        tracked = {uid_of(pod) for pod in count.pods if TRACKING in finalizers_of(pod)}
        changed |= settle_counts(status, tracked)
        release, noted = note_finished(count)
        changed |= noted
        if count.is_indexed:
            changed |= set_indexes(count)
        end = count.end
        if end is not None and end["type"] == "FailureTarget":
            status["conditions"] = [*(status.get("conditions") or ()), end]
            changed = True
            end = new_job_condition("Failed", end["reason"], end["message"], count.now)
        elif end is not None and end["type"] == "SuccessCriteriaMet":
            if find_condition(status.get("conditions"), "SuccessCriteriaMet") is None:
                status["conditions"] = [*(status.get("conditions") or ()), end]
                changed = True
            end = new_job_condition("Complete", end["reason"], end["message"], count.now)
        if changed:
            await api.status.update(job)
        for pod in release:
            await _remove_finalizer(api, pod)
            tracked.discard(uid_of(pod))
        status = job["status"]
        status.setdefault("uncountedTerminatedPods", {})
        changed = settle_counts(status, tracked)
        uncounted = status["uncountedTerminatedPods"]
        if end is not None and not any(uncounted.values()) and not count.terminating:
            status["conditions"] = [*(status.get("conditions") or ()), end]
            if end["type"] == "Complete":
                status["completionTime"] = end["lastTransitionTime"]
            changed = True
        if changed:
            await api.status.update(job)

    async def _release_pods(self, api: Api, pods: list[Object], uid: str) -> None:
        for pod in pods:
            if (controller_of(pod) or {}).get("uid") == uid and TRACKING in finalizers_of(pod):
                await _remove_finalizer(api, pod)

    async def _release_orphans(self, api: Api, request: Request) -> None:
        """Remove the finalizers of the pods of a deleted Job."""
        for pod in await api.list(PODS, namespace=request.namespace):
            owner = controller_of(pod) or {}
            if (owner.get("kind"), owner.get("name")) == ("Job", request.name) and TRACKING in finalizers_of(pod):
                await _remove_finalizer(api, pod)


async def _delete_pods(api: Api, pods: list[Object], *, keep_finalizer: bool) -> tuple[int, int, ApiError | None]:
    """Delete pods; return how many went, how many of those were ready, and what went wrong."""
    removed = ready = 0
    for pod in pods:
        was_ready = is_ready(pod)
        try:
            if not keep_finalizer:
                await _remove_finalizer(api, pod)
            await api.delete(pod)
        except NotFound:
            pass  # gone is gone
        except ApiError as error:
            return removed, ready, error
        removed += 1
        ready += was_ready
    return removed, ready, None


async def _remove_finalizer(api: Api, pod: Object) -> None:
    if TRACKING not in finalizers_of(pod):
        return
    try:
        await api.patch(pod, strategic_merge_patch({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}))
    except NotFound:
        return
