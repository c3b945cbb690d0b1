"""The cells of horizontal pod autoscalers."""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.json_types import JsonView
from kontend.kube.printing.shared_cells import NONE, UNSET, age_of, name_of, spec_of, status_of

_MOST: Final = 2
_UNKNOWN: Final = "<unknown>"
_SOURCES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def autoscaler_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of an autoscaler in its second version."""
    spec, status = spec_of(obj), status_of(obj)
    reference = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(obj, now),
    ]


def _targets(metrics: list[JsonView], current: list[JsonView]) -> str:
    if not metrics:
        return NONE
    texts = [_target(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    shown = ", ".join(texts[:_MOST])
    return f"{shown} + {len(texts) - _MOST} more..." if len(texts) > _MOST else shown


def _target(metric: JsonView, current: JsonView) -> str:
    source = _SOURCES.get(metric.get("type", ""))
    if source is None:
        return "<unknown type>"
    wanted, target = metric.get(source) or {}, (metric.get(source) or {}).get("target") or {}
    measured = (current.get(source) or {}).get("current") or {}
    if source in ("resource", "containerResource"):
        return f"{wanted.get('name', '')}: {_resource(target, measured)}"
    if source == "pods":
        return f"{measured.get('averageValue', '0') if measured else _UNKNOWN}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{measured.get('averageValue', _UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{measured.get('value', '0') if measured else _UNKNOWN}/{target.get('value', '0')}"


def _resource(target: JsonView, measured: JsonView) -> str:
    if target.get("averageValue") is not None:
        return f"{measured.get('averageValue', '0') if measured else _UNKNOWN}/{target['averageValue']}"
    used, wanted = measured.get("averageUtilization"), target.get("averageUtilization")
    return f"{_UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
