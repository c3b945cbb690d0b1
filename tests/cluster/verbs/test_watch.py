"""Watches: where they start, what they select, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import config_map, definition, widget
from kontend import Cluster
from kontend.cluster import state as state_module
from kontend.cluster.request import ApiRequest
from kontend.cluster.wire.response import ApiResponse

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[config_map("a"), config_map("b")])


def _watch(cluster: Cluster, path: str = CONFIG_MAPS, **query: Any) -> ApiResponse:
    values = {"watch": ("true",), **{name: (str(value),) for name, value in query.items()}}
    return cluster.request(ApiRequest("GET", path, values))


def _seen(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def _rest(response: ApiResponse, cluster: Cluster) -> list[dict[str, Any]]:
    assert response.watch is not None
    return response.watch.since(cluster.state)[0]


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_without_a_version_begins_with_all_objects(cluster: Cluster, version: str) -> None:
    response = _watch(cluster, resourceVersion=version)
    assert _seen(response.body) == [("ADDED", "a"), ("ADDED", "b")]
    cluster.delete("ConfigMap/v1", "a")
    assert _seen(_rest(response, cluster)) == [("DELETED", "a")]


def test_a_watch_from_a_version_begins_after_it(cluster: Cluster) -> None:
    then = cluster.resource_version
    cluster.create(config_map("c"))
    response = _watch(cluster, resourceVersion=then)
    assert _seen(response.body) == [("ADDED", "c")]
    assert _rest(response, cluster) == []
    cluster.patch("ConfigMap/v1", "b", {"data": {"k": "v"}})
    assert _seen(_rest(response, cluster)) == [("MODIFIED", "b")]


def test_a_watch_from_the_future_is_silent_until_then(cluster: Cluster) -> None:
    response = _watch(cluster, resourceVersion=int(cluster.resource_version) + 1)
    assert list(response.body) == []
    cluster.create(config_map("c"))
    assert _rest(response, cluster) == []
    cluster.create(config_map("d"))
    assert _seen(_rest(response, cluster)) == [("ADDED", "d")]


def test_initial_events_end_with_a_bookmark(cluster: Cluster) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    *added, bookmark = _watch(cluster, **query).body
    assert _seen(added) == [("ADDED", "a"), ("ADDED", "b")]
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"] == {
        "resourceVersion": cluster.resource_version,
        "annotations": {"k8s.io/initial-events-end": "true"},
        "creationTimestamp": None,
    }
    without = {**query, "sendInitialEvents": "false"}
    assert list(_watch(cluster, **without, resourceVersion=cluster.resource_version).body) == []


def test_objects_come_into_and_go_out_of_a_selection(cluster: Cluster) -> None:
    """An object that no longer matches is DELETED for the watch, as it last matched, at the version of the change."""
    response = _watch(cluster, labelSelector="app=web")
    assert list(response.body) == []
    cluster.patch("ConfigMap/v1", "a", {"metadata": {"labels": {"app": "web"}}})
    cluster.patch("ConfigMap/v1", "a", {"data": {"k": "v"}})
    cluster.patch("ConfigMap/v1", "a", {"metadata": {"labels": {"app": "db"}}})
    cluster.patch("ConfigMap/v1", "a", {"data": {"k": "w"}})
    events = _rest(response, cluster)
    assert _seen(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    last = events[-1]["object"]
    assert (last["metadata"]["labels"], last["data"]) == ({"app": "web"}, {"k": "v"})
    assert int(last["metadata"]["resourceVersion"]) == int(cluster.resource_version) - 1


def test_a_watch_of_one_name_or_namespace_sees_nothing_else(cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    one = _watch(cluster, fieldSelector="metadata.name=a")
    everything = _watch(cluster, "/api/v1/configmaps")
    deprecated = _watch(cluster, "/api/v1/watch/namespaces/default/configmaps/b")
    cluster.create(config_map("a", metadata={"namespace": "other"}))
    cluster.patch("ConfigMap/v1", "a", {"data": {"k": "v"}})
    cluster.patch("ConfigMap/v1", "b", {"data": {"k": "v"}})
    cluster.create(widget("a"))
    assert _seen(_rest(one, cluster)) == [("MODIFIED", "a")]
    assert _seen(_rest(everything, cluster)) == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "b")]
    assert _seen(_rest(deprecated, cluster)) == [("MODIFIED", "b")]


def test_a_watch_beyond_the_history_ends_with_an_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "HISTORY", 3)
    response = _watch(cluster)
    for index in range(10):
        cluster.create(config_map(f"c{index}"))
    (event,) = _rest(response, cluster)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    (first,) = _watch(cluster, resourceVersion=1).body
    assert first["type"] == "ERROR"
    assert "too old resource version: 1 (" in first["object"]["message"]
