"""Defaults of the kinds that keep a number of pods running."""

from __future__ import annotations

from kontend.kube.builtin.defaults.pods import pod_spec
from kontend.kube.builtin.defaults.quantities import round_up
from kontend.kube.builtin.defaults.volumes import claim_spec
from kontend.kube.json_types import Json


def deployment(obj: Json) -> None:
    """A Deployment rolls out a quarter at a time."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    pod_spec(spec["template"]["spec"])


def daemon_set(obj: Json) -> None:
    """A DaemonSet rolls out a node at a time."""
    spec = obj["spec"]
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    pod_spec(spec["template"]["spec"])


def stateful_set(obj: Json) -> None:
    """A StatefulSet rolls out in order and keeps its claims."""
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    # No maxUnavailable: its gate is on in the source of 1.35.0, but off in the servers that were asked.
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    pod_spec(spec["template"]["spec"])
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["status"].setdefault("phase", "Pending")
        claim_spec(claim["spec"])
        round_up(claim["status"].get("capacity"))
        round_up(claim["status"].get("allocatedResources"))


def replica_set(obj: Json) -> None:
    """A ReplicaSet has one replica."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    pod_spec(spec["template"]["spec"])


def replication_controller(obj: Json) -> None:
    """A ReplicationController selects by, and is labelled with, the labels of its template."""
    spec = obj["spec"]
    template = spec.get("template")
    if template:
        labels = template["metadata"].get("labels")
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        pod_spec(template["spec"])
    spec.setdefault("replicas", 1)
