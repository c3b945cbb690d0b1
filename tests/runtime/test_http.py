"""The backend over HTTP: the same answers as in process, and a second try only where it cannot do harm."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind
from kontend.kube.errors import ApiError, Conflict, Gone, InternalError, NotFound, ServiceUnavailable
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import AnswerLost, Call
from kontend.runtime.client.http_backend import HttpBackend, SilentWatch, Unreachable
from kontend.runtime.client.kubeconfig import Config
from kontend.runtime.client.patches import merge_from
from kontend.serve.background import BackgroundServer
from runtime.samples import CONFIG_MAP, GADGET, GADGETS, config_map, gadget
from runtime.stub_server import Reaction, StubServer, answer, status

READ = Call("get", CONFIG_MAP, "default", "a")
WRITE = Call("update", CONFIG_MAP, "default", "a", body=b"{}")
OK = answer(200, {"kind": "ConfigMap"})


def converse(*reactions: Reaction, call: Call = READ, **options: Any) -> tuple[Any, StubServer, list[float]]:
    """Send one call to a server that reacts so; what came back, what it was asked, and the pauses in between."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def run() -> tuple[Any, StubServer]:
        async with StubServer(*reactions) as server:
            backend = HttpBackend(Config(server.url, **options), sleep=sleep)
            try:
                return await backend.call(call), server
            except ApiError as error:
                return error, server
            finally:
                backend.close()

    outcome, server = asyncio.run(run())
    return outcome, server, pauses


def on_server(action: Callable[[HttpBackend, Cluster], Awaitable[Any]], **objects: Any) -> Any:
    """Run something against a real server."""
    with BackgroundServer(Cluster(crds=[GADGETS], **objects).state) as server:

        async def run() -> Any:
            backend = HttpBackend(server.url)
            try:
                return await action(backend, server.cluster)
            finally:
                backend.close()

        return asyncio.run(run())


def test_reads_and_writes_mean_what_they_mean_in_process() -> None:
    async def act(backend: HttpBackend, cluster: Cluster) -> None:
        api = Api(backend, manager="me")
        obj = gadget("a", size=1)
        await api.create(obj)
        assert obj == cluster.get(GADGET, "a")
        stale = await api.live.get(GADGET, "default/a")
        base = await api.live.get(GADGET, "default/a")
        obj["status"] = {"phase": "Ready"}
        await api.status.patch(obj, merge_from(base))
        assert cluster.get(GADGET, "a")["status"] == {"phase": "Ready"}
        with pytest.raises(Conflict, match="the object has been modified"):
            await api.update(stale)
        await api.apply({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "b"}, "spec": {}})
        assert [gadget["metadata"]["name"] for gadget in await api.live.list(GADGET)] == ["a", "b"]
        namespace = await api.live.get("Namespace/v1", "default")
        assert namespace["metadata"]["name"] == "default"
        await api.delete(obj)
        await api.delete_all_of(GADGET, namespace="default")
        assert cluster.list(GADGET) == []
        with pytest.raises(NotFound, match=r'gadgets.example.com "a" not found'):
            await api.live.get(GADGET, "default/a")

    on_server(act)


def test_a_long_list_is_read_in_pages() -> None:
    async def act(backend: HttpBackend, cluster: Cluster) -> Any:
        items, version = await backend.list(CONFIG_MAP, {})
        return (
            len(items),
            version == int(cluster.resource_version),
            backend.metrics.requests.get(method="GET", code="200"),
        )

    outcome = on_server(act, objects=[config_map(f"c{n}") for n in range(1100)])
    assert outcome == (1100, True, 4)  # discovery and three pages


def test_an_unknown_kind_is_refused_until_it_is_served() -> None:
    async def act(backend: HttpBackend, cluster: Cluster) -> None:
        for kind, words in (
            ("Nothing.example.com/v1", 'no kind "Nothing" is served for version "example.com/v1"'),
            ("Thing.other.example.com/v1", 'no version "other.example.com/v1" is served'),
        ):
            with pytest.raises(UnknownKind, match=words):
                await backend.call(Call("list", kind))
        other = {**GADGETS, "metadata": {"name": "things.other.example.com"}}
        other["spec"] = {
            **GADGETS["spec"],
            "group": "other.example.com",
            "names": {"plural": "things", "kind": "Thing"},
        }
        cluster.create(other)
        assert (await backend.call(Call("list", "Thing.other.example.com/v1")))["items"] == []

    on_server(act)


def test_a_watch_gives_events_after_a_version_and_says_when_it_is_too_old() -> None:
    async def act(backend: HttpBackend, cluster: Cluster) -> list[str]:
        version = int(cluster.resource_version)
        cluster.create(config_map("a"))
        cluster.create(config_map("b"))
        seen = []
        stream = backend.watch(CONFIG_MAP, version, idle=5)
        async for type, obj in stream:
            seen.append(f"{type} {obj['metadata']['name']}")
            if len(seen) == 2:
                cluster.delete(CONFIG_MAP, "a")
            if len(seen) == 3:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        with pytest.raises(Gone):
            async for _ in backend.watch(CONFIG_MAP, 1, idle=5):
                pass
        return seen

    assert on_server(act) == ["ADDED a", "ADDED b", "DELETED a"]


def test_a_silent_watch_counts_as_broken() -> None:
    async def run() -> None:
        async with StubServer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") as server:
            backend = HttpBackend(server.url)
            async for _ in backend.watch(CONFIG_MAP, 5, idle=0.02):
                pass

    with pytest.raises(SilentWatch, match=r"nothing arrived for 0.02 s"):
        asyncio.run(run())


