"""The Job controller: pods until enough of them have succeeded, or too many have failed.

No pod is counted twice and none is missed: each carries a finalizer until it is counted. A finished pod is first noted
by its uid in the status, then loses its finalizer, then becomes part of the number. A crash between any two of these
steps loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from kontend.cluster.times import seconds
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.conditions import get_condition
from kontend.controllers.job_indexes import (
    failed_indexes,
    format_indexes,
    index_of,
    parse_indexes,
    with_index,
)
from kontend.controllers.job_policies import (
    backoff_left,
    failed_job_message,
    failure_action,
    is_past_restart_limit,
    matched_success_rule,
)
from kontend.controllers.owners import claim, controller_of, finalizers_of, is_deleting, uid_of
from kontend.controllers.pods import (
    CONTROLLER,
    PODS,
    by_controller,
    first_to_lose,
    is_active,
    is_namespace_terminating,
    is_ready,
    is_terminating,
    phase_of,
    pod_from,
    pods_of,
    selecting,
)
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.selectors import selector_from_json
from kontend.runtime.api import Api
from kontend.runtime.controller import Indexer, Mapper, Request, Result
from kontend.runtime.patches import Object, strategic_merge_patch

JOBS: Final = "Job.batch/v1"
TRACKING: Final = "batch.kubernetes.io/job-tracking"
_OURS: Final = "kubernetes.io/job-controller"
_MOST_AT_ONCE: Final = 500


@dataclass(slots=True)
class Count:
    """A Job and what was counted of its pods."""

    job: Object
    pods: list[Object]
    now: str
    active: list[Object] = field(default_factory=list)
    #: Pods that failed, counted or not.
    failed: list[Object] = field(default_factory=list)
    succeeded_total: int = 0
    failed_total: int = 0
    terminating: int = 0
    done: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    index_failures: dict[int, int] = field(default_factory=dict)
    #: The condition that ends the Job, once there is one.
    end: dict[str, Any] | None = None
    wait: float | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """What the Job should do."""
        spec: dict[str, Any] = self.job["spec"]
        return spec

    @property
    def status(self) -> dict[str, Any]:
        """What is said about it."""
        status: dict[str, Any] = self.job["status"]
        return status

    @property
    def uncounted(self) -> dict[str, list[str]]:
        """The uids of finished pods that are noted but not yet part of a number."""
        uncounted: dict[str, list[str]] = self.status["uncountedTerminatedPods"]
        return uncounted

    @property
    def is_indexed(self) -> bool:
        """Whether pods are numbered."""
        return self.spec.get("completionMode") == "Indexed"

    def counts(self, pod: Object) -> bool:
        """Whether a pod has a place in this Job."""
        index = index_of(pod)
        return not self.is_indexed or (index is not None and index < self.spec["completions"])

    def has_failed(self, pod: Object) -> bool:
        """Whether a pod is lost."""
        if phase_of(pod) == "Failed":
            return True
        waits = self.spec.get("podReplacementPolicy") == "Failed" or self.spec.get("podFailurePolicy")
        return not waits and is_deleting(pod) and phase_of(pod) != "Succeeded"


class Jobs(BuiltIn):
    """Runs Jobs to their end."""

    name = "job"
    kind = JOBS
    owns = (PODS,)
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(JOBS)}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {CONTROLLER: by_controller}}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Count the pods, decide whether the Job is over, make or remove pods, and say so."""
        try:
            job = await api.get(JOBS, request)
        except NotFound:
            return await self._release_orphans(api, request)
        if (job["spec"].get("managedBy") or _OURS) != _OURS:
            return None
        status = job.setdefault("status", {})
        if _is_true(status, "Complete") or _is_true(status, "Failed"):
            return await self._release_pods(api, await pods_of(api, job), uid_of(job))
        status.setdefault("uncountedTerminatedPods", {})
        selector = selector_from_json(job["spec"]["selector"])
        pods = await claim(api, job, await pods_of(api, job), selector, finalizer=TRACKING)
        count = _count(job, pods, api.now())
        failure: ApiError | None = None
        changed = False
        if not status.get("startTime") and not job["spec"].get("suspend"):
            status["startTime"] = count.now
        _decide(count)
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
                count.end = _condition(
                    "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", count.now
                )
            else:
                changed = _set_suspended(count)
        changed |= _set_numbers(status, active, ready, count.terminating)
        await self._track(api, count, changed)
        if failure is not None:
            raise failure
        return Result(requeue_after=count.wait) if count.wait is not None else None

    async def _manage(self, api: Api, count: Count, active: int, ready: int) -> tuple[int, int, ApiError | None]:
        """Create or delete pods; returns how many are active and ready then, and what went wrong."""
        spec = count.spec
        wanted = 0
        if not spec.get("suspend"):
            completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
            if completions is None:
                wanted = active if count.succeeded_total > 0 else parallelism
            else:
                wanted = max(0, min(completions - count.succeeded_total, parallelism))
        surplus = _surplus(count, max(0, active - wanted))[:_MOST_AT_ONCE]
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
            indexes = [index for index in range(count.spec["completions"]) if index not in taken][:missing]
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
        """Note what has finished, let it go, and count it."""
        job, status = count.job, count.status
        tracked = {uid_of(pod) for pod in count.pods if TRACKING in finalizers_of(pod)}
        changed |= _settle_counts(status, tracked)
        release, noted = _note_finished(count)
        changed |= noted
        if count.is_indexed:
            changed |= _set_indexes(count)
        end = count.end
        if end is not None and end["type"] == "FailureTarget":
            status["conditions"] = [*(status.get("conditions") or ()), end]
            changed = True
            end = _condition("Failed", end["reason"], end["message"], count.now)
        elif end is not None and end["type"] == "SuccessCriteriaMet":
            if get_condition(status, "SuccessCriteriaMet") is None:
                status["conditions"] = [*(status.get("conditions") or ()), end]
                changed = True
            end = _condition("Complete", end["reason"], end["message"], count.now)
        if changed:
            await api.status.update(job)
        for pod in release:
            await _remove_finalizer(api, pod)
            tracked.discard(uid_of(pod))
        status = job["status"]
        status.setdefault("uncountedTerminatedPods", {})
        changed = _settle_counts(status, tracked)
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
        """A Job that is gone counts nothing any more: its pods need not wait."""
        for pod in await api.list(PODS, namespace=request.namespace):
            owner = controller_of(pod) or {}
            if (owner.get("kind"), owner.get("name")) == ("Job", request.name) and TRACKING in finalizers_of(pod):
                await _remove_finalizer(api, pod)


