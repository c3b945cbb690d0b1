"""Long lists are sent piece by piece: the same bytes, in bounded memory."""

from __future__ import annotations

import gzip
import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from kontend import Cluster
from kontend.cluster.wire import encoded
from kontend.serve.background import BackgroundServer
from serve.wire import CONFIG_MAPS, Client, config_map

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
HEADERS: list[dict[str, str]] = [
    {},
    {"User_Agent": "curl/8"},
    {"Accept_Encoding": "gzip"},
    {"Accept": TABLE},
    {"Accept": METADATA},
]


@pytest.mark.parametrize("headers", HEADERS, ids=["plain", "pretty", "gzip", "table", "metadata"])
@pytest.mark.parametrize("query", ["", "?limit=210", "?labelSelector=!a&limit=205"])
def test_a_long_list_is_the_same_in_pieces(
    headers: dict[str, str], query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, in every form."""
    maps = [config_map(f"c{number:03}", text="x" * (number % 40)) for number in range(300)]
    maps[0]["data"]["text"] = "y" * 300_000
    with BackgroundServer(Cluster(objects=maps).state) as running, Client(running.url) as client:
        answer = client.get(CONFIG_MAPS + query, **headers)
        assert answer.headers["Transfer-Encoding"] == "chunked"
        monkeypatch.setattr(encoded, "_LONG", 10**9)
        monkeypatch.setattr(encoded, "_LONG_BYTES", 10**9)
        whole = client.get(CONFIG_MAPS + query, **headers)
        assert "Content-Length" in whole.headers
    raw = [gzip.decompress(it.raw) if "Content-Encoding" in it.headers else it.raw for it in (answer, whole)]
    assert raw[0] == raw[1]
    assert len(json.loads(raw[0])["rows" if headers.get("Accept") == TABLE else "items"]) >= 205


def test_custom_resources_are_sent_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kind and apiVersion that each of them has."""
    from serve.objects import widget, widgets

    monkeypatch.setattr(encoded, "_LONG", 0)
    state = Cluster(crds=[widgets()], objects=[widget(size=1)]).state
    with BackgroundServer(state) as running, Client(running.url) as client:
        answer = client.get("/apis/example.com/v1/widgets")
    assert [(item["kind"], item["spec"]["size"]) for item in answer.json["items"]] == [("Widget", 1)]


def test_lists_that_nobody_reads_hold_a_piece_each() -> None:
    """Not the 12 MB that each of them would be."""
    maps = [config_map(f"c{number}", text="x" * 400_000) for number in range(30)]
    clients = []
    with BackgroundServer(Cluster(objects=maps).state) as running:
        try:
            for _ in range(5):
                client = socket.socket()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", urlsplit(running.url).port))
                client.sendall(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                clients.append(client)
            wait_until(running, lambda: sum(it.paused for it in running.server.clients) == 5)
            assert running.call(lambda: max(it.unread for it in running.server.clients)) < 2_000_000
            received = clients[0].makefile("rb").read(12_000_000)
            assert received.count(b"x") > 11_000_000
        finally:
            for client in clients:
                client.close()


def wait_until(running: BackgroundServer, condition: Any) -> None:
    """Wait for something that the event loop will see."""
    deadline = time.monotonic() + 20
    while not running.call(condition):
        assert time.monotonic() < deadline