def test_a_read_whose_answer_was_lost_is_sent_again() -> None:
    outcome, server, pauses = converse(None, None, OK)
    assert outcome == {"kind": "ConfigMap"}
    assert len(server.requests) == 3
    assert pauses == [0.2, 0.4]


def test_a_write_whose_answer_was_lost_is_not_sent_again() -> None:
    outcome, server, _ = converse(None, OK, call=WRITE)
    assert isinstance(outcome, AnswerLost)
    assert "the server closed the connection" in str(outcome)
    assert server.requests == ["PUT /api/v1/namespaces/default/configmaps/a"]


@pytest.mark.parametrize("code", [429, 503])
def test_a_write_that_the_server_did_not_look_at_is_sent_again_after_the_time_it_asks_for(code: int) -> None:
    later = answer(code, status(code, "TooManyRequests"), Retry_After="7")
    outcome, server, pauses = converse(later, later, OK, call=WRITE)
    assert outcome == {"kind": "ConfigMap"}
    assert pauses == [7, 7]
    assert len(server.requests) == 3


def test_a_refusal_without_a_time_is_raised_as_it_is() -> None:
    outcome, server, _ = converse(answer(503, status(503, "ServiceUnavailable", "not ready")), call=WRITE)
    assert isinstance(outcome, ServiceUnavailable)
    assert (outcome.message, len(server.requests)) == ("not ready", 1)


def test_retries_have_an_end() -> None:
    later = answer(429, status(429, "TooManyRequests"), Retry_After="1")
    outcome, server, _ = converse(*[later] * 9)
    assert isinstance(outcome, ApiError)
    assert (outcome.http_code, len(server.requests)) == (429, 5)


def test_without_a_connection_nothing_was_sent_and_every_call_is_tried_again() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    backend = HttpBackend("http://127.0.0.1:9", sleep=sleep)
    backend._kinds[CONFIG_MAP] = asyncio.run(_served())
    with pytest.raises(Unreachable, match=r"PUT http://127\.0\.0\.1:9/api/v1.*: nothing listens on .* port 9"):
        asyncio.run(backend.call(WRITE))
    assert len(pauses) == 4


async def _served() -> Any:
    async with StubServer() as server:
        return await HttpBackend(server.url).served(CONFIG_MAP)


def test_answers_that_are_no_status_keep_their_code() -> None:
    outcome, _, _ = converse(answer(502, b"<html>bad gateway"))
    assert isinstance(outcome, ApiError)
    assert (outcome.http_code, outcome.message) == (502, "<html>bad gateway")
    outcome, _, _ = converse(answer(200, b"<html>hello"))
    assert isinstance(outcome, InternalError)


def test_connections_are_used_again_and_closed_ones_are_not() -> None:
    async def run(*reactions: Reaction) -> int:
        async with StubServer(*reactions) as server:
            backend = HttpBackend(server.url)
            for _ in reactions:
                await backend.call(READ)
            backend.close()
            return server.connections

    assert asyncio.run(run(OK, OK, OK)) == 1
    closing = answer(200, {}, Connection="close")
    assert asyncio.run(run(closing, closing)) == 2  # discovery and the first share one


def test_who_we_are_is_sent() -> None:
    _, server, _ = converse(OK, token="secret", impersonate="jane")
    assert "Authorization: Bearer secret\r\n" in server.heads[0]
    assert "Impersonate-User: jane\r\n" in server.heads[0]
    _, server, _ = converse(OK, username="u", password="p")
    assert "Authorization: Basic dTpw\r\n" in server.heads[0]


def test_a_token_that_is_refused_is_read_again_once(tmp_path: Any) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def run() -> tuple[Any, list[str]]:
        async with StubServer(answer(401, status(401, "Unauthorized")), OK) as server:
            backend = HttpBackend(Config(server.url, token_file=file))
            await backend.served(CONFIG_MAP)
            file.write_text("new")
            return await backend.call(READ), server.heads

    outcome, heads = asyncio.run(run())
    assert outcome == {"kind": "ConfigMap"}
    assert ["Bearer old" in heads[0], "Bearer new" in heads[1]] == [True, True]


def test_names_are_escaped() -> None:
    _, server, _ = converse(OK, call=Call("get", CONFIG_MAP, "default", "a/b?c", query=(("x", "1 2"),)))
    assert server.requests == ["GET /api/v1/namespaces/default/configmaps/a%2Fb%3Fc?x=1+2"]


def test_only_a_401_makes_the_client_repeat_a_request_with_new_credentials(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    for code, requests in ((401, 2), (403, 1), (404, 1), (500, 1)):
        outcome, server, _ = converse(answer(code, status(code, "No")), OK, token_file=token)
        assert len(server.reactions) == 2 - requests
        assert isinstance(outcome, ApiError) == (requests == 1)


def test_retry_after_counts_only_with_429_and_503() -> None:
    for code, pauses in ((429, [2.0]), (503, [2.0]), (500, []), (409, [])):
        outcome, _, paused = converse(answer(code, status(code, "No"), Retry_After="2"), OK, call=WRITE)
        assert paused == pauses
        assert isinstance(outcome, ApiError) == (not pauses)


def test_a_request_without_a_body_has_no_content_type() -> None:
    _, read, _ = converse(OK)
    _, write, _ = converse(OK, call=WRITE)
    assert "content-type:" not in read.heads[-1].lower()
    assert "content-type: application/json" in write.heads[-1].lower()


def test_a_new_client_certificate_gets_new_connections() -> None:
    """An exec plugin may give another one at any renewal; connections of the old one stay with it."""
    backend = HttpBackend("http://127.0.0.1:9")
    pool = backend._connected()
    assert backend._connected() is pool
    backend._credentials.pair = ("certificate", "key")
    renewed = backend._connected()
    assert renewed is not pool
    assert backend._connected() is renewed
