"""Counting the pods of a Job: those that have finished, those that are counted already, and the end of the Job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kontend.cluster.times import seconds
from kontend.controllers.batch.job_indexes import failed_indexes, format_indexes, index_of, parse_indexes
from kontend.controllers.batch.job_policies import (
    failed_job_message,
    failure_action,
    is_past_restart_limit,
    matched_success_rule,
)
from kontend.controllers.workloads.pods import first_to_lose, is_active, is_ready, is_terminating, phase_of
from kontend.kube.meta.accessors import finalizers_of, is_deleting, uid_of
from kontend.kube.meta.conditions import find_condition
from kontend.runtime.client.patches import Object

#: The finalizer of a pod that is not counted yet.
TRACKING: Final = "batch.kubernetes.io/job-tracking"


@dataclass(slots=True)
class Count:
    """A Job and the count of its pods."""

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
        """The spec of the Job."""
        spec: dict[str, Any] = self.job["spec"]
        return spec

    @property
    def status(self) -> dict[str, Any]:
        """The status of the Job."""
        status: dict[str, Any] = self.job["status"]
        return status

    @property
    def uncounted(self) -> dict[str, list[str]]:
        """The uids of finished pods that are noted but not yet part of a number."""
        uncounted: dict[str, list[str]] = self.status["uncountedTerminatedPods"]
        return uncounted

    @property
    def is_indexed(self) -> bool:
        """Reports whether the Job is indexed."""
        return self.spec.get("completionMode") == "Indexed"

    def counts(self, pod: Object) -> bool:
        """Report whether a pod counts for this Job."""
        index = index_of(pod)
        return not self.is_indexed or (index is not None and index < self.spec["completions"])

    def has_failed(self, pod: Object) -> bool:
        """Report whether a pod has failed."""
        if phase_of(pod) == "Failed":
            return True
        waits = self.spec.get("podReplacementPolicy") == "Failed" or self.spec.get("podFailurePolicy")
        return not waits and is_deleting(pod) and phase_of(pod) != "Succeeded"


def count_pods(job: Object, pods: list[Object], now: str) -> Count:
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


def decide(count: Count) -> None:
    """Find out whether the Job is over."""
    spec, status, now = count.spec, count.status, count.now
    met, target = (
        find_condition(status.get("conditions"), "SuccessCriteriaMet"),
        find_condition(status.get("conditions"), "FailureTarget"),
    )
    if met is not None and met["status"] == "True":
        count.end = met
    elif target is not None and target["status"] == "True":
        count.end = new_job_condition("Failed", target["reason"], target["message"], now)
    elif (message := failed_job_message(count.job, count.failed)) is not None:
        count.end = new_job_condition("FailureTarget", "PodFailurePolicy", message, now)
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
            count.end = new_job_condition("SuccessCriteriaMet", "SuccessPolicy", message, now)


def note_finished(count: Count) -> tuple[list[Object], bool]:
    """Record the uids of finished pods; return the pods to release, and whether any is new."""
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


def settle_counts(status: dict[str, Any], tracked: set[str]) -> bool:
    """Add recorded pods that have lost their finalizer to the counters."""
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


def set_indexes(count: Count) -> bool:
    """Set the completed indexes in the status; return whether they changed."""
    new: dict[str, Any] = {"completedIndexes": format_indexes(count.done), "succeeded": len(count.done)}
    if count.spec.get("backoffLimitPerIndex") is not None:
        new["failedIndexes"] = format_indexes(count.lost)
    changed = False
    for name, value in new.items():
        if (value == "" and name == "completedIndexes") or value == 0:
            changed |= count.status.pop(name, None) is not None
        elif count.status.get(name) != value:
            count.status[name] = value
            changed = True
    return changed


def set_numbers(status: dict[str, Any], active: int, ready: int, terminating: int) -> bool:
    """Set the numbers of active and ready pods in the status; return whether they changed."""
    old = status.get("active", 0), status.get("ready"), status.get("terminating")
    status.update(active=active, ready=ready, terminating=terminating)
    if not active:
        del status["active"]
    return old != (active, ready, terminating)


def set_suspended(count: Count) -> bool:
    """Set the condition ``Suspended``; return whether it changed."""
    status = count.status
    old = find_condition(status.get("conditions"), "Suspended")
    if count.spec.get("suspend"):
        if old is not None and old["status"] == "True":
            return False
        new = new_job_condition("Suspended", "JobSuspended", "Job suspended", count.now)
        status.pop("startTime", None)
    else:
        if old is None or old["status"] == "False":
            return False
        new = {**new_job_condition("Suspended", "JobResumed", "Job resumed", count.now), "status": "False"}
        status["startTime"] = count.now
    if old is None:
        status["conditions"] = [*(status.get("conditions") or ()), new]
    else:
        old.update(new)
    return True


def surplus_of(count: Count, least: int) -> list[Object]:
    """Pods to remove: those whose index is taken or too high, then those that are deleted first."""
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


def new_job_condition(kind: str, reason: str, message: str, now: str) -> dict[str, Any]:
    """Return a condition that became True just now."""
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _failure(reason: str, message: str, now: str) -> dict[str, Any]:
    return new_job_condition("FailureTarget", reason, message, now)
