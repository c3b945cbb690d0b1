"""Lists found through sorted lists and indexes are those found by reading everything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend import Cluster, State
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.verbs import selection
from kontend.kube.meta.names import Key

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["write", "delete"]), st.integers(0, 12), st.sampled_from("xyz")), max_size=30
)
QUERIES = (
    {"labelSelector": "app=x"},
    {"labelSelector": "app in (x,y),n!=3"},
    {"labelSelector": "app!=x"},
    {"labelSelector": "!app"},
    {"fieldSelector": "metadata.name=c3"},
    {"fieldSelector": "metadata.namespace=kube-system"},
    {"fieldSelector": "metadata.namespace=kube-system", "labelSelector": "app!=x"},
    {"fieldSelector": "type=Opaque", "labelSelector": "app=y"},
    {"fieldSelector": "type!=Opaque"},
    {"fieldSelector": "metadata.namespace!=default", "labelSelector": "app!=x", "limit": "2"},
    {"labelSelector": "app=x", "limit": "2"},
)
PATHS = ("/api/v1/secrets", "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/kube-system/secrets")


def names(state: State, path: str, **query: str) -> list[str]:
    """The namespaces and names of a list, and its metadata."""
    body = handle(state, ApiRequest("GET", path, {name: (value,) for name, value in query.items()}))[1].body
    metadata = [item["metadata"] for item in body["items"]]
    return [f"{one['namespace']}/{one['name']}" for one in metadata] + [str(body["metadata"])]


def act(cluster: Cluster, operation: str, number: int, label: str) -> None:
    """One write, or one delete."""
    namespace = ("default", "kube-system")[number % 2]
    name = f"c{number // 2}"
    if operation == "delete":
        if cluster.state.find("secrets", Key(namespace, name)) is not None:
            cluster.delete("Secret/v1", name, namespace=namespace)
        return
    labels = {"app": label, "n": str(number)} if label != "z" else {}
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}, manager="m", force=True)


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every collection counts as a large one."""
    monkeypatch.setattr(selection, "_FEW", 0)
    monkeypatch.setattr(selection, "_MANY", 0)
    return monkeypatch


@given(OPERATIONS, st.integers(1, 4))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_an_index_finds_what_reading_everything_finds(operations: list[tuple[str, int, str]], together: int) -> None:
    """With changes in between, and at moments of the past."""
    with pytest.MonkeyPatch.context() as patch:
        cluster = Cluster()
        states = [cluster.state]
        for index, (operation, number, label) in enumerate(operations):
            act(cluster, operation, number, label)
            if index % together == 0:
                states.append(cluster.state)
        asked = [(path, query) for path in PATHS for query in ({}, *QUERIES)]
        expected = [[names(state, path, **query) for path, query in asked] for state in states]
        patch.setattr(selection, "_remembered", ())
        patch.setattr(selection, "_FEW", 0)
        patch.setattr(selection, "_MANY", 0)
        assert [[names(state, path, **query) for path, query in asked] for state in states] == expected


def test_pages_of_a_past_moment_are_found_in_one_sorted_list(indexed: pytest.MonkeyPatch) -> None:
    """However many writes come between them, nothing is sorted again."""
    cluster = Cluster()
    for number in range(10):
        act(cluster, "write", number, "x")
    sorted_lists = 0
    really = selection._sorted

    def counted(*arguments: Any) -> Any:
        nonlocal sorted_lists
        sorted_lists += 1
        return really(*arguments)

    indexed.setattr(selection, "_sorted", counted)
    indexed.setattr(selection, "_remembered", ())
    token, seen = "", []
    for number in range(5):
        query = {"limit": ("2",)} | ({"continue": (token,)} if token else {})
        body = handle(cluster.state, ApiRequest("GET", "/api/v1/secrets", query))[1].body
        seen += [item["metadata"]["name"] for item in body["items"]]
        token = body["metadata"].get("continue", "")
        act(cluster, "write", number, "y")
        act(cluster, "write", 12 + number, "y")
    assert (seen, token) == (["c0", "c1", "c2", "c3", "c4"] * 2, "")
    assert sorted_lists == 1


def test_a_write_changes_the_sorted_list_and_the_index_where_it_must(indexed: pytest.MonkeyPatch) -> None:
    """Neither is made again, and the older ones stay as they were."""
    cluster = Cluster()
    for number in range(10):
        act(cluster, "write", number, "x")
    before = cluster.state
    assert len(names(before, "/api/v1/secrets", labelSelector="app=x")) == 11
    assert len(names(before, "/api/v1/secrets")) == 11
    indexed.setattr(selection, "_sorted", None)
    indexed.setattr(selection.Index, "of", None)
    act(cluster, "write", 3, "y")
    act(cluster, "delete", 4, "x")
    assert names(cluster.state, "/api/v1/secrets", labelSelector="app=y")[:-1] == ["kube-system/c1"]
    assert len(names(cluster.state, "/api/v1/secrets", labelSelector="app=x")) == 9
    assert len(names(cluster.state, "/api/v1/secrets")) == 10
    assert len(names(before, "/api/v1/secrets", labelSelector="app=x")) == 11
