"""Web pages and a server without tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.credentials.identity import Tokens
from serve.wire import CONFIG_MAPS, Client, config_map


@pytest.fixture(scope="module")
def running() -> Iterator[BackgroundServer]:
    """One server without tokens."""
    with BackgroundServer(Cluster().state) as server:
        yield server


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:6443", "localhost.evil.example", "10.0.0.1", "x", "[::2]:1"]
)
@pytest.mark.parametrize("path", [CONFIG_MAPS, "/version", "/healthz", "/openapi/v2"])
def test_a_name_of_another_site_is_refused(running: BackgroundServer, host: str, path: str) -> None:
    """It was made to resolve to this machine."""
    with Client(running.url) as client:
        answer = client.get(path, Host=host)
    assert answer.code == 403
    assert "--token-file" in answer.json["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:6443", "127.9.9.9", "[::1]:6443", "localhost."]
)
def test_names_of_this_machine_are_answered(running: BackgroundServer, host: str) -> None:
    """The port does not matter: it may be forwarded."""
    with Client(running.url) as client:
        assert client.get("/version", Host=host).code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "http://evil@127.0.0.1", ""])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_page_of_another_origin_is_refused(running: BackgroundServer, origin: str, method: str) -> None:
    """Though its form needs no Content-Type."""
    with Client(running.url) as client:
        answer = client.send(method, CONFIG_MAPS, config_map("a"), Content_Type="", Origin=origin)
        assert answer.code == 403
        assert client.get(f"{CONFIG_MAPS}/a").code == 404


def test_a_page_of_this_server_is_answered(running: BackgroundServer) -> None:
    """It is what the user has opened."""
    with Client(running.url) as client:
        assert client.get("/version", Origin=running.url).code == 200


def test_with_tokens_the_name_does_not_matter() -> None:
    """A page has no token."""
    with (
        BackgroundServer(Cluster().state, tokens=Tokens.parse(["ann=s3cret"])) as running,
        Client(running.url, {"Authorization": "Bearer s3cret"}) as client,
    ):
        assert client.get("/version", Host="api.example", Origin="https://console.example").code == 200
