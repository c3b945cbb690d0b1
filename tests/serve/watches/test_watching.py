"""Watches over HTTP: what they show, when they end, and that a slow one harms nobody."""

from __future__ import annotations

import itertools
import json
import socket
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.watches import watcher as module
from serve.objects import WIDGETS_PATH, widget, widgets
from serve.wire import CONFIG_MAPS, Client, config_map, exchange, until, watching


def seen(event: dict[str, Any]) -> tuple[str, str]:
    """The types of the events and the names of their objects."""
    return event["type"], event["object"]["metadata"].get("name", "")


def open_watches(running: BackgroundServer) -> int:
    """The number of open watches."""
    return int(running.call(lambda: running.server.watches))


def test_a_watch_shows_what_is_there_and_then_what_happens(kontend_server: BackgroundServer, client: Client) -> None:
    """In order."""
    client.create("a")
    with watching(kontend_server.url, CONFIG_MAPS) as events:
        assert seen(next(events)) == ("ADDED", "a")
        client.create("b")
        client.patch("a", x="1")
        client.send("DELETE", f"{CONFIG_MAPS}/b")
        assert [seen(event) for event in itertools.islice(events, 3)] == [
            ("ADDED", "b"),
            ("MODIFIED", "a"),
            ("DELETED", "b"),
        ]


def test_a_watch_goes_on_from_the_version_it_names(kontend_server: BackgroundServer, client: Client) -> None:
    """With what happened since, and nothing before."""
    version = client.create("a").json["metadata"]["resourceVersion"]
    client.create("b")
    with watching(kontend_server.url, CONFIG_MAPS, resourceVersion=version) as events:
        assert seen(next(events)) == ("ADDED", "b")


def test_a_watch_from_a_future_version_is_silent_until_then(kontend_server: BackgroundServer, client: Client) -> None:
    """Events before that version are not shown."""
    version = int(client.create("a").json["metadata"]["resourceVersion"])
    with watching(kontend_server.url, CONFIG_MAPS, resourceVersion=str(version + 2)) as events:
        for number in range(3):
            client.patch("a", x=str(number))
        assert next(events)["object"]["data"] == {"x": "2"}


def test_a_watch_from_a_forgotten_version_gets_an_error_and_ends() -> None:
    """With the event that clients know."""
    cluster = Cluster(objects=[config_map("a"), config_map("b")])
    forgetful = cluster.state.replace(newest=None, older=None, stretch=0, floor=cluster.state.resource_version)
    with (
        BackgroundServer(forgetful) as running,
        watching(running.url, CONFIG_MAPS, resourceVersion="1") as events,
    ):
        received = list(events)
    assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in received] == [
        ("ERROR", 410, "Expired")
    ]


def test_a_watch_sees_only_what_it_selects(kontend_server: BackgroundServer, client: Client) -> None:
    """Coming into sight and going out of it included."""
    with (
        watching(kontend_server.url, CONFIG_MAPS, labelSelector="app%3Dweb") as selected,
        watching(kontend_server.url, CONFIG_MAPS) as everything,
    ):
        path = f"{CONFIG_MAPS}/a"
        created = client.create("a").json
        for labels in ({"app": "web"}, {"app": "db"}):
            created["metadata"]["labels"] = labels
            created["metadata"].pop("resourceVersion", None)
            assert client.send("PUT", path, created).code == 200
        assert [seen(event) for event in itertools.islice(selected, 2)] == [("ADDED", "a"), ("DELETED", "a")]
        assert [event["type"] for event in itertools.islice(everything, 3)] == ["ADDED", "MODIFIED", "MODIFIED"]


