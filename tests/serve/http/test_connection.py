"""HTTP as it comes over the wire: in pieces, in rows, malformed, slow, and never as it should."""

from __future__ import annotations

import gc
import re
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kontend import Cluster
from kontend.serve import clients as clients_module
from kontend.serve.background import BackgroundServer
from kontend.serve.credentials.identity import Tokens
from kontend.serve.http.connection import Connection
from kontend.serve.http.outbox import unsent
from serve.objects import widgets
from serve.wire import CONFIG_MAPS, Client, exchange, until

GET = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def running() -> Iterator[BackgroundServer]:
    """One server that survives all of this."""
    with BackgroundServer(Cluster(crds=[widgets()]).state) as server:
        yield server


def codes(received: bytes) -> list[int]:
    """The status codes in what a server sent."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def test_requests_in_a_row_are_answered_in_order(running: BackgroundServer) -> None:
    """Though nobody waited for the answers."""
    sent = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET
    assert codes(exchange(running.url, sent * 30)) == [200, 404, 200] * 30


def test_a_request_may_come_byte_by_byte(running: BackgroundServer) -> None:
    """It is answered when it is complete."""
    host = urlsplit(running.url)
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bytes"}}'
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host.hostname, host.port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in head.encode() + body:
            connection.sendall(bytes([byte]))
        assert codes(connection.recv(65536)) == [201]


def test_a_body_may_come_in_chunks(running: BackgroundServer) -> None:
    """As Go sends what it does not know the length of."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"chunks"}}'
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:9], body[9:]))
    assert codes(exchange(running.url, head + parts + b"0\r\n\r\n")) == [201]


def test_a_client_may_ask_whether_to_go_on(running: BackgroundServer) -> None:
    """As curl does before a large body."""
    head = (
        f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode()
    )
    assert codes(exchange(running.url, head + b"{}")) == [100, 422]


def test_an_upgrade_is_not_taken_but_the_request_is_answered(running: BackgroundServer) -> None:
    """And so is the next."""
    sent = b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert codes(exchange(running.url, sent + GET)) == [200, 200]


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_of_a_request_that_asks_for_an_upgrade_is_its_body(
    running: BackgroundServer, method: str, chunked: bool
) -> None:
    """As Java's HTTP client sends it; a request inside of the body is not carried out."""
    with Client(running.url) as client:
        client.create("victim")
        inner = b"DELETE /api/v1/namespaces/default/configmaps/victim HTTP/1.1\r\nHost: localhost\r\n\r\n"
        framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(inner)
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner) if chunked else inner
        head = f"{method} {CONFIG_MAPS}{'/victim' if method == 'PUT' else ''} HTTP/1.1\r\nHost: localhost\r\n".encode()
        upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
        assert codes(exchange(running.url, head + upgrade + framing + b"\r\n\r\n" + body + GET)) == [400, 200]
        assert client.get(f"{CONFIG_MAPS}/victim").code == 200


def test_a_tunnel_is_refused(running: BackgroundServer) -> None:
    """There is nothing to connect to."""
    received = exchange(running.url, b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n" + GET, half_close=False)
    assert codes(received) == [405]


def test_requests_before_a_malformed_one_are_answered(running: BackgroundServer) -> None:
    """Then the connection ends."""
    assert codes(exchange(running.url, GET + GET + b"nonsense\r\n\r\n", half_close=False)) == [200, 200, 400]


def test_a_whole_url_is_taken_for_its_path(running: BackgroundServer) -> None:
    """As clients behind a proxy send it."""
    assert codes(exchange(running.url, b"GET http://localhost/version HTTP/1.1\r\nHost: localhost\r\n\r\n")) == [200]


def test_the_connection_closes_when_the_client_wants_it(running: BackgroundServer) -> None:
    """HTTP/1.0 wants it unless it says otherwise."""
    for sent in (
        b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /version HTTP/1.0\r\n\r\n",
    ):
        received = exchange(running.url, sent, half_close=False)
        assert codes(received) == [200]
        assert b"Connection: close\r\n" in received


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        b"\x00" * 1000,
    ],
)
def test_what_is_not_http_is_refused(running: BackgroundServer, sent: bytes) -> None:
    """With 400 and the end of the connection."""
    received = exchange(running.url, sent, half_close=False)
    assert codes(received) == [400]
    assert received.endswith(b"400 Bad Request")


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"GET /version HTTP/1.1\r\n\r\n", b"400 Bad Request: missing required Host header"),
        (b"GET /api/v1/namespaces/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nhost: x\r\n\r\n", b"400 Bad Request: too many Host headers"),
    ],
)
def test_what_go_does_not_take_is_refused(running: BackgroundServer, sent: bytes, body: bytes) -> None:
    """Though it is HTTP."""
    assert exchange(running.url, sent, half_close=False).endswith(b"\r\n\r\n" + body)


