"""A pod's row in a table: how many containers are ready, and one word for how it is doing.

That word is the server's own invention. It looks at the phase, at the init containers in their order, then at the
containers from the last to the first, and at whether the pod is being deleted.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.json_types import JsonView
from kontend.kube.printing.ages import age


def pod_conditions(pod: JsonView) -> dict[str, Any]:
    """Return the row conditions of a pod that has finished."""
    phase = (pod.get("status") or {}).get("phase")
    message = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}.get(phase or "")
    if message is None:
        return {}
    return {"conditions": [{"type": "Completed", "status": "True", "reason": phase, "message": message}]}


def pod_cells(pod: JsonView, now: str) -> list[Any]:
    """Return the cells of a pod's row."""
    metadata, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    tally = _Tally(spec, status)
    reason = tally.reason
    if metadata.get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    restarts = str(tally.restarts)
    if tally.restarts and tally.last_restart:
        restarts = f"{restarts} ({age(tally.last_restart, now)} ago)"
    addresses = status.get("podIPs") or [{}]
    return [
        metadata.get("name", ""),
        f"{tally.ready}/{tally.total}",
        reason,
        restarts,
        age(metadata.get("creationTimestamp"), now),
        addresses[0].get("ip") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(spec, status),
    ]


def _readiness_gates(spec: JsonView, status: JsonView) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    return f"{sum(_condition(status, gate.get('conditionType')) for gate in gates)}/{len(gates)}"


def _condition(status: JsonView, wanted: Any) -> bool:
    conditions = status.get("conditions") or ()
    return next(
        (condition.get("status") == "True" for condition in conditions if condition.get("type") == wanted), False
    )


def _ended(terminated: JsonView, prefix: str = "") -> str:
    if terminated.get("reason"):
        return f"{prefix}{terminated['reason']}"
    if terminated.get("signal"):
        return f"{prefix}Signal:{terminated['signal']}"
    return f"{prefix}ExitCode:{terminated.get('exitCode', 0)}"


class _Tally:
    """The totals over the containers of a pod."""

    def __init__(self, spec: JsonView, status: JsonView) -> None:
        inits = {container.get("name"): container for container in spec.get("initContainers") or ()}
        self.sidecars = {name for name, init in inits.items() if init.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or ()) + len(self.sidecars)
        self.ready = self.restarts = 0
        self.last_restart = ""
        self.reason: str = status.get("reason") or status.get("phase") or ""
        for condition in status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        initializing, sidecar_restarts, sidecar_last = self.count_init(status, len(inits))
        if not initializing or _condition(status, "Initialized"):
            self.restarts, self.last_restart = sidecar_restarts, sidecar_last
            self.count_containers(status)

    def count_restarts(self, container: JsonView) -> None:
        self.restarts += container.get("restartCount", 0)
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)

    def count_init(self, status: JsonView, total: int) -> tuple[bool, int, str]:
        """Count the init containers up to the first that is not done; sidecars are counted separately."""
        sidecar_restarts, sidecar_last = 0, ""
        for index, container in enumerate(status.get("initContainerStatuses") or ()):
            self.count_restarts(container)
            sidecar = container.get("name") in self.sidecars
            if sidecar:
                sidecar_restarts += container.get("restartCount", 0)
                finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
                sidecar_last = max(sidecar_last, finished)
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if terminated is not None:
                self.reason = _ended(terminated, "Init:")
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{total}"
            return True, sidecar_restarts, sidecar_last
        return False, sidecar_restarts, sidecar_last

    def count_containers(self, status: JsonView) -> None:
        running = False
        failure = ""
        for container in reversed(status.get("containerStatuses") or ()):
            self.count_restarts(container)
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _ended(terminated)
                if terminated.get("exitCode"):
                    failure = self.reason
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and _condition(status, "Ready"):
                self.reason = "Running"
            elif failure:
                self.reason = failure
            elif running:
                self.reason = "NotReady"