def _count(job: Object, pods: list[Object], now: str) -> Count:
    """Count the pods of a Job as they are."""
    count = Count(job, pods, now)
    status = count.status
    count.active = [pod for pod in pods if is_active(pod)]
    count.terminating = sum(is_terminating(pod) for pod in pods)
    count.failed = [pod for pod in pods if count.has_failed(pod)]
    fresh = [pod for pod in pods if TRACKING in finalizers_of(pod) and count.counts(pod)]
    noted = count.uncounted
    succeeded = [p for p in fresh if phase_of(p) == "Succeeded" and uid_of(p) not in noted.get("succeeded", ())]
    failed = [pod for pod in fresh if count.has_failed(pod) and uid_of(pod) not in noted.get("failed", ())]
    failed = [pod for pod in failed if failure_action(job, pod) != "Ignore"]
    count.succeeded_total = status.get("succeeded", 0) + len(succeeded) + len(noted.get("succeeded", ()))
    count.failed_total = status.get("failed", 0) + len(failed) + len(noted.get("failed", ()))
    if count.is_indexed:
        count.done = parse_indexes(status.get("completedIndexes") or "", job["spec"]["completions"])
        count.done |= {index for pod in succeeded if (index := index_of(pod)) is not None}
        count.succeeded_total = len(count.done)
        if job["spec"].get("backoffLimitPerIndex") is not None:
            count.lost, count.index_failures = failed_indexes(job, count.failed, count.done)
    return count


def _decide(count: Count) -> None:
    """Find out whether the Job is over."""
    spec, status, now = count.spec, count.status, count.now
    met, target = get_condition(status, "SuccessCriteriaMet"), get_condition(status, "FailureTarget")
    if met is not None and met["status"] == "True":
        count.end = met
    elif target is not None and target["status"] == "True":
        count.end = _condition("Failed", target["reason"], target["message"], now)
    elif (message := failed_job_message(count.job, count.failed)) is not None:
        count.end = _condition("FailureTarget", "PodFailurePolicy", message, now)
    elif count.failed_total > spec.get("backoffLimit", 6) or is_past_restart_limit(count.job, count.pods):
        count.end = _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit", now)
    elif spec.get("activeDeadlineSeconds") is not None and status.get("startTime") and not spec.get("suspend"):
        left = seconds(status["startTime"]) + spec["activeDeadlineSeconds"] - seconds(now)
        if left <= 0:
            count.end = _failure("DeadlineExceeded", "Job was active longer than specified deadline", now)
        else:
            count.wait = float(left)
    if count.end is None and count.is_indexed:
        _decide_indexed(count)