def test_watches_of_one_namespace_do_not_see_another(kontend_server: BackgroundServer, client: Client) -> None:
    """Though they share what is sent."""
    client.send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    with (
        watching(kontend_server.url, "/api/v1/namespaces/n/configmaps") as one,
        watching(kontend_server.url, "/api/v1/configmaps") as all_of_them,
    ):
        client.create("a")
        client.send("POST", "/api/v1/namespaces/n/configmaps", config_map("b"))
        assert seen(next(one)) == ("ADDED", "b")
        assert [seen(event) for event in itertools.islice(all_of_them, 2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_ends_when_its_time_is_over_and_the_connection_goes_on(client: Client) -> None:
    """As with kube-apiserver."""
    client.create("a")
    answer = client.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    assert answer.raw.count(b"\n") == 1
    assert client.get("/version").code == 200


def test_a_watch_on_a_connection_that_is_to_close_closes_it(kontend_server: BackgroundServer) -> None:
    """It does so when the watch ends."""
    request = f"GET {CONFIG_MAPS}?watch=1&timeoutSeconds=-1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert exchange(kontend_server.url, request.encode(), half_close=False).endswith(b"\r\n\r\n0\r\n\r\n")


@pytest.mark.kontend(crds=[widgets()])
def test_the_head_of_a_watch_is_all_that_head_gets(client: Client) -> None:
    """Only custom resources serve HEAD."""
    assert client.send("HEAD", f"{WIDGETS_PATH}?watch=1").raw == b""
    assert client.get("/version").code == 200


def test_a_watch_that_allows_bookmarks_gets_them(
    kontend_server: BackgroundServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They tell the version, whatever it came from."""
    monkeypatch.setattr(module, "BOOKMARK_EVERY", 0.05)
    version = client.create("a").json["metadata"]["resourceVersion"]
    query = {"allowWatchBookmarks": "true", "resourceVersion": version, "timeoutSeconds": "30"}
    with watching(kontend_server.url, CONFIG_MAPS, **query) as events:
        assert next(events)["object"]["metadata"]["resourceVersion"] == version
        later = client.send("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {"a": "b"}}},
                            Content_Type="application/merge-patch+json")  # fmt: skip
        wanted = later.json["metadata"]["resourceVersion"]
        bookmarks = itertools.takewhile(lambda event: event["object"]["metadata"]["resourceVersion"] != wanted, events)
        assert {event["type"] for event in bookmarks} <= {"BOOKMARK"}


def test_a_watch_is_not_to_be_had_as_yaml(client: Client) -> None:
    """Since YAML has no lines to send one by one."""
    answer = client.get(f"{CONFIG_MAPS}?watch=1", Accept="application/yaml")
    assert answer.code == 406


def test_initial_events_end_with_a_bookmark(kontend_server: BackgroundServer, client: Client) -> None:
    """As clients of 1.35 list."""
    client.create("a")
    query = {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    with watching(kontend_server.url, CONFIG_MAPS, **query) as events:
        first, second = next(events), next(events)
    assert seen(first) == ("ADDED", "a")
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.kontend(crds=[widgets()], objects=[widget()])
def test_a_watch_of_a_custom_resource_ends_when_its_definition_changes(
    kontend_server: BackgroundServer, client: Client
) -> None:
    """It is another resource then."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
    with watching(kontend_server.url, WIDGETS_PATH) as events:
        assert seen(next(events)) == ("ADDED", "w")
        changed = widgets(color={"type": "string"})
        changed["metadata"]["resourceVersion"] = client.get(path).json["metadata"]["resourceVersion"]
        assert client.send("PUT", path, changed).code == 200
        assert list(events) == []


def test_a_client_that_vanishes_leaves_nothing_behind(kontend_server: BackgroundServer, client: Client) -> None:
    """Its watch and its connection are gone."""
    with watching(kontend_server.url, CONFIG_MAPS):
        until(lambda: open_watches(kontend_server) == 1)
    client.create("a")
    until(lambda: open_watches(kontend_server) == 0)
    until(lambda: kontend_server.call(lambda: kontend_server.server.connections) == 1)


def test_a_slow_reader_is_cut_off_and_slows_nobody(
    kontend_server: BackgroundServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another watch sees everything meanwhile."""
    monkeypatch.setattr(module, "MOST_BEHIND", 20)
    host = urlsplit(kontend_server.url)
    with socket.socket() as slow, watching(kontend_server.url, CONFIG_MAPS) as events:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((host.hostname, host.port))
        slow.sendall(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: open_watches(kontend_server) == 2)
        for number in range(200):
            client.create(f"c{number}", x="x" * 100_000)
            assert seen(next(events)) == ("ADDED", f"c{number}")
            if open_watches(kontend_server) == 1:
                break
        assert open_watches(kontend_server) == 1


def test_many_watches_of_the_same_share_what_is_read(kontend_server: BackgroundServer, client: Client) -> None:
    """All see the same bytes."""
    with ExitStack() as stack:
        streams = [stack.enter_context(watching(kontend_server.url, CONFIG_MAPS)) for _ in range(50)]
        until(lambda: open_watches(kontend_server) == 50)
        client.create("a")
        client.patch("a", x="1")
        events_seen = [[seen(event) for event in itertools.islice(stream, 2)] for stream in streams]
    assert events_seen == [[("ADDED", "a"), ("MODIFIED", "a")]] * 50


def test_stopping_the_server_ends_watches_properly() -> None:
    """The client sees an end, not a broken connection."""
    with BackgroundServer(Cluster().state) as running, watching(running.url, CONFIG_MAPS) as events:
        until(lambda: open_watches(running) == 1)
        running.stop()
        assert list(events) == []


def test_a_watch_may_go_over_a_web_socket(kontend_server: BackgroundServer, client: Client) -> None:
    """As clients in Java ask for: each event is a message; pings and goodbyes are answered."""
    client.create("c", key="x" * 100_000)
    host = urlsplit(kontend_server.url)
    with (
        socket.create_connection((host.hostname, host.port), timeout=20) as connection,
        connection.makefile("rb") as got,
    ):
        head = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        connection.sendall(f"{head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        answer = list(iter(got.readline, b"\r\n"))
        assert answer[0] == b"HTTP/1.1 101 Switching Protocols\r\n"
        assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in answer

        def message() -> tuple[int, bytes]:
            kind, size = got.read(2)
            if size >= 126:
                size = int.from_bytes(got.read(2 if size == 126 else 8))
            return kind, got.read(size)

        kind, event = message()
        assert (kind, json.loads(event)["object"]["data"]["key"]) == (0x81, "x" * 100_000)
        client.patch("c", later="1")
        kind, event = message()
        assert (kind, json.loads(event)["type"]) == (0x81, "MODIFIED")
        connection.sendall(b"\x89\x82\0\0\0\0hi" + b"\x88\x82\0\0\0\0\x03\xe8")
        assert [message(), message()] == [(0x8A, b"hi"), (0x88, b"\x03\xe8")]
        assert got.read() == b""
    until(lambda: open_watches(kontend_server) == 0)


def test_errors_of_a_watch_over_a_web_socket_are_answers(client: Client) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "a"}
    assert client.get("/api/v1/nothing?watch=1", **headers).code == 404
