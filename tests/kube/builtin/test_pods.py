"""Pods: admission, preparation, subresources, deletion."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.binding import bind, validate_binding
from kontend.kube.builtin.qos import quality_of_service
from kontend.kube.errors import Conflict, Forbidden

PODS = strategy_for("", "Pod")
NOW = "2026-01-01T00:00:00Z"


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "generation": 1}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_a_new_pod_is_pending_and_knows_its_quality_of_service() -> None:
    obj = {**pod(), "status": {"phase": "Running", "podIP": "1.2.3.4"}}
    PODS.prepare_for_create(obj)

    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1000m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1024Mi"}}, "Guaranteed"),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"ephemeral-storage": "1Gi"}}, "BestEffort"),
        ({"limits": {"cpu": "0"}}, "BestEffort"),
    ],
)
def test_quality_of_service_follows_from_requests_and_limits(resources: dict[str, Any], quality: str) -> None:
    assert quality_of_service({"containers": [{"resources": resources}]}) == quality


def test_resources_of_the_whole_pod_decide_if_there_are_any() -> None:
    whole = {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}

    assert quality_of_service({"containers": [{}], "resources": whole}) == "Guaranteed"


def test_a_gated_pod_says_that_it_is_not_scheduled() -> None:
    obj = pod(schedulingGates=[{"name": "a.io/g"}])
    obj["metadata"]["creationTimestamp"] = NOW
    PODS.prepare_for_create(obj)

    (condition,) = obj["status"]["conditions"]
    assert (condition["type"], condition["reason"], condition["lastTransitionTime"]) == (
        "PodScheduled",
        "SchedulingGated",
        NOW,
    )


def test_label_keys_of_affinities_become_expressions_with_the_labels_of_the_pod() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["tier"]}
    obj = pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    obj["metadata"]["labels"] = {"app": "a", "tier": "b"}
    PODS.prepare_for_create(obj)

    assert term["labelSelector"] == {
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["a"]},
            {"key": "tier", "operator": "NotIn", "values": ["b"]},
        ]
    }


def test_admission_gives_a_priority_and_tolerations() -> None:
    obj = pod()
    PODS.admit_create(obj)

    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [toleration["key"] for toleration in obj["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_a_pod_that_tolerates_everything_gets_no_tolerations() -> None:
    obj = pod(tolerations=[{"operator": "Exists"}])
    PODS.admit_create(obj)

    assert obj["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_the_priority_comes_from_the_priority_class() -> None:
    classes = [
        {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"},
        {"metadata": {"name": "low"}, "value": 1, "globalDefault": True},
    ]
    named, unnamed = pod(priorityClassName="high"), pod()
    PODS.admit_create(named, lambda *_: classes)
    PODS.admit_create(unnamed, lambda *_: classes)

    assert (named["spec"]["priority"], named["spec"]["preemptionPolicy"]) == (7, "Never")
    assert (unnamed["spec"]["priority"], unnamed["spec"]["priorityClassName"]) == (1, "low")


def test_an_unknown_priority_class_or_a_priority_of_ones_own_is_refused() -> None:
    with pytest.raises(Forbidden, match='pods "p" is forbidden: no PriorityClass with name x was found'):
        PODS.admit_create(pod(priorityClassName="x"))
    with pytest.raises(Forbidden, match=r"the integer value of priority \(5\) must not be provided in pod spec"):
        PODS.admit_create(pod(priority=5))


def test_an_update_that_leaves_the_priority_out_keeps_it() -> None:
    new, old = pod(), pod(priority=3, preemptionPolicy="Never")
    PODS.admit_update(new, old)

    assert (new["spec"]["priority"], new["spec"]["preemptionPolicy"]) == (3, "Never")


def test_the_two_names_of_the_service_account_agree() -> None:
    obj = pod(serviceAccount="robot")
    PODS.convert(obj)

    assert obj["spec"]["serviceAccountName"] == "robot"


def test_a_write_to_the_status_keeps_owners_and_forgets_a_deletion() -> None:
    old = {**pod(), "status": {"qosClass": "Burstable", "conditions": [{"type": "Ready", "observedGeneration": 4}]}}
    old["metadata"]["ownerReferences"] = [{"uid": "u"}]
    new: dict[str, Any] = {**pod(), "status": {"conditions": [{"type": "Ready"}]}}
    new["metadata"]["deletionTimestamp"] = NOW
    PODS.prepare("status", new, old)

    assert new["metadata"] == old["metadata"]
    assert new["status"] == {"qosClass": "Burstable", "conditions": [{"type": "Ready", "observedGeneration": 4}]}


def test_resize_changes_only_resources() -> None:
    old = pod(nodeName="n")
    new = pod(nodeName="other")
    new["spec"]["containers"][0] |= {"image": "other", "resources": {"requests": {"cpu": "1"}}}
    PODS.prepare("resize", new, old)

    assert new["spec"]["nodeName"] == "n"
    assert new["spec"]["containers"] == [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    assert new["metadata"]["generation"] == 2


def test_ephemeral_containers_are_added_through_their_subresource() -> None:
    old, new = pod(), pod(nodeName="x", ephemeralContainers=[{"name": "debug"}])
    PODS.prepare("ephemeralcontainers", new, old)

    assert new["spec"] == {**old["spec"], "ephemeralContainers": [{"name": "debug"}]}


@pytest.mark.parametrize(
    ("spec", "status", "requested", "period"),
    [
        ({"terminationGracePeriodSeconds": 30}, {}, None, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {}, None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {}, 5, 5),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Failed"}, None, 0),
        ({"nodeName": "n"}, {}, -1, 1),
    ],
)
def test_a_pod_is_deleted_gracefully_only_where_it_runs(
    spec: dict[str, Any], status: dict[str, Any], requested: int | None, period: int
) -> None:
    assert PODS.grace_period({"spec": spec, "status": status}, requested) == period


def test_binding_assigns_the_node_and_notes_the_condition() -> None:
    obj = {**pod(), "status": {"phase": "Pending", "nominatedNodeName": "x"}}
    bind(obj, {"metadata": {"annotations": {"a": "b"}}, "target": {"name": "n1"}}, NOW)

    assert obj["spec"]["nodeName"] == "n1"
    assert obj["metadata"]["annotations"] == {"a": "b"}
    assert obj["status"] == {
        "phase": "Pending",
        "conditions": [{"lastProbeTime": None, "type": "PodScheduled", "status": "True", "lastTransitionTime": NOW}],
    }


def test_a_pod_is_bound_only_once() -> None:
    with pytest.raises(Conflict, match='on pods/binding "p": pod p is already assigned to node "n"'):
        bind(pod(nodeName="n"), {"target": {"name": "m"}}, NOW)


def test_a_binding_needs_a_node() -> None:
    assert [str(error) for error in validate_binding({"target": {"kind": "Pod"}})] == [
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        "target.name: Required value",
    ]
