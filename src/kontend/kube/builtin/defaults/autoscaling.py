"""Defaults of horizontal pod autoscalers."""

from __future__ import annotations

from kontend.kube.json_types import Json


def min_replicas(obj: Json) -> None:
    """At least one pod: all that version 1 promises."""
    obj["spec"].setdefault("minReplicas", 1)


def horizontal_pod_autoscaler(obj: Json) -> None:
    """Without metrics it watches CPU; without rules it scales fast up and fast down."""
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _rules(behavior.get("scaleUp"), [("Pods", 4), ("Percent", 100)])
        behavior["scaleUp"].setdefault("stabilizationWindowSeconds", 0)
        behavior["scaleDown"] = _rules(behavior.get("scaleDown"), [("Percent", 100)])


def _rules(given: Json | None, policies: list[tuple[str, int]]) -> Json:
    rules = given or {}
    rules.setdefault("selectPolicy", "Max")
    rules.setdefault("policies", [{"type": kind, "value": value, "periodSeconds": 15} for kind, value in policies])
    return rules
