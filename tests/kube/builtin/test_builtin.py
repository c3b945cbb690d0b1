"""The registry of strategies, and the flags by which kinds differ."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import pytest

from kontend.kube.builtin import every_strategy, strategy_for

STRATEGIES = every_strategy()
CREATE_ON_UPDATE = {
    "RuntimeClass", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Lease", "LeaseCandidate", "LimitRange",
    "Event", "Service", "Endpoints",
}  # fmt: skip
LOCKED = {
    "Lease", "LeaseCandidate", "RuntimeClass", "PodDisruptionBudget", "CSIDriver", "CSINode", "CSIStorageCapacity",
    "VolumeAttachment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    "CustomResourceDefinition",
}  # fmt: skip
RETURNED = {
    "Pod", "Service", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "ServiceAccount", "ResourceQuota",
    "PodTemplate", "StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "VolumeAttributesClass",
    "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice",
}  # fmt: skip


def test_each_strategy_is_found_by_the_group_of_its_kind() -> None:
    """The modules of a group are imported when they are needed, so a module that is not listed would never be."""
    package = import_module("kontend.kube.builtin.strategies")
    modules = [import_module(found.name) for found in walk_packages(package.__path__, package.__name__ + ".")]
    written = {key: strategy for module in modules for key, strategy in getattr(module, "STRATEGIES", {}).items()}

    assert every_strategy() == written


def test_a_kind_that_nobody_knows_has_the_default_strategy() -> None:
    strategy = strategy_for("example.com", "Widget")

    assert strategy.validate({}) == []
    assert strategy.allow_unconditional_update


def test_a_put_creates_objects_of_a_few_kinds_only() -> None:
    assert {kind for (_, kind), strategy in STRATEGIES.items() if strategy.allow_create_on_update} == CREATE_ON_UPDATE


def test_some_kinds_insist_on_a_resource_version() -> None:
    assert {kind for (_, kind), strategy in STRATEGIES.items() if not strategy.allow_unconditional_update} == LOCKED


def test_the_deletion_of_some_kinds_answers_with_the_object() -> None:
    assert {kind for (_, kind), strategy in STRATEGIES.items() if strategy.returns_deleted_object} == RETURNED


def test_jobs_and_replication_controllers_leave_their_pods_behind_by_default() -> None:
    assert {kind for (_, kind), strategy in STRATEGIES.items() if strategy.default_deletion == "orphan"} == {
        "Job",
        "ReplicationController",
    }
    assert strategy_for("", "Event").default_deletion == "unsupported"


@pytest.mark.parametrize(
    ("group", "kind", "main", "status"),
    [
        ("apps", "Deployment", (("status",),), (("spec",), ("metadata", "labels"))),
        ("apps", "StatefulSet", (("status",),), (("spec",),)),
        (
            "", "Pod", (("status",),),
            (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
        ),
        ("", "Namespace", (("status",),), (("spec",),)),
        ("storage.k8s.io", "VolumeAttachment", (("status",),), (("metadata",), ("spec",))),
    ],
)  # fmt: skip
def test_fields_that_a_write_cannot_change_are_owned_by_nobody(
    group: str, kind: str, main: tuple[tuple[str, ...], ...], status: tuple[tuple[str, ...], ...]
) -> None:
    assert strategy_for(group, kind).reset_fields[""] == main
    assert strategy_for(group, kind).reset_fields["status"] == status


@pytest.mark.parametrize(
    ("group", "kind", "label", "message"),
    [
        ("", "Pod", "spec.x", "field label not supported: spec.x"),
        ("batch", "Job", "spec.x", 'field label "spec.x" not supported for Job'),
        (
            "", "ConfigMap", "data.x",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("", "Namespace", "metadata.namespace", "field label not supported: metadata.namespace"),
    ],
)  # fmt: skip
def test_kinds_refuse_other_field_selectors_in_their_own_words(group: str, kind: str, label: str, message: str) -> None:
    strategy = strategy_for(group, kind)

    assert strategy.canonical_field_label(label) is None
    assert strategy.unsupported_field_label(label) == message


def test_selectable_fields_have_values() -> None:
    job = {"metadata": {"name": "j", "namespace": "n"}, "status": {"succeeded": 2}}
    event = {"metadata": {"name": "e"}, "regarding": {"kind": "Pod"}, "reportingController": "c"}

    assert strategy_for("batch", "Job").field_labels(job)["status.successful"] == "2"
    assert strategy_for("", "Secret").field_labels({"type": "Opaque"})["type"] == "Opaque"
    assert strategy_for("", "Node").field_labels({})["spec.unschedulable"] == "false"
    assert strategy_for("events.k8s.io", "Event").canonical_field_label("regarding.kind") == "involvedObject.kind"
    assert strategy_for("events.k8s.io", "Event").field_labels(event)["involvedObject.kind"] == "Pod"
    assert strategy_for("", "Service").field_labels({"spec": {"type": "NodePort"}})["spec.type"] == "NodePort"
