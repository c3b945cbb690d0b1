"""The policies of a Job: pod failure policy, success policy, and backoff after a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kontend.cluster.times import seconds
from kontend.controllers.workloads.pods import phase_of
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.conditions import get_condition

#: Seconds to wait after the first failure, doubled with each further one, and the most.
_FIRST_DELAY: Final = 10
_LONGEST_DELAY: Final = 600


def failure_rule(job: Mapping[str, Any], pod: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], str] | None:
    """Return the first rule of the pod failure policy that a failed pod matches: its index, the rule, and what
    matched."""
    policy = job["spec"].get("podFailurePolicy") or {}
    status = pod.get("status") or {}
    where = f"{pod['metadata'].get('namespace', '')}/{pod['metadata'].get('name', '')}"
    for index, rule in enumerate(policy.get("rules") or ()):
        if rule.get("onExitCodes"):
            name, code = _exit_code(status, rule["onExitCodes"])
            if name:
                return index, rule, f"Container {name} for pod {where} failed with exit code {code}"
        elif rule.get("onPodConditions"):
            for condition in status.get("conditions") or ():
                if any(
                    (condition["type"], condition["status"]) == (p["type"], p["status"])
                    for p in rule["onPodConditions"]
                ):
                    return index, rule, f"Pod {where} has condition {condition['type']}"
    return None


def _exit_code(status: Mapping[str, Any], requirement: Mapping[str, Any]) -> tuple[str, int]:
    """Return the container whose exit code matches, and the code."""
    wanted, values = requirement.get("containerName"), requirement.get("values") or ()
    for container in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        ended = (container.get("state") or {}).get("terminated")
        if ended is None or not ended.get("exitCode") or (wanted and wanted != container["name"]):
            continue
        if (ended["exitCode"] in values) == (requirement["operator"] == "In"):
            return container["name"], ended["exitCode"]
    return "", 0


def failure_action(job: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    """Return the action for a failed pod: ``Ignore``, ``FailIndex``, ``FailJob`` or ``Count``."""
    matched = failure_rule(job, pod)
    return matched[1]["action"] if matched is not None else "Count"


def failed_job_message(job: Mapping[str, Any], failed: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the reason why failed pods fail the whole Job, if they do."""
    for pod in failed:
        matched = failure_rule(job, pod)
        if matched is not None and matched[1]["action"] == "FailJob":
            index, _, what = matched
            return f"{what} matching FailJob rule at index {index}"
    return None


def matched_success_rule(rules: Iterable[tuple[set[int] | None, int | None]], succeeded: set[int]) -> str | None:
    """Return the first rule of the success policy that is met; a rule has indexes, a count, or both."""
    if not succeeded:
        return None
    for number, (indexes, count) in enumerate(rules):
        if indexes is not None:
            met = len(indexes & succeeded)
            if indexes and (met == len(indexes) or (count is not None and met >= count)):
                return f"Matched rules at index {number}"
        elif count is not None and len(succeeded) >= count:
            return f"Matched rules at index {number}"
    return None


def is_past_restart_limit(job: Object, pods: Iterable[Object]) -> bool:
    """Report whether containers that are restarted in place have failed too often."""
    if (job["spec"]["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if phase_of(pod) in ("Running", "Pending"):
            status = pod.get("status") or {}
            statuses = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
            restarts += sum(container.get("restartCount", 0) for container in statuses)
    limit: int = job["spec"].get("backoffLimit", 6)
    return restarts > 0 if limit == 0 else restarts >= limit


def backoff_left(pods: Iterable[Object], failed: Iterable[Object], now: str) -> int:
    """Return how many seconds to wait before the next pod: longer with each failure since the last success."""
    succeeded = max((_finished_at(pod) for pod in pods if phase_of(pod) == "Succeeded"), default=-1)
    times = sorted(time for pod in failed if (time := _finished_at(pod)) > succeeded)
    if not times:
        return 0
    delay = min(_FIRST_DELAY * 2 ** min(len(times) - 1, 10), _LONGEST_DELAY)
    return int(max(0, times[-1] + delay - seconds(now)))


def _finished_at(pod: Mapping[str, Any]) -> int:
    """Return the time at which a pod finished, as exactly as its status has it."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    ends = [
        seconds(time)
        for container in status.get("containerStatuses") or ()
        if (time := ((container.get("state") or {}).get("terminated") or {}).get("finishedAt"))
    ]
    if ends:
        return max(ends)
    ready = get_condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds(ready["lastTransitionTime"])
    if metadata.get("deletionTimestamp"):
        return seconds(metadata["deletionTimestamp"]) - int(metadata.get("deletionGracePeriodSeconds") or 0)
    return seconds(metadata["creationTimestamp"])
