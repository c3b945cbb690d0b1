"""Version 1 of horizontal pod autoscalers keeps in annotations what its fields cannot say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from kontend.kube.builtin.internal_form import external, shown_as
from kontend.kube.field_errors import go_json
from kontend.kube.json_types import Json

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = f"{_PREFIX}metrics"
CURRENT_METRICS: Final = f"{_PREFIX}current-metrics"
CONDITIONS: Final = f"{_PREFIX}conditions"
BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_ANNOTATIONS: Final = (METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR)
_DEFAULT_UTILIZATION: Final = 80
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_REFERENCE: Final = ("kind", "name", "apiVersion")


def _cpu(utilization: int) -> Json:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def to_version_2(obj: Json) -> Json:
    """Turn version 1 into version 2."""
    metadata, spec, status = obj.get("metadata") or {}, dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(metadata.get("annotations") or {})
    target = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = [_cpu(target)] if target is not None else []
    others = _decoded(annotations, METRICS, list)
    if others is not None:
        metrics = [_new_metric(metric) for metric in others] + metrics[:1]
    spec["metrics"] = metrics or [_cpu(_DEFAULT_UTILIZATION)]
    behavior = external("HorizontalPodAutoscalerBehavior", _decoded(annotations, BEHAVIOR, dict) or {})
    if behavior:
        spec["behavior"] = behavior
    current = status.pop("currentCPUUtilizationPercentage", None)
    metrics = _decoded(annotations, CURRENT_METRICS, list)
    if metrics is not None:
        status["currentMetrics"] = [_new_status(metric) for metric in metrics]
    elif current is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": current}}
        status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    else:
        status["currentMetrics"] = None
    conditions = _decoded(annotations, CONDITIONS, list)
    if conditions is not None:
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return {**obj, "apiVersion": "autoscaling/v2", "metadata": _without(metadata), "spec": spec, "status": status}


def to_version_1(obj: Json) -> Json:
    """Turn version 2 into version 1."""
    metadata, spec, status = obj.get("metadata") or {}, dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    current, conditions = status.pop("currentMetrics", None) or [], status.pop("conditions", None) or []
    metadata = _without(metadata)
    added: dict[str, str] = {}
    others = [metric for metric in metrics if _utilization(metric, "target") is None]
    if others:
        added[METRICS] = _text([_old_metric(metric) for metric in others])
    if current:
        added[CURRENT_METRICS] = _text([_old_status(metric) for metric in current])
    if behavior is not None:
        added[BEHAVIOR] = str(shown_as("HorizontalPodAutoscalerBehavior", behavior))
    if conditions:
        added[CONDITIONS] = _text([_ordered(condition, _CONDITION) for condition in conditions])
    if added:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **added}}
    wanted = [value for metric in metrics if (value := _utilization(metric, "target")) is not None]
    if wanted:
        spec["targetCPUUtilizationPercentage"] = wanted[0]
    used = [value for metric in current if (value := _utilization(metric, "current")) is not None]
    if used:
        status["currentCPUUtilizationPercentage"] = used[-1]
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    return {**obj, "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def _utilization(metric: Json, field: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    value: int | None = (resource.get(field) or {}).get("averageUtilization")
    return value


def _without(metadata: Json) -> Json:
    annotations = metadata.get("annotations")
    if not annotations or not any(name in annotations for name in _ANNOTATIONS):
        return dict(metadata)
    left = {name: text for name, text in annotations.items() if name not in _ANNOTATIONS}
    kept = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**kept, "annotations": left} if left else kept


def _decoded(annotations: dict[str, str], name: str, shape: type) -> Any:
    try:
        decoded = orjson.loads(annotations.get(name, ""))
    except orjson.JSONDecodeError:
        return None
    return decoded if isinstance(decoded, shape) else None


def _text(value: Any) -> str:
    return orjson.dumps(value).decode() if "&" not in str(value) else go_json(value)


def _ordered(value: Json, names: tuple[str, ...]) -> Json:
    """Put fields into the order of the Go struct, because an annotation is compared as text."""
    return {name: value[name] for name in names if name in value}


def _some(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


# Metrics of version 1: names and targets stand beside each other, where version 2 has objects for them.


def _old_external(source: Json) -> Json:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _some(
        metricName=metric.get("name", ""),
        metricSelector=metric.get("selector"),
        targetValue=target.get("value"),
        targetAverageValue=target.get("averageValue"),
    )


def _old_object(source: Json) -> Json:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _some(
        target=_ordered(source.get("describedObject") or {}, _REFERENCE),
        metricName=metric.get("name", ""),
        targetValue=target.get("value", "0"),
        selector=metric.get("selector"),
        averageValue=target.get("averageValue"),
    )


def _old_pods(source: Json) -> Json:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _some(
        metricName=metric.get("name", ""),
        targetAverageValue=target.get("averageValue", "0"),
        selector=metric.get("selector"),
    )


def _old_resource(source: Json) -> Json:
    target = source.get("target") or {}
    return _some(
        name=source.get("name", ""),
        targetAverageUtilization=target.get("averageUtilization"),
        targetAverageValue=target.get("averageValue"),
        container=source.get("container"),
    )


def _new_external(source: Json) -> Json:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    kind = "AverageValue" if value is None else "Value"
    metric = _some(name=source.get("metricName", ""), selector=source.get("metricSelector"))
    return {"metric": metric, "target": {"type": kind, **_some(value=value, averageValue=average)}}


def _new_object(source: Json) -> Json:
    average = source.get("averageValue")
    target = {"type": "Value" if average is None else "AverageValue", "value": source.get("targetValue", "0")}
    metric = _some(name=source.get("metricName", ""), selector=source.get("selector"))
    target |= _some(averageValue=average)
    return {"describedObject": source.get("target") or {}, "target": target, "metric": metric}


def _new_pods(source: Json) -> Json:
    metric = _some(name=source.get("metricName", ""), selector=source.get("selector"))
    return {"metric": metric, "target": {"type": "AverageValue", "averageValue": source.get("targetAverageValue", "0")}}


def _new_resource(source: Json) -> Json:
    utilization, average = source.get("targetAverageUtilization"), source.get("targetAverageValue")
    kind = "AverageValue" if utilization is None else "Utilization"
    target = {"type": kind, **_some(averageValue=average, averageUtilization=utilization)}
    return {"name": source.get("name", ""), "target": target, **_some(container=source.get("container"))}


def _old_state(source: Json) -> Json:
    """Return the current value of any kind of metric, in the words of version 1."""
    current, metric = source.get("current") or {}, source.get("metric") or {}
    shown: Json = {}
    if "describedObject" in source:
        shown = _some(
            target=_ordered(source["describedObject"], _REFERENCE),
            metricName=metric.get("name", ""),
            currentValue=current.get("value", "0"),
            selector=metric.get("selector"),
            averageValue=current.get("averageValue"),
        )
    elif "name" in source:
        shown = _some(
            name=source["name"],
            currentAverageUtilization=current.get("averageUtilization"),
            currentAverageValue=current.get("averageValue", "0"),
            container=source.get("container"),
        )
    return shown


def _old_external_state(source: Json) -> Json:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    return _some(
        metricName=metric.get("name", ""),
        metricSelector=metric.get("selector"),
        currentValue=current.get("value", "0"),
        currentAverageValue=current.get("averageValue"),
    )


def _old_pods_state(source: Json) -> Json:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    return _some(
        metricName=metric.get("name", ""),
        currentAverageValue=current.get("averageValue", "0"),
        selector=metric.get("selector"),
    )


def _new_state(source: Json) -> Json:
    if "target" in source:
        current = _some(value=source.get("currentValue", "0"), averageValue=source.get("averageValue"))
        metric = _some(name=source.get("metricName", ""), selector=source.get("selector"))
        return {"metric": metric, "current": current, "describedObject": source["target"]}
    current = _some(
        averageValue=source.get("currentAverageValue", "0"),
        averageUtilization=source.get("currentAverageUtilization"),
    )
    return {"name": source.get("name", ""), "current": current, **_some(container=source.get("container"))}


def _new_external_state(source: Json) -> Json:
    metric = _some(name=source.get("metricName", ""), selector=source.get("metricSelector"))
    current = _some(value=source.get("currentValue", "0"), averageValue=source.get("currentAverageValue"))
    return {"metric": metric, "current": current}


def _new_pods_state(source: Json) -> Json:
    metric = _some(name=source.get("metricName", ""), selector=source.get("selector"))
    return {"metric": metric, "current": {"averageValue": source.get("currentAverageValue", "0")}}


_Convert = Callable[[Json], Json]


def _each(metric: Json, converters: dict[str, _Convert]) -> Json:
    changed = {name: convert(metric[name]) for name, convert in converters.items() if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **changed}


def _old_metric(metric: Json) -> Json:
    return _each(
        metric,
        {
            "object": _old_object,
            "pods": _old_pods,
            "resource": _old_resource,
            "containerResource": _old_resource,
            "external": _old_external,
        },
    )


def _new_metric(metric: Json) -> Json:
    return _each(
        metric,
        {
            "object": _new_object,
            "pods": _new_pods,
            "resource": _new_resource,
            "containerResource": _new_resource,
            "external": _new_external,
        },
    )


def _old_status(metric: Json) -> Json:
    return _each(
        metric,
        {
            "object": _old_state,
            "pods": _old_pods_state,
            "resource": _old_state,
            "containerResource": _old_state,
            "external": _old_external_state,
        },
    )


def _new_status(metric: Json) -> Json:
    return _each(
        metric,
        {
            "object": _new_state,
            "pods": _new_pods_state,
            "resource": _new_state,
            "containerResource": _new_state,
            "external": _new_external_state,
        },
    )
