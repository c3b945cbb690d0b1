"""Custom resources in several versions: the form that is stored, defaults on read, ownership, warnings."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from definitions import with_spec
from kontend import Cluster
from kontend.cluster.request import ApiRequest

PATH = "/apis/example.com/{version}/namespaces/default/things"


def version(name: str, *, storage: bool = False, status: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    deprecated = fields.pop("deprecated", None)
    spec = {"type": "object", "properties": {"a": {"type": "string"}, **fields}}
    properties = {"spec": spec, "status": status or {"type": "object", "properties": {"phase": {"type": "string"}}}}
    made: dict[str, Any] = {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    return made if deprecated is None else {**made, "deprecated": True, "deprecationWarning": deprecated or None}


@pytest.fixture
def cluster() -> Cluster:
    phase = {"type": "object", "default": {"phase": "New"}, "properties": {"phase": {"type": "string"}}}
    one = version("v1", storage=True, status=phase, only1={"type": "string", "default": "one"})
    two = version("v2", only2={"type": "string", "default": "two"}, deprecated="")
    three = version("v3", deprecated="use v1")
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one, two, three]}
    metadata = {"name": "things.example.com"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return Cluster(crds=[{**kind, "metadata": metadata, "spec": spec}])


def send(cluster: Cluster, method: str, name: str, number: str, body: Any = None, **more: Any) -> tuple[Any, list[str]]:
    query = {key: (value,) for key, value in more.pop("query", {}).items()}
    path = PATH.format(version=number) + (f"/{name}" if name else "")
    data = b"" if body is None else orjson.dumps(body)
    response = cluster.request(ApiRequest(method, path, query, data, **more))
    assert response.code < 300, response.body
    return response.body, response.warnings


def thing(number: str, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": "x", **metadata}
    return {"apiVersion": f"example.com/{number}", "kind": "Thing", "metadata": metadata, "spec": {"a": "1"}}


def test_a_field_that_the_storage_version_lacks_is_dropped(cluster: Cluster) -> None:
    made, _ = send(cluster, "POST", "", "v2", thing("v2"))

    assert made["spec"] == {"a": "1"}
    assert send(cluster, "GET", "x", "v1")[0]["spec"] == {"a": "1", "only1": "one"}


@pytest.mark.parametrize("query", [{}, {"dryRun": "All"}])
def test_a_default_of_the_status_shows_from_creation_on(cluster: Cluster, query: dict[str, str]) -> None:
    made, _ = send(cluster, "POST", "", "v1", thing("v1"), query=query)

    assert made["status"] == {"phase": "New"}
    (entry,) = made["metadata"]["managedFields"]
    assert "f:status" not in entry["fieldsV1"]


@pytest.mark.parametrize("manager", ["m", "another"])
@pytest.mark.parametrize("spec", [{}, {"a": "1"}])
def test_an_apply_that_changes_nothing_fills_in_no_default(
    cluster: Cluster, manager: str, spec: dict[str, str]
) -> None:
    """The default of a version that is not stored is never there, so it would look like a change each time."""
    body = {**thing("v2"), "spec": spec}

    def apply(manager: str) -> dict[str, Any]:
        query = {"fieldManager": manager}
        applied, _ = send(cluster, "PATCH", "x", "v2", body, content_type="application/apply-patch+yaml", query=query)
        return dict(applied["metadata"])

    applied = [apply("m"), apply(manager), apply(manager)]

    assert [metadata["generation"] for metadata in applied] == [1, 1, 1]
    assert applied[1]["resourceVersion"] == applied[2]["resourceVersion"]


def test_a_late_default_of_the_stored_version_shows_through_other_versions(cluster: Cluster) -> None:
    send(cluster, "POST", "", "v1", thing("v1"))
    kind = "CustomResourceDefinition.apiextensions.k8s.io/v1"
    definition = cluster.get(kind, "things.example.com")
    for number in (0, 2):
        fields = definition["spec"]["versions"][number]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        fields["late"] = {"type": "string"} if number else {"type": "string", "default": "stored"}
    cluster.update(definition)

    assert send(cluster, "GET", "x", "v1")[0]["spec"] == {"a": "1", "only1": "one", "late": "stored"}
    assert send(cluster, "GET", "x", "v3")[0]["spec"] == {"a": "1", "late": "stored"}
    assert send(cluster, "GET", "x", "v2")[0]["spec"] == {"a": "1"}


def test_ownership_is_given_up_where_a_manager_cannot_see_the_object(cluster: Cluster) -> None:
    made, _ = send(cluster, "POST", "", "v1", thing("v1"))
    locked = thing("v2", resourceVersion=made["metadata"]["resourceVersion"])
    changed, _ = send(cluster, "PUT", "x", "v2", locked)

    assert "managedFields" not in changed["metadata"]
    assert changed["metadata"]["generation"] == 2


def test_ownership_stays_where_the_versions_have_the_same_fields(cluster: Cluster) -> None:
    send(cluster, "POST", "", "v1", thing("v1"))
    patch = {"content_type": "application/merge-patch+json", "user_agent": "other/1"}
    changed, _ = send(cluster, "PATCH", "x", "v3", {"spec": {"a": "2"}}, **patch)

    managers = {entry["manager"]: entry["apiVersion"] for entry in changed["metadata"]["managedFields"]}
    assert managers["other"] == "example.com/v3"
    assert "example.com/v1" in managers.values()


def test_every_request_to_a_deprecated_version_warns(cluster: Cluster) -> None:
    assert send(cluster, "POST", "", "v1", thing("v1"))[1] == []
    assert send(cluster, "GET", "x", "v2")[1] == ["example.com/v2 Thing is deprecated"]
    assert send(cluster, "GET", "", "v3")[1] == ["use v1"]


def test_one_and_true_are_two_values(cluster: Cluster) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "bags", "singular": "bag", "kind": "Bag", "listKind": "BagList"}
    bag = version("v1", storage=True, free=free)
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [bag]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.create({**kind, "metadata": {"name": "bags.example.com"}, "spec": spec})
    first = {"apiVersion": "example.com/v1", "kind": "Bag", "metadata": {"name": "b"}, "spec": {"free": {"n": 1}}}
    made = cluster.create(first)
    assert made["metadata"]["generation"] == 1
    for number, value in enumerate([True, 1, 1, 0, False], start=2):
        made["spec"]["free"]["n"] = value
        made = cluster.update(made)
        assert made["metadata"]["generation"] == (number if number < 4 else number - 1), value


def test_a_definition_whose_schema_names_a_deletion_timestamp_is_served_and_deleted() -> None:
    """As every definition with an embedded pod template does."""
    template = {"type": "object", "properties": {"deletionTimestamp": {"type": "string"}}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    versions = [version("v1", storage=True, template=template)]
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions},
    }
    cluster = Cluster(crds=[definition])
    send(cluster, "POST", "", "v1", thing("v1"))

    cluster.delete("CustomResourceDefinition.apiextensions.k8s.io/v1", "things.example.com")

    path = PATH.format(version="v1")
    assert cluster.request(ApiRequest("GET", f"{path}/x")).code == 404
    names_left = [obj["metadata"]["name"] for obj in cluster.list("CustomResourceDefinition.apiextensions.k8s.io/v1")]
    assert names_left == []


def test_a_default_that_a_definition_gets_later_shows_when_an_object_is_read() -> None:
    """At the version that it has; the next write stores it."""
    size: dict[str, Any] = {"type": "integer"}
    cluster = Cluster(crds=[with_spec({"type": "object", "properties": {"size": size}})])
    made = cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}})
    changed = with_spec({"type": "object", "properties": {"size": {**size, "default": 3}}})
    cluster.patch("CustomResourceDefinition.apiextensions.k8s.io/v1", "widgets.example.com", {"spec": changed["spec"]})
    read = cluster.get("Widget.example.com/v1", "w")
    assert read["spec"] == {"size": 3}
    assert read["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert cluster.list("Widget.example.com/v1")[0]["spec"] == {"size": 3}