def _decide_indexed(count: Count) -> None:
    spec, now = count.spec, count.now
    most = spec.get("maxFailedIndexes")
    if most is not None and len(count.lost) > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        count.end = _failure("MaxFailedIndexesExceeded", text, now)
    elif count.lost and len(count.lost) + len(count.done) >= spec["completions"]:
        count.end = _failure("FailedIndexes", "Job has failed indexes", now)
    else:
        rules = [
            (parse_indexes(text, spec["completions"]) if (text := rule.get("succeededIndexes")) else None,
             rule.get("succeededCount"))
            for rule in (spec.get("successPolicy") or {}).get("rules") or ()
        ]  # fmt: skip
        message = matched_success_rule(rules, count.done)
        if message is not None:
            count.end = _condition("SuccessCriteriaMet", "SuccessPolicy", message, now)


def _note_finished(count: Count) -> tuple[list[Object], bool]:
    """Note the uids of pods that have finished; returns the pods that may go, and whether any is new."""
    release = []
    changed = False
    over = count.end is not None
    for pod in count.pods:
        failed = count.has_failed(pod)
        if TRACKING not in finalizers_of(pod):
            continue
        if not (is_deleting(count.job) or over or phase_of(pod) == "Succeeded" or failed):
            continue
        release.append(pod)
        noted = count.uncounted
        if phase_of(pod) == "Succeeded" and uid_of(pod) not in noted.get("failed", ()):
            if not count.is_indexed and uid_of(pod) not in noted.get("succeeded", ()):
                noted.setdefault("succeeded", []).append(uid_of(pod))
                changed = True
        elif failed or (count.end is not None and count.end["type"] != "SuccessCriteriaMet"):
            known = uid_of(pod) in noted.get("failed", ()) or not count.counts(pod)
            if not known and failure_action(count.job, pod) != "Ignore":
                noted.setdefault("failed", []).append(uid_of(pod))
                changed = True
    return release, changed


def _settle_counts(status: dict[str, Any], tracked: set[str]) -> bool:
    """Pods that were noted and have lost their finalizer become part of the number."""
    uncounted = status["uncountedTerminatedPods"]
    changed = False
    for name in ("succeeded", "failed"):
        noted = uncounted.get(name) or []
        left = [uid for uid in noted if uid in tracked]
        if len(left) != len(noted):
            status[name] = status.get(name, 0) + len(noted) - len(left)
            uncounted[name] = left
            changed = True
        if not left:
            uncounted.pop(name, None)
    return changed


def _set_indexes(count: Count) -> bool:
    new: dict[str, Any] = {"completedIndexes": format_indexes(count.done), "succeeded": len(count.done)}
    if count.spec.get("backoffLimitPerIndex") is not None:
        new["failedIndexes"] = format_indexes(count.lost)
    changed = False
    for name, value in new.items():
        if value == "" and name == "completedIndexes" or value == 0:
            changed |= count.status.pop(name, None) is not None
        elif count.status.get(name) != value:
            count.status[name] = value
            changed = True
    return changed


def _set_numbers(status: dict[str, Any], active: int, ready: int, terminating: int) -> bool:
    old = status.get("active", 0), status.get("ready"), status.get("terminating")
    status.update(active=active, ready=ready, terminating=terminating)
    if not active:
        del status["active"]
    return old != (active, ready, terminating)


def _set_suspended(count: Count) -> bool:
    """Say whether the Job is suspended; says whether that is new."""
    status = count.status
    old = get_condition(status, "Suspended")
    if count.spec.get("suspend"):
        if old is not None and old["status"] == "True":
            return False
        new = _condition("Suspended", "JobSuspended", "Job suspended", count.now)
        status.pop("startTime", None)
    else:
        if old is None or old["status"] == "False":
            return False
        new = {**_condition("Suspended", "JobResumed", "Job resumed", count.now), "status": "False"}
        status["startTime"] = count.now
    if old is None:
        status["conditions"] = [*(status.get("conditions") or ()), new]
    else:
        old.update(new)
    return True


def _surplus(count: Count, least: int) -> list[Object]:
    """Pods to remove: those whose index is taken or too high, then those that are missed least."""
    removed: list[Object] = []
    left = list(count.active)
    if count.is_indexed:
        seen: set[int] = set()
        left = []
        for pod in sorted(count.active, key=lambda pod: (not is_ready(pod), pod["metadata"]["name"])):
            index = index_of(pod)
            if index is None or index in seen or not count.counts(pod):
                removed.append(pod)
            else:
                seen.add(index)
                left.append(pod)
    if len(removed) < least:
        removed += first_to_lose(left, (), least - len(removed), count.now)
    return removed


async def _delete_pods(api: Api, pods: list[Object], *, keep_finalizer: bool) -> tuple[int, int, ApiError | None]:
    """Delete pods; returns how many went, how many of those were ready, and what went wrong."""
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


def _condition(kind: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _failure(reason: str, message: str, now: str) -> dict[str, Any]:
    return _condition("FailureTarget", reason, message, now)


def _is_true(status: Mapping[str, Any], kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or ())
