"""Pods that say how they behave: annotations for the unhappy paths of an operator.

| annotation | |
|---|---|
| ``kontend.dev/exit-code`` | the containers end with this code; 0 completes a Job, another fails the pod; ``never`` |
| ``kontend.dev/exit-after`` | seconds after the start; at once unless given |
| ``kontend.dev/restarts`` | restarts of the containers before they stay up or end |
| ``kontend.dev/never-ready`` | ``"true"``: the pod runs, and is never ready |

They are read from the pod, so a template carries them to every pod of a Deployment or Job. Where Jobs end by
themselves, a pod of a Job without an exit code ends with 0: whoever waits for the Job waits forever otherwise.
"""

from __future__ import annotations

from typing import Any, Final

from kontend.cluster.times import seconds
from kontend.runtime.client.patches import Object

_PREFIX: Final = "kontend.dev/"
_SCRIPTED: Final = ("exit-code", "restarts")
_NEVER: Final = "never"
#: Seconds between a failure and the restart; the real back-off begins with ten.
_BACK_OFF: Final = 1


def _annotation(pod: Object, name: str) -> str:
    annotations = pod["metadata"].get("annotations") or {}
    return str(annotations.get(_PREFIX + name) or "")


def _number(pod: Object, name: str) -> int:
    text = _annotation(pod, name)
    return int(text) if text.isdecimal() else 0


def has_script(pod: Object, *, jobs_end: bool = False) -> bool:
    """Report whether a pod says that its containers end, or is one of a Job and these end by themselves."""
    return any(_annotation(pod, name) for name in _SCRIPTED) or bool(_exit_code(pod, jobs_end=jobs_end))


def _exit_code(pod: Object, *, jobs_end: bool) -> str:
    """Return the code with which the containers end; empty where they do not."""
    text = _annotation(pod, "exit-code")
    if text or not jobs_end:
        return "" if text == _NEVER else text
    owners = pod["metadata"].get("ownerReferences") or ()
    return "0" if any(owner.get("controller") and owner["kind"] == "Job" for owner in owners) else ""


def becomes_ready(pod: Object) -> bool:
    """Report whether a pod is ready once it runs."""
    return _annotation(pod, "never-ready") != "true"


def next_status(pod: Object, now: str, *, jobs_end: bool = False) -> tuple[dict[str, Any] | None, float | None]:
    """Return the next part of the status of a running pod, and the seconds until there is more; None where there is
    none."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    restarts = max((container_status.get("restartCount", 0) for container_status in statuses), default=0)
    waiting = any("waiting" in (container_status.get("state") or {}) for container_status in statuses)
    if waiting:
        left = _failed_at(statuses, now) + _BACK_OFF - seconds(now)
        return (None, left) if left > 0 else (_restarted(pod, statuses, now), 0.0)
    if restarts < _number(pod, "restarts"):
        return _crashed(statuses, restarts + 1, now), float(_BACK_OFF)
    code = _exit_code(pod, jobs_end=jobs_end)
    if not code:
        return None, None
    started = (pod.get("status") or {}).get("startTime") or now
    left = seconds(started) + _number(pod, "exit-after") - seconds(now)
    if left > 0:
        return None, float(left)
    return _ended(pod, statuses, int(code) if code.isdecimal() else 0, now), None


def _failed_at(statuses: list[Any], now: str) -> int:
    ends = [
        ((container_status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or now
        for container_status in statuses
    ]
    return seconds(max(ends))


def _terminated(code: int, now: str) -> dict[str, Any]:
    reason = "Completed" if code == 0 else "Error"
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}


def _crashed(statuses: list[Any], restarts: int, now: str) -> dict[str, Any]:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
    crashed = [
        {
            **container_status,
            "ready": False,
            "started": False,
            "restartCount": restarts,
            "lastState": _terminated(1, now),
            "state": {"running": None, **waiting},
        }
        for container_status in statuses
    ]
    return {"containerStatuses": crashed, "conditions": _conditions("False", "ContainersNotReady", now)}


def _restarted(pod: Object, statuses: list[Any], now: str) -> dict[str, Any]:
    running, ready = {"waiting": None, "running": {"startedAt": now}}, becomes_ready(pod)
    restarted = [
        {**container_status, "ready": ready, "started": True, "state": running} for container_status in statuses
    ]
    return {"containerStatuses": restarted, "conditions": _conditions("True" if ready else "False", "", now)}


def _ended(pod: Object, statuses: list[Any], code: int, now: str) -> dict[str, Any]:
    ended = [
        {**container_status, "ready": False, "started": False, "state": {"running": None, **_terminated(code, now)}}
        for container_status in statuses
    ]
    restarted = pod["spec"].get("restartPolicy", "Always")
    if restarted == "Always" or (restarted == "OnFailure" and code != 0):
        restarts = max((container_status.get("restartCount", 0) for container_status in statuses), default=0)
        return _crashed(statuses, restarts + 1, now)
    reason = "PodCompleted" if code == 0 else "PodFailed"
    phase = "Succeeded" if code == 0 else "Failed"
    return {"phase": phase, "containerStatuses": ended, "conditions": _conditions("False", reason, now)}


def _conditions(status: str, reason: str, now: str) -> list[dict[str, Any]]:
    changed = {"status": status, "lastProbeTime": None, "lastTransitionTime": now, "reason": reason or None}
    return [{"type": kind, **changed} for kind in ("Ready", "ContainersReady")]
