"""Deletes: preconditions, propagation, grace periods, dry runs, and the answers."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, pod, widget
from kontend import Cluster, Conflict, Denied, Forbidden, NotFound, Review
from kontend.cluster.times import rfc3339

CONFIG_MAP, POD = "ConfigMap/v1", "Pod/v1"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(crds=[definition()])


def _metadata(cluster: Cluster, kind: str, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = cluster.get(kind, name)["metadata"]
    return metadata


def _pod_on_a_node(cluster: Cluster, **metadata: Any) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    obj = pod(nodeName="n")
    cluster.create({**obj, "metadata": {**obj["metadata"], **metadata}})


def test_preconditions_must_be_those_of_the_stored_object(cluster: Cluster) -> None:
    created = cluster.create(config_map())["metadata"]
    with pytest.raises(Conflict, match=r"the UID in the precondition \(x\) does not match the UID in record"):
        cluster.delete(CONFIG_MAP, "c", uid="x", resource_version=created["resourceVersion"])
    with pytest.raises(Conflict, match=r"the ResourceVersion in the precondition \(1\) does not match"):
        cluster.delete(CONFIG_MAP, "c", uid=created["uid"], resource_version="1")
    cluster.delete(CONFIG_MAP, "c", uid=created["uid"], resource_version=created["resourceVersion"])
    with pytest.raises(NotFound):
        cluster.get(CONFIG_MAP, "c")


def test_the_answer_is_a_status_with_the_uid_or_for_some_kinds_the_object(cluster: Cluster) -> None:
    uid = cluster.create(config_map())["metadata"]["uid"]
    answer = cluster.delete(CONFIG_MAP, "c")
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "c", "kind": "configmaps", "uid": uid}
    cluster.create(pod())
    answer = cluster.delete(POD, "p")
    assert (answer["kind"], answer["metadata"]["resourceVersion"]) == ("Pod", cluster.resource_version)


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Orphan", ["orphan"]), ("Foreground", ["foregroundDeletion"])],
)
def test_a_propagation_policy_becomes_a_finalizer(cluster: Cluster, propagation: str, finalizers: list[str]) -> None:
    cluster.create(widget(spec={"size": 1}))
    cluster.delete(WIDGET, "w", propagation=propagation)
    metadata = _metadata(cluster, WIDGET, "w")
    assert metadata["finalizers"] == finalizers
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (cluster.now, 0)
    assert metadata["generation"] == 2


@pytest.mark.parametrize("later", [True, False])
def test_a_delete_brings_a_later_deletion_timestamp_forward_and_keeps_an_earlier_one(later: bool) -> None:
    cluster = Cluster(crds=[definition()])
    moment = rfc3339(cluster.state.now + (3_600 if later else -3_600))
    held = {"finalizers": ["example.com/a"], "deletionTimestamp": moment, "deletionGracePeriodSeconds": 0}
    cluster = Cluster(crds=[definition()], objects=[widget(metadata=held)])
    assert _metadata(cluster, WIDGET, "w")["deletionTimestamp"] == moment
    cluster.delete(WIDGET, "w")
    assert _metadata(cluster, WIDGET, "w")["deletionTimestamp"] == (cluster.now if later else moment)


def test_another_policy_replaces_the_finalizer_of_the_first(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a"]}))
    cluster.delete(WIDGET, "w", propagation="Orphan")
    assert _metadata(cluster, WIDGET, "w")["finalizers"] == ["example.com/a", "orphan"]
    cluster.delete(WIDGET, "w")
    assert _metadata(cluster, WIDGET, "w")["finalizers"] == ["example.com/a", "orphan"]
    cluster.delete(WIDGET, "w", propagation="Foreground")
    assert _metadata(cluster, WIDGET, "w")["finalizers"] == ["example.com/a", "foregroundDeletion"]
    cluster.delete(WIDGET, "w", propagation="Background")
    assert _metadata(cluster, WIDGET, "w")["finalizers"] == ["example.com/a"]


def test_a_second_delete_of_a_marked_object_changes_nothing(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a"]}))
    cluster.delete(WIDGET, "w")
    before = cluster.state
    cluster.advance(10)
    cluster.delete(WIDGET, "w")
    assert cluster.state.resource_version == before.resource_version


def test_a_grace_period_can_be_shortened_and_not_extended(cluster: Cluster) -> None:
    _pod_on_a_node(cluster)
    cluster.delete(POD, "p", grace_period=30)
    marked = _metadata(cluster, POD, "p")
    assert marked["deletionGracePeriodSeconds"] == 30
    cluster.delete(POD, "p", grace_period=60)
    assert _metadata(cluster, POD, "p") == marked
    cluster.delete(POD, "p", grace_period=10)
    shorter = _metadata(cluster, POD, "p")
    assert shorter["deletionGracePeriodSeconds"] == 10
    assert shorter["deletionTimestamp"] < marked["deletionTimestamp"]
    assert shorter["generation"] == marked["generation"]
    cluster.delete(POD, "p", grace_period=0)
    with pytest.raises(NotFound):
        cluster.get(POD, "p")


def test_a_grace_period_that_would_have_ended_already_ends_now(cluster: Cluster) -> None:
    _pod_on_a_node(cluster)
    cluster.delete(POD, "p", grace_period=30)
    cluster.advance(20)
    cluster.delete(POD, "p", grace_period=10)
    shortened = _metadata(cluster, POD, "p")
    assert shortened["deletionTimestamp"] == rfc3339(cluster.state.now)
    assert shortened["deletionGracePeriodSeconds"] == 1


def test_a_grace_period_of_the_same_length_changes_nothing(cluster: Cluster) -> None:
    _pod_on_a_node(cluster)
    cluster.delete(POD, "p", grace_period=30)
    before = cluster.state
    cluster.delete(POD, "p", grace_period=30)
    assert cluster.state is before or cluster.state.resource_version == before.resource_version


def test_the_default_grace_period_is_that_of_the_pod(cluster: Cluster) -> None:
    _pod_on_a_node(cluster)
    cluster.delete(POD, "p")
    assert _metadata(cluster, POD, "p")["deletionGracePeriodSeconds"] == 30


def test_a_pod_with_a_finalizer_is_kept_after_its_grace_period(cluster: Cluster) -> None:
    _pod_on_a_node(cluster, finalizers=["example.com/a"])
    cluster.delete(POD, "p", grace_period=0)
    metadata = _metadata(cluster, POD, "p")
    assert (metadata["finalizers"], metadata["deletionGracePeriodSeconds"]) == (["example.com/a"], 0)


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a"]}))
    cluster.create(config_map())
    before = cluster.state
    cluster.delete(CONFIG_MAP, "c", dry_run=True)
    answer = cluster.delete(WIDGET, "w", dry_run=True)
    assert answer["metadata"]["deletionTimestamp"] == cluster.now
    assert cluster.state is before or cluster.state.resource_version == before.resource_version
    assert "deletionTimestamp" not in _metadata(cluster, WIDGET, "w")


def test_the_namespaces_of_the_system_cannot_be_deleted(cluster: Cluster) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        cluster.delete("Namespace/v1", "default")


def test_a_namespace_turns_terminating_and_takes_no_new_objects(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    cluster.create(config_map(metadata={"namespace": "n"}))
    cluster.delete("Namespace/v1", "n")
    assert cluster.get("Namespace/v1", "n")["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="unable to create new content in namespace n because it is being terminated"):
        cluster.create(config_map("d", metadata={"namespace": "n"}))
    cluster.patch(CONFIG_MAP, "c", {"data": {"k": "v"}}, namespace="n")


def test_a_collection_is_deleted_by_selector(cluster: Cluster) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        cluster.create(config_map(name, metadata={"labels": {"app": app}}))
    deleted = cluster.delete_all_of(CONFIG_MAP, labels="app=web")
    assert [obj["metadata"]["name"] for obj in deleted] == ["a", "c"]
    assert [obj["metadata"]["name"] for obj in cluster.list(CONFIG_MAP)] == ["b"]


def test_a_namespace_is_held_by_the_finalizer_of_its_propagation_policy(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    cluster.delete("Namespace/v1", "n", propagation="Foreground")
    assert _metadata(cluster, "Namespace/v1", "n")["finalizers"] == ["foregroundDeletion"]
    before = cluster.resource_version
    cluster.delete("Namespace/v1", "n", propagation="Background")
    assert cluster.resource_version == before


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Namespace/v1", "n"), ("CustomResourceDefinition.apiextensions.k8s.io/v1", "widgets.example.com")],
)
def test_a_validating_hook_can_refuse_every_kind_of_delete(kind: str, name: str) -> None:
    def refuse(review: Review) -> None:
        if review.operation == "DELETE":
            raise Denied("not now")

    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    cluster = Cluster(crds=[definition()], objects=[namespace], validating={"refuse": refuse})
    with pytest.raises(Forbidden, match="not now"):
        cluster.delete(kind, name)
    assert "deletionTimestamp" not in _metadata(cluster, kind, name)
