"""Conversion between the forms in which built-in kinds are served."""

from __future__ import annotations

from typing import Any

from kontend import Cluster
from kontend.kube.builtin.conversion.autoscaler import to_version_1, to_version_2


def autoscaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": target, **spec},
    }


def test_an_autoscaler_of_the_first_version_is_read_in_the_second() -> None:
    cluster = Cluster()
    old = {**autoscaler(targetCPUUtilizationPercentage=50), "apiVersion": "autoscaling/v1"}
    cluster.create(old)

    new = cluster.get("HorizontalPodAutoscaler.autoscaling/v2", "x", namespace="default")

    target = {"type": "Utilization", "averageUtilization": 50}
    assert new["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert "targetCPUUtilizationPercentage" not in new["spec"]


def test_what_the_first_version_cannot_say_stands_in_annotations() -> None:
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}},
    }
    policy = {"type": "Pods", "value": 4, "periodSeconds": 15}
    rules = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [policy]}
    obj = autoscaler(metrics=[metric], behavior={"scaleUp": rules})

    old = to_version_1(obj)

    assert old["metadata"]["annotations"] == {
        "autoscaling.alpha.kubernetes.io/metrics": (
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5"}}]'
        ),
        "autoscaling.alpha.kubernetes.io/behavior": (
            '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":'
            '[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}'
        ),
    }
    assert to_version_2(old)["spec"] == {**obj["spec"]}
    assert "annotations" not in to_version_2(old)["metadata"]


def test_an_event_is_the_same_object_in_both_groups() -> None:
    cluster = Cluster()
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": involved,
            "message": "hello",
            "count": 3,
        }
    )

    new = cluster.get("Event.events.k8s.io/v1", "e", namespace="default")

    assert (new["note"], new["regarding"], new["deprecatedCount"]) == ("hello", involved, 3)
    cluster.delete("Event.events.k8s.io/v1", "e", namespace="default")
    assert cluster.list("Event/v1") == []
