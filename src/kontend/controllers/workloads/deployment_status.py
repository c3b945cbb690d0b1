"""The status of a Deployment: numbers, and the conditions ``Available`` and ``Progressing``."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.times import seconds
from kontend.controllers.conditions import new_condition, put_condition, remove_condition
from kontend.controllers.workloads.deployment_sets import (
    DESIRED,
    REVISION,
    UNLIMITED,
    counted,
    max_unavailable,
    number_in,
    replicas_of,
    wanted,
)
from kontend.kube.meta.conditions import find_condition
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Result


@dataclass(slots=True)
class Rollout:
    """A Deployment and its ReplicaSets."""

    deployment: Object
    new: Object | None
    old: list[Object] = field(default_factory=list)

    @property
    def every(self) -> list[Object]:
        """All ReplicaSets."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    @property
    def size(self) -> int:
        """Returns the number of replicas of the Deployment."""
        return replicas_of(self.deployment)


def was_scaled(rollout: Rollout) -> bool:
    """Report whether the Deployment was scaled since its ReplicaSets were."""
    desired = [number_in(replica_set, DESIRED) for replica_set in rollout.every if replicas_of(replica_set)]
    return any(replica_set is not None and replica_set != rollout.size for replica_set in desired)


def is_saturated(rollout: Rollout) -> bool:
    """Report whether the new ReplicaSet has all pods, and all of them are available."""
    new = rollout.new
    if new is None:
        return False
    return {replicas_of(new), number_in(new, DESIRED), counted([new], "availableReplicas")} == {rollout.size}


def has_deadline(deployment: Object) -> bool:
    """Report whether a rollout may be called stuck."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", UNLIMITED) != UNLIMITED)


def set_revision(deployment: Object, revision: str) -> bool:
    """Annotates the Deployment with the revision; returns whether it changed."""
    annotations = deployment["metadata"].setdefault("annotations", {})
    changed = bool(annotations.get(REVISION) != revision)
    annotations[REVISION] = revision
    return changed


def set_progressing(deployment: Object, status: str, reason: str, message: str, now: str) -> None:
    """Set the condition ``Progressing``."""
    put_condition(deployment.setdefault("status", {}), _condition("Progressing", status, reason, message, now))


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return new_condition(kind, status, reason, message, now, lastUpdateTime=now)


def status_of(rollout: Rollout, now: str) -> dict[str, Any]:
    """Return the status, summed over the ReplicaSets."""
    deployment, every = rollout.deployment, rollout.every
    old = deployment.get("status") or {}
    available = counted(every, "availableReplicas")
    numbers = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": counted(every, "replicas"),
        "updatedReplicas": counted([rollout.new], "replicas") if rollout.new is not None else 0,
        "readyReplicas": counted(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted(every) - available),
    }
    status: dict[str, Any] = {name: number for name, number in numbers.items() if number}
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    seen = [replica_set for replica_set in every if (replica_set.get("status") or {}).get("observedGeneration")]
    if all("terminatingReplicas" in replica_set["status"] for replica_set in seen):
        status["terminatingReplicas"] = counted(seen, "terminatingReplicas")
    if old.get("conditions"):
        status["conditions"] = deepcopy(old["conditions"])
    if available >= rollout.size - max_unavailable(deployment):
        text = "Deployment has minimum availability."
        put_condition(status, _condition("Available", "True", "MinimumReplicasAvailable", text, now))
    else:
        text = "Deployment does not have minimum availability."
        put_condition(status, _condition("Available", "False", "MinimumReplicasUnavailable", text, now))
    return status


def is_complete(deployment: Object, status: Mapping[str, Any]) -> bool:
    """Report whether a rollout is done."""
    size = replicas_of(deployment)
    counts = (status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas"))
    generation = deployment["metadata"].get("generation", 0)
    return all(count == size for count in counts) and status.get("observedGeneration", 0) >= generation


def _gets_on(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    def outdated(status: Mapping[str, Any]) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(new) < outdated(old) or any(new.get(name, 0) > old.get(name, 0) for name in grown)


def set_progress(rollout: Rollout, status: dict[str, Any], now: str) -> None:
    """Set the condition ``Progressing``: the rollout is complete, makes progress, or is stuck."""
    deployment = rollout.deployment
    if not has_deadline(deployment):
        remove_condition(status, "Progressing")
        return
    old = deployment.get("status") or {}
    current = find_condition(old.get("conditions"), "Progressing")
    known = (current or {}).get("reason")
    if status.get("replicas", 0) == status.get("updatedReplicas", 0) and known == "NewReplicaSetAvailable":
        return
    what = f'ReplicaSet "{rollout.new["metadata"]["name"]}"' if rollout.new is not None else ""
    what = what or f'Deployment "{deployment["metadata"]["name"]}"'
    if is_complete(deployment, status):
        text = f"{what} has successfully progressed."
        put_condition(status, _condition("Progressing", "True", "NewReplicaSetAvailable", text, now))
    elif _gets_on(old, status):
        new = _condition("Progressing", "True", "ReplicaSetUpdated", f"{what} is progressing.", now)
        if current is not None and current["status"] == "True":
            new["lastTransitionTime"] = current["lastTransitionTime"]
        remove_condition(status, "Progressing")
        put_condition(status, new)
    elif _is_stuck(deployment, status, now):
        text = f"{what} has timed out progressing."
        put_condition(status, _condition("Progressing", "False", "ProgressDeadlineExceeded", text, now))


def _is_stuck(deployment: Object, status: dict[str, Any], now: str) -> bool:
    known = find_condition(status.get("conditions"), "Progressing")
    if known is None or known["reason"] == "NewReplicaSetAvailable":
        return False
    if known["reason"] == "ProgressDeadlineExceeded":
        return True
    return seconds(known["lastUpdateTime"]) + int(deployment["spec"]["progressDeadlineSeconds"]) < seconds(now)


def next_look(deployment: Object, status: dict[str, Any], now: str) -> Result | None:
    """Return the seconds until the next check for a stuck rollout."""
    known = find_condition(status.get("conditions"), "Progressing")
    if not has_deadline(deployment) or known is None or known["reason"] == "ProgressDeadlineExceeded":
        return None
    if is_complete(deployment, status):
        return None
    left = seconds(known["lastUpdateTime"]) + int(deployment["spec"]["progressDeadlineSeconds"]) - seconds(now)
    return Result(requeue_after=float(max(left, 0) + 1))
