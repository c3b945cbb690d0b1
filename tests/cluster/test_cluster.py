"""The cluster as its users meet it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from cluster.objects import WIDGET, config_map, definition, deployment, pod, widget
from kontend import (
    AlreadyExists,
    BadRequest,
    Cluster,
    Conflict,
    Denied,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Review,
    UnknownKind,
)


@pytest.fixture
def cluster() -> Cluster:
    """A cluster that knows widgets."""
    return Cluster(crds=[definition()])


def test_a_created_object_has_what_only_the_server_sets(cluster: Cluster) -> None:
    created = cluster.create(widget(spec={"size": 1}))
    assert created["metadata"]["namespace"] == "default"
    assert created["metadata"]["generation"] == 1
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"] == cluster.now
    assert created["metadata"]["resourceVersion"] == cluster.resource_version


def test_a_stale_update_is_refused_with_the_servers_own_words(cluster: Cluster) -> None:
    stale = cluster.create(widget(spec={"size": 1}))
    cluster.patch(WIDGET, "w", {"spec": {"size": 2}})
    with pytest.raises(Conflict, match="the object has been modified; please apply your changes to the latest version"):
        cluster.update(stale)
    assert cluster.get(WIDGET, "w")["spec"] == {"size": 2}


def test_a_kept_state_is_not_changed_by_later_writes_and_can_be_gone_back_to(cluster: Cluster) -> None:
    cluster.create(widget(spec={"size": 1}))
    before = cluster.state
    cluster.delete(WIDGET, "w")
    with pytest.raises(NotFound):
        cluster.get(WIDGET, "w")
    cluster.state = before
    assert cluster.get(WIDGET, "w")["spec"] == {"size": 1}


def test_a_fork_never_sees_its_siblings_writes(cluster: Cluster) -> None:
    cluster.create(widget(spec={"size": 1}))
    sibling = cluster.fork()
    sibling.patch(WIDGET, "w", {"spec": {"size": 2}})
    cluster.patch(WIDGET, "w", {"spec": {"size": 3}})
    assert sibling.get(WIDGET, "w")["spec"] == {"size": 2}
    assert cluster.get(WIDGET, "w")["spec"] == {"size": 3}


def test_the_same_calls_give_the_same_bytes() -> None:
    def run() -> list[bytes]:
        cluster = Cluster(crds=[definition()])
        cluster.create(widget(spec={"size": 1}))
        cluster.create({**widget(), "metadata": {"generateName": "g-"}})
        cluster.apply(deployment(), manager="m")
        return [
            version.body
            for objects in sorted(cluster.state.kinds)
            for _, version in sorted(cluster.state.objects(objects).items())
        ]

    assert run() == run()


def test_what_a_caller_does_to_an_answer_does_not_reach_the_store(cluster: Cluster) -> None:
    cluster.create(widget(spec={"list": [1]}))
    cluster.get(WIDGET, "w")["spec"]["list"].append(2)
    assert cluster.get(WIDGET, "w")["spec"]["list"] == [1]


def test_a_write_that_changes_nothing_makes_no_version(cluster: Cluster) -> None:
    created = cluster.create(widget(spec={"size": 1}))
    assert cluster.update(created)["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert cluster.watch(WIDGET, since=created["metadata"]["resourceVersion"]) == []


def test_status_and_spec_are_written_apart(cluster: Cluster) -> None:
    obj = cluster.create(widget(spec={"size": 1}, status={"phase": "ignored"}))
    assert "status" not in obj
    obj["status"] = {"phase": "Ready"}
    obj["spec"] = {"size": 9}
    stored = cluster.update_status(obj)
    assert (stored["spec"], stored["status"]) == ({"size": 1}, {"phase": "Ready"})
    assert stored["metadata"]["generation"] == 1


def test_seeded_objects_keep_their_status_uid_and_deletion() -> None:
    uid = "11111111-1111-1111-1111-111111111111"
    metadata = {"uid": uid, "generation": 7, "finalizers": ["a.io/x"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    seeded = Cluster(crds=[definition()], objects=[widget(metadata=metadata, status={"phase": "Ready"})])
    restored = seeded.get(WIDGET, "w")
    assert restored["status"] == {"phase": "Ready"}
    assert {key: restored["metadata"][key] for key in metadata} == metadata


def test_seeding_makes_the_namespaces_it_needs() -> None:
    cluster = Cluster(objects=[config_map(metadata={"namespace": "prod"})])
    assert cluster.get("Namespace/v1", "prod")["status"] == {"phase": "Active"}


def test_lists_are_sorted_and_selected(cluster: Cluster) -> None:
    for name, color in (("b", "red"), ("a", "blue"), ("c", "red")):
        cluster.create(config_map(name, metadata={"labels": {"color": color}}))
    assert [config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1")] == ["a", "b", "c"]
    assert [config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1", labels={"color": "red"})] == [
        "b",
        "c",
    ]
    assert [
        config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1", labels="color notin (red)")
    ] == ["a"]
    assert [
        config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1", fields="metadata.name=c")
    ] == ["c"]
    assert cluster.list("ConfigMap/v1", namespace="kube-system") == []
    assert all(config_map["kind"] == "ConfigMap" for config_map in cluster.list("ConfigMap/v1"))


def test_a_list_of_the_past_shows_the_past(cluster: Cluster) -> None:
    version = cluster.create(config_map("a"))["metadata"]["resourceVersion"]
    cluster.create(config_map("b"))
    cluster.delete("ConfigMap/v1", "a")
    assert [
        config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1", resource_version=version)
    ] == ["a"]


def test_a_watch_tells_what_happened_since(cluster: Cluster) -> None:
    since = cluster.resource_version
    cluster.create(config_map("a", data={"k": "1"}))
    cluster.patch("ConfigMap/v1", "a", {"data": {"k": "2"}})
    cluster.delete("ConfigMap/v1", "a")
    events = cluster.watch("ConfigMap/v1", since=since)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[2]["object"]["data"] == {"k": "2"}


def test_a_watch_from_before_the_history_is_gone(cluster: Cluster) -> None:
    cluster.create(config_map("a"))
    (event,) = cluster.watch("ConfigMap/v1", since="1")
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert isinstance(Gone("x"), Exception)


def test_deletes_can_be_made_conditional(cluster: Cluster) -> None:
    first = cluster.create(widget())
    cluster.delete(WIDGET, "w")
    second = cluster.create(widget())
    with pytest.raises(Conflict, match="does not match the UID in record"):
        cluster.delete(WIDGET, "w", uid=first["metadata"]["uid"])
    with pytest.raises(Conflict, match="does not match the ResourceVersion in record"):
        cluster.delete(WIDGET, "w", resource_version=first["metadata"]["resourceVersion"])
    cluster.delete(WIDGET, "w", uid=second["metadata"]["uid"], resource_version=second["metadata"]["resourceVersion"])
    assert cluster.list(WIDGET) == []


def test_a_finalizer_holds_an_object_until_it_is_removed(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["a.io/x"]}))
    assert cluster.delete(WIDGET, "w")["metadata"]["deletionTimestamp"] == cluster.now
    cluster.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        cluster.get(WIDGET, "w")


def test_a_scheduled_pod_dies_gracefully_and_an_unscheduled_one_at_once(cluster: Cluster) -> None:
    cluster.create(pod("scheduled", nodeName="n1"))
    cluster.create(pod("pending"))
    cluster.delete("Pod/v1", "pending")
    dying = cluster.delete("Pod/v1", "scheduled")
    assert dying["metadata"]["deletionGracePeriodSeconds"] == 30
    cluster.delete("Pod/v1", "scheduled", grace_period=0)
    assert cluster.list("Pod/v1") == []


def test_delete_all_of_deletes_what_the_selector_matches(cluster: Cluster) -> None:
    cluster.create(config_map("a", metadata={"labels": {"t": "1"}}))
    cluster.create(config_map("b"))
    assert [obj["metadata"]["name"] for obj in cluster.delete_all_of("ConfigMap/v1", labels={"t": "1"})] == ["a"]
    assert [config_map["metadata"]["name"] for config_map in cluster.list("ConfigMap/v1")] == ["b"]


def test_a_deleted_namespace_turns_terminating_and_takes_nothing_new(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    cluster.delete("Namespace/v1", "n")
    assert cluster.get("Namespace/v1", "n")["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="because it is being terminated"):
        cluster.create(config_map(metadata={"namespace": "n"}))
    namespace = cluster.get("Namespace/v1", "n")
    namespace["spec"] = {}
    cluster.update(namespace, subresource="finalize")
    with pytest.raises(NotFound):
        cluster.get("Namespace/v1", "n")


def test_the_namespaces_that_a_cluster_needs_cannot_be_deleted(cluster: Cluster) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        cluster.delete("Namespace/v1", "default")


def test_a_dry_run_shows_what_would_be_and_changes_nothing(cluster: Cluster) -> None:
    shown = cluster.create(widget(), dry_run=True)
    assert shown["metadata"]["uid"]
    assert "resourceVersion" not in shown["metadata"]
    assert cluster.list(WIDGET) == []


def test_applying_twice_owns_and_gives_up_fields(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"a": "1", "b": "1"}), manager="one")
    cluster.apply(config_map(data={"a": "1"}), manager="one")
    assert cluster.get("ConfigMap/v1", "c")["data"] == {"a": "1"}
    with pytest.raises(Conflict, match=r'conflict with "one": \.data\.a'):
        cluster.apply(config_map(data={"a": "2"}), manager="two")
    assert cluster.apply(config_map(data={"a": "2"}), manager="two", force=True)["data"] == {"a": "2"}


def test_time_stands_still_until_it_is_advanced(cluster: Cluster) -> None:
    first = cluster.create(config_map("a"))
    cluster.advance(60)
    second = cluster.create(config_map("b"))
    times = [event["metadata"]["creationTimestamp"] for event in (first, second)]
    assert times == ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"]


def test_unknown_fields_are_a_warning_or_with_strict_validation_an_error() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    cluster = Cluster(crds=[definition(schema={"openAPIV3Schema": schema})])
    cluster.create(widget(spec={"sise": 1}))
    assert cluster.warnings == ['unknown field "spec.sise"']
    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec\.sise"'):
        cluster.create(widget("v", spec={"sise": 1}), field_validation="Strict")


def test_hooks_can_change_what_is_written_and_refuse_it() -> None:
    def label(review: Review) -> None:
        if review.object is not None:
            review.object["metadata"].setdefault("labels", {})["seen"] = review.operation

    def protect(review: Review) -> None:
        if review.operation == "DELETE":
            raise Denied("not today")

    cluster = Cluster(mutating={"label.example.com": label}, validating={"protect.example.com": protect})
    assert cluster.create(config_map())["metadata"]["labels"] == {"seen": "CREATE"}
    with pytest.raises(Forbidden, match=r'admission webhook "protect\.example\.com" denied the request: not today'):
        cluster.delete("ConfigMap/v1", "c")
    assert cluster.get("ConfigMap/v1", "c")


def test_a_definition_is_served_as_soon_as_it_is_created_and_until_it_is_deleted() -> None:
    cluster = Cluster()
    with pytest.raises(UnknownKind, match=r"add its CustomResourceDefinition: crds="):
        cluster.create(widget())
    cluster.create(definition())
    cluster.create(widget())
    cluster.delete("CustomResourceDefinition.apiextensions.k8s.io/v1", "widgets.example.com")
    with pytest.raises(UnknownKind):
        cluster.get(WIDGET, "w")
    cluster.create(definition())
    assert cluster.list(WIDGET) == []


def test_a_definition_waits_for_objects_that_finalizers_hold() -> None:
    crd = "CustomResourceDefinition.apiextensions.k8s.io/v1"
    cluster = Cluster(crds=[definition()], objects=[widget(metadata={"finalizers": ["a.io/x"]})])
    cluster.delete(crd, "widgets.example.com")
    assert cluster.get(WIDGET, "w")["metadata"]["deletionTimestamp"]
    cluster.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    assert cluster.list(crd) == []


def test_versions_of_a_definition_share_their_objects() -> None:
    crd = definition()
    versions = crd["spec"]["versions"]
    versions.append({**versions[0], "name": "v2", "storage": False})
    cluster = Cluster(crds=[crd], objects=[widget(spec={"size": 1})])
    served = cluster.get("Widget.example.com/v2", "w")
    assert (served["apiVersion"], served["spec"]) == ("example.com/v2", {"size": 1})
    served["spec"]["size"] = 2
    cluster.update(served)
    assert cluster.get(WIDGET, "w")["spec"] == {"size": 2}


def test_generated_names_are_unique_and_always_the_same(cluster: Cluster) -> None:
    def make(where: Cluster) -> list[str]:
        obj = {**config_map(), "metadata": {"generateName": "g-"}}
        return [where.create(obj)["metadata"]["name"] for _ in range(20)]

    sibling = cluster.fork()
    names = make(cluster)
    assert len(set(names)) == 20
    assert names == make(sibling)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda cluster: cluster.get("Widget", "w"), r"did you mean Widget\.example\.com/v1"),
        (lambda cluster: cluster.get(5, "w"), "kind: expected text"),
        (lambda cluster: cluster.get(WIDGET, None), "None does not name an object: expected the request"),
        (lambda cluster: cluster.create("x"), "obj: expected an object"),
        (
            lambda cluster: cluster.create({"metadata": {}}),
            "expected apiVersion and kind, found an object without them",
        ),
        (lambda cluster: cluster.create(widget(spec={"x": float("nan")})), "spec.x: NaN"),
        (lambda cluster: cluster.create(widget(spec={1: 2})), "spec"),
        (lambda cluster: cluster.create(widget(spec=object())), "spec"),
        (lambda cluster: cluster.patch(WIDGET, "w", {}, type="sideways"), "expected 'merge', 'json' or 'strategic'"),
        (lambda cluster: cluster.list(WIDGET, labels=5), "labels: expected a selector"),
        (lambda cluster: cluster.advance(-1), "not negative"),
        (lambda _: Cluster(objects={}), "objects: expected a list of objects"),
        (lambda _: Cluster(objects=[cast("Any", 5)]), r"objects\[0\]: expected an object"),
    ],
)
def test_wrong_use_is_reported_with_the_name_of_the_argument(cluster: Cluster, call: Any, message: str) -> None:
    before = cluster.state
    with pytest.raises(BadRequest, match=message):
        call(cluster)
    assert cluster.state is before


def test_an_object_that_contains_itself_is_refused(cluster: Cluster) -> None:
    spec: dict[str, Any] = {}
    spec["self"] = spec
    with pytest.raises(BadRequest, match="spec"):
        cluster.create(widget(spec=spec))


def test_a_huge_object_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Exception, match=r"too large|Too long"):
        cluster.create(config_map(data={"a": "x" * 4_000_000}))


def test_creating_twice_is_refused(cluster: Cluster) -> None:
    cluster.create(widget())
    with pytest.raises(AlreadyExists, match=r'widgets\.example\.com "w" already exists'):
        cluster.create(widget())


def test_invalid_objects_are_refused_with_a_cause_for_each_mistake(cluster: Cluster) -> None:
    with pytest.raises(Invalid) as refusal:
        cluster.create(config_map("Not A Name", metadata={"labels": {"a": "b c"}}))
    assert {cause["field"] for cause in refusal.value.causes} == {"metadata.name", "metadata.labels"}