def test_a_path_is_unescaped_before_it_is_split(running: BackgroundServer) -> None:
    """And not twice."""
    with Client(running.url) as client:
        assert client.get("/api/v1/namespaces/%64efault").code == 200
        assert client.get("/api/v1/namespaces/a%2Fb").json["details"] == {}
        assert client.get("/api/v1/namespaces/%2564efault").code == 404


def test_endless_headers_are_refused(running: BackgroundServer) -> None:
    """They are more than a megabyte."""
    received = exchange(running.url, b"GET / HTTP/1.1\r\nX: " + b"x" * (2 << 20), half_close=False)
    assert codes(received) in ([431], [])  # the answer may be lost when the client is still sending


def test_a_slow_client_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends nothing, half a head or half a body."""
    monkeypatch.setattr(clients_module, "_SWEEP_EVERY", 0.02)
    monkeypatch.setattr(clients_module, "_REQUEST_TIME", 0.1)
    monkeypatch.setattr(clients_module, "_IDLE_TIME", 0.2)
    with BackgroundServer(Cluster().state) as running:
        assert exchange(running.url, b"", half_close=False) == b""
        assert codes(exchange(running.url, b"GET / HT", half_close=False)) == [408]
        half = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf".encode()
        assert codes(exchange(running.url, half, half_close=False)) == [408]
        assert codes(exchange(running.url, GET, half_close=False)) == [200]
        until(lambda: running.call(lambda: running.server.connections) == 0)


def test_many_connections_are_served_and_forgotten(running: BackgroundServer) -> None:
    """All of them answered; nothing of them stays."""
    before = running.call(lambda: running.server.connections)
    clients = [Client(running.url) for _ in range(300)]
    try:
        assert {client.get("/healthz").code for client in clients} == {200}
    finally:
        for client in clients:
            client.close()
    until(lambda: running.call(lambda: running.server.connections) == before)
    gc.collect()
    assert sum(isinstance(obj, Connection) for obj in gc.get_objects()) == before


TOKEN = st.binary(max_size=30)
PATHS = st.sampled_from(
    [
        b"/api/v1/namespaces/default/configmaps",
        b"/apis/example.com/v1/namespaces/default/widgets",
        b"/apis/example.com/v1/widgets/w/status",
        b"/api/v1/namespaces/default/pods/p/eviction",
        b"/openapi/v3",
        b"/apis",
        b"/healthz",
    ]
)


@given(
    st.lists(
        st.one_of(TOKEN, st.sampled_from([b"GET ", b"/", b" HTTP/1.1\r\n", b"Host: localhost\r\n", b"\r\n", b"0\r\n"]))
    )
)
@settings(derandomize=True, deadline=None, max_examples=80)
@example([b"GET ", b"/", b" HTTP/1.1\r\n", b"\xff: \x00\r\n", b"\r\n"])
def test_no_bytes_break_the_server(running: BackgroundServer, parts: list[bytes]) -> None:
    """The server answers any bytes as HTTP or hangs up, and is there for the next client."""
    received = exchange(running.url, b"".join(parts))
    assert received == b"" or received.startswith(b"HTTP/1.1 ")
    assert all(code < 500 for code in codes(received))
    assert codes(exchange(running.url, GET)) == [200]


METHODS = st.sampled_from([b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS"])
MEDIA_TYPES = st.sampled_from(
    [
        b"application/json",
        b"application/yaml",
        b"application/merge-patch+json",
        b"application/json-patch+json",
        b"application/strategic-merge-patch+json",
        b"application/apply-patch+yaml",
        b"application/vnd.kubernetes.protobuf",
        b"text/html",
        b"*/*",
        b"application/json;as=Table;v=v1;g=meta.k8s.io",
        b";;;,,,=",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"{}",
            b"[]",
            b"null",
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f"}}',
            b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":1}}',
            b'{"metadata":[],"status":{"phase":3}}',
            b'[{"op":"replace","path":"/metadata","value":null}]',
            b"k8s\x00\x0a\x02\x08",
            b"[" * 100_000,
            b'{"a":' * 20_000,
            b"a: &a [*a]",
            b"9" * 5000,
        ]
    ),
)
QUERIES = st.lists(
    st.sampled_from(
        [
            b"fieldManager=m",
            b"force=maybe",
            b"dryRun=All",
            b"dryRun=Some",
            b"limit=-1",
            b"limit=99999999999999999999",
            b"continue=%00",
            b"resourceVersion=x",
            b"resourceVersion=-1",
            b"labelSelector=a+in+(",
            b"fieldSelector=metadata.name",
            b"fieldValidation=Strict",
            b"pretty=%zz",
            b"a;b",
            b"=&&=",
            b"%ff=%fe",
        ]
    ),
    max_size=3,
)


@given(METHODS, PATHS, QUERIES, MEDIA_TYPES, MEDIA_TYPES, BODIES)
@settings(derandomize=True, deadline=None, max_examples=250)
def test_no_request_breaks_the_server(
    running: BackgroundServer, method: bytes, path: bytes, query: list[bytes], sends: bytes, takes: bytes, body: bytes
) -> None:
    """Wrong methods, queries, media types and bodies are all the client's mistakes: no answer is a 500 of ours."""
    target = path + (b"?" + b"&".join(query) if query else b"")
    head = b"%b %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nAccept: %b\r\nContent-Length: %d\r\n\r\n"
    received = exchange(running.url, head % (method, target, sends, takes, len(body)) + body)
    assert len(codes(received)) == 1
    assert codes(received)[0] != 500 or b"panic" not in received


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"- " * 100_000 + b"a", b"? " * 100_000])
def test_a_body_that_is_nested_too_deep_is_refused(running: BackgroundServer, body: bytes) -> None:
    """The server's stack is not the client's to use up."""
    for media_type in ("application/yaml", "application/json"):
        with Client(running.url) as client:
            assert client.send("POST", CONFIG_MAPS, body, Content_Type=media_type).code == 400


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    """However many requests it sends ahead: the answers are made as it reads them, and none is missing."""
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        for name in ("a", "b", "c"):
            client.create(name, key="x" * 1_000_000)
        host = urlsplit(running.url)
        with socket.create_connection((host.hostname, host.port), timeout=20) as connection:
            connection.sendall(b"GET /api/v1/configmaps HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
            until(lambda: running.call(lambda: any(client.paused for client in running.server.clients)))
            assert client.get("/version").code == 200
            assert running.call(lambda: max(client.unread for client in running.server.clients)) < 4_000_000
            connection.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            received = b""
            while part := connection.recv(1 << 20):
                received = received[-50:] + part
                answers = codes(part)
                assert all(code == 200 for code in answers)
    assert b'"gitVersion"' in received


def test_the_first_events_of_a_watch_are_made_as_the_client_reads() -> None:
    """So that watches nobody reads cost nothing."""
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        for number in range(20):
            client.create(f"c{number}", key="x" * 500_000)
        host = urlsplit(running.url)
        with socket.create_connection((host.hostname, host.port), timeout=20) as connection:
            connection.sendall(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: running.call(lambda: any(client.paused for client in running.server.clients)))
            client.patch("c0", later="y" * 100_000)
            assert running.call(lambda: max(client.unread for client in running.server.clients)) < 1_500_000
            received = b""
            while b"MODIFIED" not in received:
                received += connection.recv(1 << 20)
            assert received.count(b'"type":"ADDED"') == 20


@pytest.mark.parametrize("query", ["", "?watch=1"])
def test_a_large_object_is_not_copied_for_each_client_that_does_not_read(query: str) -> None:
    """asyncio's transports keep copies, so they get little at a time."""
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        for number in range(10):
            client.create(f"c{number}", key="x" * 1_000_000)
        host = urlsplit(running.url)
        with socket.create_connection((host.hostname, host.port), timeout=20) as connection:
            connection.sendall(f"GET /api/v1/configmaps{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            until(lambda: running.call(lambda: any(one.paused for one in running.server.clients)))
            (kept,) = running.call(lambda: [unsent(one._transport) for one in running.server.clients if one.paused])
        assert 0 < kept < 200_000


def test_what_clients_leave_unread_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that holds most is cut off."""
    monkeypatch.setattr(clients_module, "UNREAD_LIMIT", 10_000_000)
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        for number in range(8):
            client.create(f"c{number}", key="x" * 1_000_000)
        host = urlsplit(running.url)
        connections = [socket.create_connection((host.hostname, host.port), timeout=20) for _ in range(10)]
        for connection in connections:
            connection.sendall(b"GET /api/v1/configmaps HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: running.call(lambda: any(client.paused for client in running.server.clients)))
            assert client.get("/version").code == 200
            assert running.call(lambda: sum(client.unread for client in running.server.clients)) < 20_000_000
        for connection in connections:
            connection.close()


def test_large_bodies_of_clients_without_a_token_are_not_kept() -> None:
    """They are refused by their heads, before they have come."""
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n".encode()
    with BackgroundServer(Cluster().state, tokens=Tokens.parse(["u=secret"])) as running:
        for framing in (b"Content-Length: 3000000", b"Transfer-Encoding: chunked"):
            assert codes(exchange(running.url, head + framing + b"\r\n\r\n", half_close=False)) == [401]
        known = head + b"Authorization: Bearer secret\r\nContent-Length: 3000000\r\n\r\n"
        host = urlsplit(running.url)
        with socket.create_connection((host.hostname, host.port), timeout=20) as connection:
            connection.sendall(known + b"a" * 2_000_000)
            until(lambda: running.call(lambda: running.server.clients.kept) == 2_000_000)
        until(lambda: running.call(lambda: running.server.clients.kept) == 0)


def test_what_is_kept_of_bodies_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that has sent most is cut off, and others go on."""
    monkeypatch.setattr(clients_module, "BODIES_LIMIT", 3_000_000)
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n".encode()
    with BackgroundServer(Cluster().state) as running, Client(running.url) as client:
        host = urlsplit(running.url)
        connections = [socket.create_connection((host.hostname, host.port), timeout=20) for _ in range(4)]

        def keeps(size: int) -> Callable[[], bool]:
            return lambda: running.call(lambda: running.server.clients.kept) == size

        for number, connection in enumerate(connections):
            connection.sendall(head + b"a" * (2_000_000 + number))
            # While the second one sends, it is too much, and the first has sent most.
            until(keeps(2_000_000 + number))
        client.create("large", text="x" * 500_000)
        assert running.call(lambda: running.server.clients.kept) == 2_000_003
        for connection in connections:
            connection.close()


def test_expectations_that_go_refuses_are_refused(running: BackgroundServer) -> None:
    """Only 100-continue can be met."""
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{{}}"
    assert codes(exchange(running.url, head.encode())) == [417]


def test_a_request_line_without_a_version_is_refused(running: BackgroundServer) -> None:
    """HTTP/0.9 has none, and Go does not speak it."""
    assert codes(exchange(running.url, b"GET /version\r\n\r\n")) == [400]


def test_heads_are_limited_to_a_megabyte(running: BackgroundServer) -> None:
    """However few pieces they come in."""
    for size, expected in ((1_040_000, 200), (1_060_000, 431)):
        sent = b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * size + b"\r\n\r\n"
        assert codes(exchange(running.url, sent)) == [expected]
