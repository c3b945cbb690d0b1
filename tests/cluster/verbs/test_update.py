"""Updates: resource versions, and the removal of objects that lose their last finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, pod, widget
from kontend import ApiError, Cluster, Conflict, Invalid, NotFound

CONFIG_MAP, POD, LEASE = "ConfigMap/v1", "Pod/v1", "Lease.coordination.k8s.io/v1"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(crds=[definition()])


def _versioned(obj: dict[str, Any], version: str | None) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {**obj, "metadata": metadata if version is None else {**metadata, "resourceVersion": version}}


@pytest.mark.parametrize("version", [None, "", "0"])
def test_without_a_version_or_with_version_zero_an_update_is_unconditional(
    cluster: Cluster, version: str | None
) -> None:
    stale = cluster.create(config_map(data={"a": "1"}))
    cluster.patch(CONFIG_MAP, "c", {"data": {"a": "2"}})
    stored = cluster.update({**_versioned(stale, version), "data": {"a": "3"}})
    assert stored["data"] == {"a": "3"}
    assert stored["metadata"]["resourceVersion"] == cluster.resource_version


@pytest.mark.parametrize("version", [None, "", "0"])
@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        (WIDGET, widget(spec={"size": 1})),
        (LEASE, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "w"}, "spec": {}}),
    ],
)
def test_kinds_without_unconditional_updates_need_a_version(
    cluster: Cluster, kind: str, obj: dict[str, Any], version: str | None
) -> None:
    created = cluster.create(obj)
    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: 0(x0)?: must be specified"):
        cluster.update({**_versioned(created, version), "spec": {}})
    assert cluster.get(kind, "w") == created


def test_the_version_of_an_older_object_is_a_conflict_and_of_a_newer_one_too(cluster: Cluster) -> None:
    created = cluster.create(widget(spec={"size": 1}))
    current = int(created["metadata"]["resourceVersion"])
    for version in (current - 1, current + 1):
        with pytest.raises(Conflict):
            cluster.update(_versioned(created, str(version)))
    assert cluster.update(_versioned(created, f"0{current}"))["metadata"]["resourceVersion"] == str(current)


@pytest.mark.parametrize(
    ("version", "problem"), [("x", "invalid syntax"), ("٣", "invalid syntax"), (str(2**64), "value out of range")]
)
def test_a_version_that_is_no_number_is_an_internal_error(cluster: Cluster, version: str, problem: str) -> None:
    created = cluster.create(widget())
    with pytest.raises(ApiError, match=problem) as refused:
        cluster.update(_versioned(created, version))
    assert refused.value.http_code == 500


def test_the_last_finalizer_removes_an_object_that_is_being_deleted(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    cluster.delete(WIDGET, "w")
    cluster.patch(WIDGET, "w", {"metadata": {"finalizers": ["example.com/b"]}})
    before = cluster.get(WIDGET, "w")
    answer = cluster.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    assert answer["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    with pytest.raises(NotFound):
        cluster.get(WIDGET, "w")
    assert cluster.watch(WIDGET, since=before["metadata"]["resourceVersion"])[-1]["type"] == "DELETED"


def test_an_object_that_is_not_being_deleted_stays_without_finalizers(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a"]}))
    cluster.patch(WIDGET, "w", {"metadata": {"finalizers": None}})
    assert "finalizers" not in cluster.get(WIDGET, "w")["metadata"]


def test_a_pod_in_its_grace_period_stays_when_it_loses_its_last_finalizer(cluster: Cluster) -> None:
    """The kubelet ends the grace period; only then the pod is removed."""
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    obj = pod(nodeName="n")
    cluster.create({**obj, "metadata": {**obj["metadata"], "finalizers": ["example.com/a"]}})
    cluster.delete(POD, "p", grace_period=30)
    stored = cluster.patch(POD, "p", {"metadata": {"finalizers": None}})
    assert stored["metadata"]["deletionGracePeriodSeconds"] == 30
    assert "finalizers" not in cluster.get(POD, "p")["metadata"]
    cluster.delete(POD, "p", grace_period=0)
    with pytest.raises(NotFound):
        cluster.get(POD, "p")


def test_an_update_cannot_undo_a_deletion_or_forge_one(cluster: Cluster) -> None:
    cluster.create(widget(metadata={"finalizers": ["example.com/a"]}))
    cluster.delete(WIDGET, "w")
    marked = cluster.get(WIDGET, "w")["metadata"]
    patch = {"deletionTimestamp": None, "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 99}
    stored = cluster.patch(WIDGET, "w", {"metadata": patch})["metadata"]
    for name in ("deletionTimestamp", "creationTimestamp", "generation", "uid"):
        assert stored[name] == marked[name]


def test_a_namespace_stays_until_its_own_list_of_finalizers_is_empty(cluster: Cluster) -> None:
    """``spec.finalizers`` holds a namespace, whatever ``metadata.finalizers`` says."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "finalizers": ["example.com/a"]}}
    cluster.create(namespace)
    cluster.delete("Namespace/v1", "n")
    cluster.patch("Namespace/v1", "n", {"metadata": {"finalizers": None}})
    stored = cluster.get("Namespace/v1", "n")
    assert stored["spec"] == {"finalizers": ["kubernetes"]}
    cluster.update({**stored, "spec": {"finalizers": []}}, subresource="finalize")
    with pytest.raises(NotFound):
        cluster.get("Namespace/v1", "n")
