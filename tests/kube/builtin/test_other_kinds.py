"""Storage, networking, nodes, policy, leases, autoscalers and the kinds that configure the server."""

from __future__ import annotations

from typing import Any

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.default_class import default_class

NOW = "2026-01-02T00:00:00Z"
DEFAULT_STORAGE = {"storageclass.kubernetes.io/is-default-class": "true"}


def test_claims_and_volumes_are_protected_while_they_are_used() -> None:
    claim: dict[str, Any] = {"metadata": {}, "spec": {}}
    volume: dict[str, Any] = {"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}, "spec": {}}
    strategy_for("", "PersistentVolumeClaim").admit_create(claim)
    strategy_for("", "PersistentVolume").admit_create(volume)

    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    classes = [{"metadata": {"name": "fast", "annotations": DEFAULT_STORAGE}}]
    claim: dict[str, Any] = {"metadata": {}, "spec": {}}
    strategy_for("", "PersistentVolumeClaim").admit_create(claim, lambda *_: classes)

    assert claim["spec"]["storageClassName"] == "fast"


def test_of_several_default_classes_the_newest_counts() -> None:
    marked = {"d": "true"}
    classes = [
        {"metadata": {"name": "b", "annotations": marked, "creationTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": {"name": "a", "annotations": marked, "creationTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": {"name": "old", "annotations": marked, "creationTimestamp": "2025-01-01T00:00:00Z"}},
        {"metadata": {"name": "new", "annotations": {}, "creationTimestamp": "2027-01-01T00:00:00Z"}},
    ]

    assert default_class(classes, "d") == "a"
    assert default_class(classes, "other") == ""


def test_the_two_data_sources_of_a_claim_fill_each_other() -> None:
    claims = strategy_for("", "PersistentVolumeClaim")
    known: dict[str, Any] = {"metadata": {}, "spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    strange: dict[str, Any] = {"metadata": {}, "spec": {"dataSource": {"kind": "Pod", "name": "a"}}}
    claims.prepare_for_create(known)
    claims.prepare_for_create(strange)

    assert known["spec"]["dataSourceRef"] == known["spec"]["dataSource"]
    assert strange["spec"] == {}


def test_a_volume_notes_when_its_phase_changes() -> None:
    volumes = strategy_for("", "PersistentVolume")
    old: dict[str, Any] = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}
    volumes.prepare_for_create(old)
    same: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {"phase": "Pending"}}
    other: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {"phase": "Available"}}
    volumes.prepare("status", same, old, NOW)
    volumes.prepare("status", other, old, NOW)

    assert same["status"] == old["status"]
    assert other["status"] == {"phase": "Available", "lastPhaseTransitionTime": NOW}


def test_what_changed_in_a_claim_is_shown() -> None:
    claims = strategy_for("", "PersistentVolumeClaim")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    old: dict[str, Any] = {"metadata": {}, "spec": spec, "status": {"phase": "Pending"}}
    new: dict[str, Any] = {**old, "spec": {**spec, "resources": {"requests": {"storage": "2Gi"}}}}

    (error,) = claims.validate_update(new, old)
    assert '-   "storage": "1Gi"\n+   "storage": "2Gi"\n' in str(error)
    assert str(error).startswith("spec: Forbidden: spec is immutable after creation except resources.requests and ")


def test_a_bound_claim_may_grow() -> None:
    claims = strategy_for("", "PersistentVolumeClaim")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    old: dict[str, Any] = {"metadata": {}, "spec": spec, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    new: dict[str, Any] = {**old, "spec": {**spec, "resources": {"requests": {"storage": "2Gi"}}}}
    less: dict[str, Any] = {**old, "spec": {**spec, "resources": {"requests": {"storage": "1Mi"}}}}

    assert claims.validate_update(new, old) == []
    assert [str(error) for error in claims.validate_update(less, old)] == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_a_new_node_is_kept_free_until_it_is_ready() -> None:
    node: dict[str, Any] = {"metadata": {}}
    strategy_for("", "Node").admit_create(node)

    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_the_ranges_of_a_node_agree() -> None:
    node: dict[str, Any] = {"metadata": {}, "spec": {"podCIDR": "10.0.0.0/24"}}
    strategy_for("", "Node").convert(node)

    assert node["spec"]["podCIDRs"] == ["10.0.0.0/24"]


def test_an_ingress_without_a_class_gets_the_default_one() -> None:
    marked = {"ingressclass.kubernetes.io/is-default-class": "true"}
    ingress: dict[str, Any] = {"metadata": {}, "spec": {}}
    strategy_for("networking.k8s.io", "Ingress").admit_create(
        ingress, lambda *_: [{"metadata": {"name": "nginx", "annotations": marked}}]
    )

    assert ingress["spec"] == {"ingressClassName": "nginx"}


def test_a_lease_drops_fields_that_are_switched_off() -> None:
    lease: dict[str, Any] = {"metadata": {}, "spec": {"holderIdentity": "a", "strategy": "OldestEmulationVersion"}}
    strategy_for("coordination.k8s.io", "Lease").prepare_for_create(lease)

    assert lease["spec"] == {"holderIdentity": "a"}


def test_an_autoscaler_starts_without_a_status() -> None:
    obj: dict[str, Any] = {"apiVersion": "autoscaling/v2", "metadata": {}, "spec": {}}
    strategy_for("autoscaling", "HorizontalPodAutoscaler").prepare_for_create(obj)

    assert obj["status"] == {"desiredReplicas": 0, "currentMetrics": None}


def test_a_write_to_the_status_of_a_flow_schema_leaves_the_metadata() -> None:
    old: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}}
    new: dict[str, Any] = {"metadata": {"labels": {}, "managedFields": [1]}, "spec": {}, "status": {}}
    strategy_for("flowcontrol.apiserver.k8s.io", "FlowSchema").prepare("status", new, old)

    assert new == {"metadata": {"labels": {"a": "b"}, "managedFields": [1]}, "spec": {"x": 1}, "status": {}}


def test_approval_changes_the_conditions_of_a_signing_request() -> None:
    requests = strategy_for("certificates.k8s.io", "CertificateSigningRequest")
    old: dict[str, Any] = {"metadata": {}, "spec": {"request": "x"}, "status": {"certificate": "c"}}
    new: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {"conditions": [{"type": "Approved"}]}}
    now = "2026-01-01T00:00:00Z"
    requests.prepare("approval", new, old, now)

    assert new["spec"] == {"request": "x"}
    approved = {"type": "Approved", "lastUpdateTime": now, "lastTransitionTime": now}
    assert new["status"] == {"certificate": "c", "conditions": [approved]}


def test_webhooks_count_changes_of_their_hooks() -> None:
    old: dict[str, Any] = {"metadata": {"generation": 1}, "webhooks": []}
    new: dict[str, Any] = {"metadata": {"generation": 1}, "webhooks": [{"name": "a"}]}
    strategy_for("admissionregistration.k8s.io", "MutatingWebhookConfiguration").prepare("", new, old)

    assert new["metadata"]["generation"] == 2
