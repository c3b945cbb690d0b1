"""The resources of a pod as a whole: the sum of its containers, or the most that one of its init containers needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kontend.kube.quantity import Quantity, parse

Amounts = dict[str, Quantity]


def amounts(values: Mapping[str, Any] | None) -> Amounts:
    """Return the quantities of a resource list."""
    return {name: parse(str(value)) for name, value in (values or {}).items()}


def plus(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    """Return the sum of two resource lists."""
    total = dict(left)
    for name, value in right.items():
        total[name] = total[name] + value if name in total else value
    return total


def most(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    """Return the larger amount of each resource."""
    return {
        name: max(amounts[name] for amounts in (left, right) if name in amounts)
        for name in dict.fromkeys((*left, *right))
    }


def pod_amounts(spec: Mapping[str, Any], field: str) -> Amounts:
    """Return the ``requests`` or ``limits`` of a pod.

    >>> init = [{"resources": {"requests": {"cpu": "3"}}}]
    >>> containers = [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "500m"}}}]
    >>> {name: str(value) for name, value in pod_amounts({"containers": containers}, "requests").items()}
    {'cpu': '1500m'}
    >>> str(pod_amounts({"containers": containers, "initContainers": init}, "requests")["cpu"])
    '3'
    """
    running = _sum(_of(container, field) for container in spec.get("containers") or ())
    beside: Amounts = {}
    initial: Amounts = {}
    for container in spec.get("initContainers") or ():
        wanted = _of(container, field)
        if container.get("restartPolicy") == "Always":  # a sidecar: it stays
            beside = plus(beside, wanted)
            initial = most(initial, beside)
        else:
            initial = most(initial, plus(beside, wanted))
    total = most(plus(running, beside), initial)
    whole = amounts((spec.get("resources") or {}).get(field))
    total = {**total, **whole}
    overhead = amounts(spec.get("overhead"))
    if field == "limits":
        overhead = {name: value for name, value in overhead.items() if name in total}
    return plus(total, overhead)


def _of(container: Mapping[str, Any], field: str) -> Amounts:
    return amounts((container.get("resources") or {}).get(field))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        total = plus(total, part)
    return total
