"""A pod's quality of service class, from what its containers ask for."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Literal

from kontend.kube.builtin.validation.amounts import amount, total

QualityOfService = Literal["BestEffort", "Burstable", "Guaranteed"]
_COUNTED: Final = ("cpu", "memory")


def quality_of_service(spec: Mapping[str, Any]) -> QualityOfService:
    """``Guaranteed`` if limits equal requests for cpu and memory everywhere, ``BestEffort`` if nothing is asked for.

    >>> quality_of_service({"containers": [{"resources": {"limits": {"cpu": "1"}}}]})
    'Burstable'
    """
    whole_pod = spec.get("resources")
    if whole_pod is not None:
        holders = [whole_pod]
    else:
        containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
        holders = [container.get("resources") or {} for container in containers]
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    guaranteed = True
    for holder in holders:
        _add_up(requests, holder.get("requests"))
        limited = _add_up(limits, holder.get("limits"))
        # With resources of the whole pod, leaving the limits out altogether is caught by comparing them below.
        if limited != len(_COUNTED) and (whole_pod is None or holder.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add_up(totals: dict[str, Decimal], amounts: Mapping[str, Any] | None) -> int:
    """Add the positive quantities to the totals; return how many of them are counted resources."""
    count = 0
    for name in _COUNTED:
        given = amount(amounts[name]) if amounts and name in amounts else None
        if given is not None and given > 0:
            totals[name] = total(totals.get(name, Decimal(0)), given)
            count += 1
    return count
