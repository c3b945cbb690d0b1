"""Workloads and their scale."""

from __future__ import annotations

from typing import Any

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.scale import scale_of, set_scale, validate_scale

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def test_annotations_of_a_deployment_count_as_spec() -> None:
    old: dict[str, Any] = {"metadata": {"generation": 1}, "spec": {"replicas": 1}}
    new: dict[str, Any] = {"metadata": {"generation": 1, "annotations": {"a": "b"}}, "spec": {"replicas": 1}}
    strategy_for("apps", "Deployment").prepare("", new, old)

    assert new["metadata"]["generation"] == 2


def test_a_write_to_the_status_of_a_deployment_keeps_its_labels() -> None:
    old: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    new: dict[str, Any] = {"metadata": {"annotations": {"c": "d"}}, "spec": {}, "status": {}}
    strategy_for("apps", "Deployment").prepare("status", new, old)

    assert new["metadata"] == {"labels": {"a": "b"}, "annotations": {"c": "d"}}


def test_a_daemon_set_counts_its_templates_in_an_annotation() -> None:
    strategy = strategy_for("apps", "DaemonSet")
    old: dict[str, Any] = {"metadata": {}, "spec": {"template": {"spec": {}}}}
    strategy.convert(old)
    strategy.prepare_for_create(old)
    new: dict[str, Any] = {"metadata": {"generation": 1}, "spec": {"template": {"spec": {"hostNetwork": True}}}}
    strategy.convert(new)
    strategy.prepare("", new, old)

    assert old["metadata"]["annotations"] == {TEMPLATE_GENERATION: "1"}
    assert new["metadata"] == {"generation": 2, "annotations": {TEMPLATE_GENERATION: "2"}}


def test_a_rolling_update_of_a_daemon_set_is_complete_whatever_its_type() -> None:
    daemons: dict[str, Any] = {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": "10%"}}}
    strategy_for("apps", "DaemonSet").convert({"metadata": {}, "spec": {**daemons, "template": {"spec": {}}}})

    assert daemons["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": "10%", "maxSurge": 0}


def test_claims_in_a_stateful_set_say_what_they_are() -> None:
    obj: dict[str, Any] = {"metadata": {}, "spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}}]}}
    strategy_for("apps", "StatefulSet").convert(obj)

    (claim,) = obj["spec"]["volumeClaimTemplates"]
    assert (claim["apiVersion"], claim["kind"]) == ("v1", "PersistentVolumeClaim")


def test_updating_several_pods_of_a_stateful_set_at_once_is_switched_off() -> None:
    rolling = {"partition": 0, "maxUnavailable": 2}
    obj: dict[str, Any] = {"metadata": {}, "spec": {"updateStrategy": {"rollingUpdate": rolling}}}
    strategy_for("apps", "StatefulSet").prepare_for_create(obj)

    assert rolling == {"partition": 0}


def test_the_scale_of_a_deployment_shows_replicas_and_selector() -> None:
    obj = {
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "5", "labels": {"a": "b"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "d"}}},
        "status": {"replicas": 2},
    }

    assert scale_of(obj) == {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "5"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=d"},
    }


def test_the_scale_of_a_replication_controller_has_a_plain_selector() -> None:
    assert scale_of({"spec": {"replicas": 0, "selector": {"b": "2", "a": "1"}}})["status"]["selector"] == "a=1,b=2"


def test_setting_the_scale_changes_replicas_and_takes_its_version() -> None:
    obj: dict[str, Any] = {"metadata": {"resourceVersion": "5"}, "spec": {"replicas": 1}}
    set_scale(obj, {"metadata": {}, "spec": {"replicas": 4}})

    assert obj == {"metadata": {}, "spec": {"replicas": 4}}


def test_a_negative_scale_is_wrong() -> None:
    assert [str(error) for error in validate_scale({"spec": {"replicas": -1}})] == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]
