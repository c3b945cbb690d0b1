"""Evictions: deletions of pods that ask a disruption budget first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube import errors
from kontend.kube.json_types import Json
from kontend.kube.meta.names import Key
from kontend.kube.meta.selectors import selector_from_json

_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_MOST_DISRUPTED: Final = 2000


def evicts_freely(pod: Mapping[str, Any]) -> bool:
    """Report whether a pod does not count for any budget: it has ended, has not begun, or is going already."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def matching_budget(pod: Mapping[str, Any], budgets: Mapping[Key, Mapping[str, Any]]) -> Key | None:
    """Return the budget that protects a pod. Two are one too many."""
    labels = pod["metadata"].get("labels") or {}
    matching = []
    for key, budget in sorted(budgets.items()):
        selector = (budget.get("spec") or {}).get("selector")
        if selector is not None and labels and selector_from_json(selector).matches(labels):
            matching.append(key)
    if len(matching) > 1:
        raise errors.ApiError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", code=500
        )
    return matching[0] if matching else None


def charge(budget: Json, pod: Mapping[str, Any], *, now: str) -> bool:
    """Take one disruption from a budget, in place. False when the pod needs none; raise when there is none left."""
    name = budget["metadata"]["name"]
    status: Json = budget.setdefault("status", {})
    if _is_exempt(budget, pod):
        return False
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(message, retry_after=10)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise errors.forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    disrupted: Json = status.setdefault("disruptedPods", {})
    if len(disrupted) > _MOST_DISRUPTED:
        raise errors.forbidden(
            "policy",
            "poddisruptionbudget",
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if allowed == 0:
        message = (
            f"The disruption budget {name} needs {status.get('desiredHealthy') or 0} healthy pods and has "
            f"{status.get('currentHealthy') or 0} currently"
        )
        raise _too_many(message, retry_after=0)
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        _no_more_disruptions(budget, now)
    disrupted[pod["metadata"]["name"]] = now
    return True


def _is_exempt(budget: Json, pod: Mapping[str, Any]) -> bool:
    """Return whether a pod that is not ready may be exempt, by the budget's policy for unhealthy pods."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _no_more_disruptions(budget: Json, now: str) -> None:
    conditions = budget["status"].setdefault("conditions", [])
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": budget["status"].get("observedGeneration") or 0,
        "lastTransitionTime": now,
    }
    budget["status"]["conditions"] = [state for state in conditions if state.get("type") != "DisruptionAllowed"] + [
        condition
    ]


def _too_many(message: str, *, retry_after: int) -> errors.TooManyRequests:
    causes = [{"reason": "DisruptionBudget", "message": message}]
    return errors.too_many_requests(_REFUSED, retry_after=retry_after, causes=causes)
