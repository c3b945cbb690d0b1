"""The cache: copies, selectors, indexes, and a view that never goes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.cluster.cluster import Cluster
from kontend.kube.errors import BadRequest, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.cache.in_process import ClusterFeed
from kontend.runtime.cache.views import Cache, OutdatedList, View
from runtime.samples import CONFIG_MAP, config_map


def item(name: str, version: int, **data: str) -> dict[str, Any]:
    obj = config_map(name)
    obj["data"] = dict(data)
    obj["metadata"]["resourceVersion"] = str(version)
    return obj


def filled() -> View:
    view = View(CONFIG_MAP, plural="configmaps")
    one, two = item("a", 1, size="1"), item("b", 2, size="2")
    one["metadata"]["labels"] = {"app": "web"}
    view.replace([one, two], 3)
    return view


def test_every_read_is_a_copy_of_its_own() -> None:
    view = filled()
    view.get(Key("default", "a"))["data"]["size"] = "changed"
    view.list()[0]["data"]["size"] = "changed"
    assert view.get(Key("default", "a"))["data"] == {"size": "1"}


def test_what_is_not_there_is_not_found_in_the_servers_words() -> None:
    with pytest.raises(NotFound, match='configmaps "z" not found'):
        filled().get(Key("default", "z"))


def test_lists_select_by_namespace_label_and_field_and_are_sorted() -> None:
    view = filled()
    other = item("c", 4)
    other["metadata"]["namespace"] = "another"
    view.apply("ADDED", other)

    def names(**selection: Any) -> list[str]:
        return [obj["metadata"]["name"] for obj in view.list(**selection)]

    assert names() == ["c", "a", "b"]
    assert names(namespace="default") == ["a", "b"]
    assert names(labels="app=web") == ["a"]
    assert names(labels="!app", namespace="default") == ["b"]
    assert names(fields="metadata.name=b") == ["b"]
    assert names(fields="data.size!=2") == ["c", "a"]


def test_objects_of_lists_get_the_kind_that_the_server_leaves_out() -> None:
    view = View(CONFIG_MAP)
    bare = item("a", 1)
    del bare["kind"], bare["apiVersion"]
    view.replace([bare], 1)
    assert view.get(Key("default", "a"))["kind"] == "ConfigMap"


def test_an_index_finds_objects_and_follows_changes() -> None:
    view = filled()
    view.add_index("size", lambda obj: [obj["data"].get("size", "")])

    def names(value: str) -> list[str]:
        return [obj["metadata"]["name"] for obj in view.list(index=("size", value))]

    assert names("1") == ["a"]
    view.apply("MODIFIED", item("a", 4, size="2"))
    assert (names("1"), names("2")) == ([], ["a", "b"])
    view.apply("DELETED", item("b", 5, size="2"))
    assert names("2") == ["a"]


def test_an_unknown_index_and_one_of_two_meanings_are_refused() -> None:
    view = filled()
    with pytest.raises(BadRequest, match="has no index 'size'; there are: owner"):
        view.list(index=("size", "1"))
    view.add_index("size", lambda obj: [obj["data"]["size"]])
    with pytest.raises(BadRequest, match="two different indexes"):
        view.add_index("size", lambda _: [])


def test_children_are_found_by_the_uid_of_their_owner() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    view = filled()
    child = config_map("child", owner=owner)
    child["metadata"]["resourceVersion"] = "4"
    view.apply("ADDED", child)
    assert [obj["metadata"]["name"] for obj in view.list(index=("owner", "u"))] == ["child"]


def test_a_relist_says_what_changed_meanwhile() -> None:
    view = filled()
    events = view.replace([item("a", 1), item("c", 5)], 6)
    assert [(event.type, event.key.name) for event in events] == [("ADDED", "c"), ("DELETED", "b")]
    assert view.version == 6


def test_a_list_older_than_what_was_seen_is_refused() -> None:
    view = filled()
    with pytest.raises(OutdatedList, match="version 2, but version 3 was seen"):
        view.replace([], 2)
    assert len(view) == 2


def test_a_list_older_than_what_was_written_is_refused() -> None:
    view = filled()
    view.floor = 9
    with pytest.raises(OutdatedList):
        view.replace([], 8)
    view.replace([], 9)


def test_without_the_guard_a_view_goes_back_in_time() -> None:
    view = View(CONFIG_MAP, monotonic=False)
    view.replace([item("a", 5, size="new")], 5)
    view.replace([item("a", 2, size="old")], 3)
    assert view.get(Key("default", "a"))["data"] == {"size": "old"}


def test_an_older_event_of_an_object_is_ignored() -> None:
    view = filled()
    assert view.apply("MODIFIED", item("b", 1, size="old")) is None
    assert view.get(Key("default", "b"))["data"] == {"size": "2"}
    assert view.apply("MODIFIED", item("b", 2, size="2")) is None


def test_a_bookmark_moves_the_version_on_and_changes_nothing() -> None:
    view = filled()
    assert view.apply("BOOKMARK", {"metadata": {"resourceVersion": "40"}}) is None
    assert (view.version, len(view)) == (40, 2)


def test_has_synced_when_every_kind_was_listed() -> None:
    cache = Cache()
    cache.view(CONFIG_MAP)
    assert not cache.has_synced
    cache.view(CONFIG_MAP).replace([], 0)
    assert cache.has_synced


def test_a_feed_that_fell_too_far_behind_lists_again() -> None:
    cluster = Cluster()
    cache = Cache()
    cache.view(CONFIG_MAP)
    feed = ClusterFeed(cluster, cache)
    feed.pump()
    cluster.create(config_map("a"))
    cluster.create(config_map("b"))
    cluster.state = cluster.state.replace(floor=cluster.state.resource_version, newest=None)  # history is forgotten
    feed.pump()
    assert [obj["metadata"]["name"] for obj in cache.list(CONFIG_MAP)] == ["a", "b"]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(["create", "patch", "delete", "pump"]), st.sampled_from("abc"), st.integers(0, 3)),
        max_size=25,
    )
)
def test_a_fed_cache_is_always_a_state_that_the_cluster_was_in(steps: list[tuple[str, str, int]]) -> None:
    cluster = Cluster()
    cache = Cache()
    view = cache.view(CONFIG_MAP)
    view.add_index("size", lambda obj: [obj.get("data", {}).get("size", "")])
    feed = ClusterFeed(cluster, cache)
    heard: dict[str, Any] = {}
    cache.on_event(
        CONFIG_MAP,
        lambda event: heard.pop(event.key.name) if event.new is None else heard.update({event.key.name: event.new}),
    )
    for what, name, size in steps:
        there = any(obj["metadata"]["name"] == name for obj in cluster.list(CONFIG_MAP))
        if what == "pump":
            feed.pump()
        elif what == "create" and not there:
            cluster.create(config_map(name, size=str(size)))
        elif what == "patch" and there:
            cluster.patch(CONFIG_MAP, name, {"data": {"size": str(size)}})
        elif what == "delete" and there:
            cluster.delete(CONFIG_MAP, name)
    feed.pump()
    assert cache.list(CONFIG_MAP) == cluster.list(CONFIG_MAP)
    assert [heard[name] for name in sorted(heard)] == cluster.list(CONFIG_MAP)
    for size in range(4):
        wanted = [obj for obj in cluster.list(CONFIG_MAP) if obj["data"]["size"] == str(size)]
        assert cache.list(CONFIG_MAP, index=("size", str(size))) == wanted


def test_an_event_has_the_object_before_and_after() -> None:
    view = filled()
    event = view.apply("MODIFIED", item("a", 4, size="9"))
    assert event is not None
    assert event.type == "MODIFIED"
    assert event.old is not None
    assert event.new is not None
    assert (event.old["data"], event.new["data"]) == ({"size": "1"}, {"size": "9"})


def test_a_cache_is_monotonic_by_default() -> None:
    assert Cache().view(CONFIG_MAP).monotonic
    assert not Cache(monotonic=False).view(CONFIG_MAP).monotonic


def test_a_field_that_is_an_object_or_missing_is_empty_for_a_selector() -> None:
    view = filled()
    assert len(view.list(fields="data=")) == 2
    assert len(view.list(fields="data.missing=")) == 2
    assert view.list(fields="data=x") == []
