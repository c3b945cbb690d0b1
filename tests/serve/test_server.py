"""Requests over HTTP: what is read, written, refused, and in which form it is answered."""

from __future__ import annotations

import gzip
import json
import threading

import pytest
import yaml

from kontend import Cluster
from kontend.serve.background import BackgroundServer
from kontend.serve.credentials.identity import Tokens
from kontend.serve.requests import answering, future_reads
from serve.objects import WIDGETS_PATH, widget, widgets
from serve.wire import CONFIG_MAPS, MERGE_PATCH, Client, config_map

LARGE = "x" * 200_000


def test_an_object_is_created_read_changed_and_deleted(client: Client) -> None:
    """The answers are those of the verbs; each write has a later version."""
    created = client.create("c", a="1")
    assert created.code == 201
    assert client.get(f"{CONFIG_MAPS}/c").json == created.json
    patched = client.patch("c", a="2")
    assert patched.json["data"] == {"a": "2"}
    assert int(patched.json["metadata"]["resourceVersion"]) > int(created.json["metadata"]["resourceVersion"])
    assert client.send("DELETE", f"{CONFIG_MAPS}/c").json["status"] == "Success"
    assert client.get(f"{CONFIG_MAPS}/c").json["reason"] == "NotFound"


def test_a_refused_write_is_answered_with_a_status(client: Client) -> None:
    """In the server's words."""
    client.create("c")
    answer = client.create("c")
    assert (answer.code, answer.json["message"]) == (409, 'configmaps "c" already exists')


def test_an_unknown_path_is_no_page(client: Client) -> None:
    """Text, not a Status."""
    answer = client.get("/nothing")
    assert (answer.code, answer.raw, answer.headers["Content-Type"]) == (
        404,
        b"404 page not found\n",
        "text/plain; charset=utf-8",
    )


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/livez/ping"])
def test_the_server_says_that_it_is_well(client: Client, path: str) -> None:
    """As health checks ask, whatever their method."""
    assert client.get(path).raw == client.send("POST", path).raw == b"ok"


def test_health_can_be_told_in_detail(client: Client) -> None:
    """One line a check."""
    assert client.get("/readyz?verbose").raw.endswith(b"readyz check passed\n")


@pytest.mark.kontend(crds=[widgets()])
def test_the_index_names_the_paths_that_are_served(client: Client) -> None:
    """Groups of custom resources among them."""
    assert {"/api/v1", "/apis/apps/v1", "/apis/example.com/v1"} <= set(client.get("/").json["paths"])


def test_answers_come_as_yaml_when_asked(client: Client) -> None:
    """Errors too."""
    client.create("c", a="1")
    answer = client.get(f"{CONFIG_MAPS}/c", Accept="application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(answer.raw)["data"] == {"a": "1"}
    refused = client.get(f"{CONFIG_MAPS}/d", Accept="application/yaml")
    assert yaml.safe_load(refused.raw)["reason"] == "NotFound"


def test_a_body_may_be_yaml(client: Client) -> None:
    """As kubectl may send it."""
    body = yaml.safe_dump(config_map("c", a="1")).encode()
    assert client.send("POST", CONFIG_MAPS, body, Content_Type="application/yaml").code == 201


@pytest.mark.parametrize(
    ("path", "agent", "pretty"),
    [
        ("", "curl/8", True),
        ("", "kubectl/v1", False),
        ("?pretty=true", "kubectl/v1", True),
        ("?pretty=0", "curl/8", False),
    ],
)
def test_people_get_indented_answers(client: Client, path: str, agent: str, pretty: bool) -> None:
    """They ask for it, or use a tool that people look at."""
    raw = client.get(f"/api/v1/namespaces/default{path}", User_Agent=agent).raw
    assert (b"\n  " in raw) == pretty


def test_warnings_are_headers(client: Client) -> None:
    """With quotes escaped."""
    answer = client.send("POST", CONFIG_MAPS, {**config_map("c"), "nonsense": 1})
    assert answer.headers.get_all("Warning") == ['299 - "unknown field \\"nonsense\\""']


def test_large_answers_are_compressed_when_the_client_takes_it(client: Client) -> None:
    """Small ones are not, and nobody else's are."""
    client.create("c", a=LARGE)
    packed = client.get(f"{CONFIG_MAPS}/c", Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    plain = client.get(f"{CONFIG_MAPS}/c")
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.raw) == plain.raw
    assert "Content-Encoding" not in client.get("/version", Accept_Encoding="gzip").headers


def test_a_body_may_be_compressed(client: Client) -> None:
    """And one that is not what it says is refused; other encodings mean nothing, as in kube-apiserver."""
    body = gzip.compress(json.dumps(config_map("c", a="1")).encode())
    assert client.send("POST", CONFIG_MAPS, body, Content_Encoding="gzip").code == 201
    assert client.send("POST", CONFIG_MAPS, body[:-9], Content_Encoding="gzip").code == 400
    assert client.send("POST", CONFIG_MAPS, b"plain", Content_Encoding="gzip").code == 400
    assert client.send("POST", CONFIG_MAPS, config_map("d"), Content_Encoding="br").code == 201


def test_a_compressed_body_that_unpacks_to_too_much_is_refused(client: Client) -> None:
    """Without unpacking all of it."""
    body = gzip.compress(b"0" * 50_000_000)
    assert client.send("POST", CONFIG_MAPS, body, Content_Encoding="gzip").code == 413


def test_a_body_beyond_the_limit_is_refused(client: Client) -> None:
    """With the server's status; up to the limit it is read."""
    answer = client.send("POST", CONFIG_MAPS, b"0" * (3 * 1024 * 1024 + 1))
    assert (answer.code, answer.json["message"]) == (413, "Request entity too large: limit is 3145728")
    assert client.send("POST", CONFIG_MAPS, b" " * (3 * 1024 * 1024)).code == 400


def test_a_very_large_body_is_refused_and_the_client_hears_of_it(client: Client) -> None:
    """The rest of it is read, so that the answer is not lost."""
    assert client.send("POST", CONFIG_MAPS, b"0" * 20_000_000).code == 413


@pytest.mark.kontend(crds=[widgets()], objects=[widget()])
def test_head_works_where_kube_apiserver_lets_it(client: Client) -> None:
    """For custom resources and health, not for what is built in."""
    full = client.get(f"{WIDGETS_PATH}/w")
    answer = client.send("HEAD", f"{WIDGETS_PATH}/w")
    assert (answer.code, answer.raw, answer.headers["Content-Length"]) == (200, b"", full.headers["Content-Length"])
    assert client.send("HEAD", "/healthz").code == 200
    assert client.send("HEAD", "/api/v1/namespaces/default").code == 405
    assert client.send("OPTIONS", "/api/v1/namespaces/default").code == 405


def test_every_answer_has_an_audit_id(client: Client) -> None:
    """The client's own, or one that no other has."""
    first, second = (client.get("/version").headers["Audit-Id"] for _ in range(2))
    assert first != second
    assert client.get("/version", Audit_Id="mine").headers["Audit-Id"] == "mine"


def test_unknown_tokens_are_refused() -> None:
    """And so is no token; a known one names the user."""
    with (
        BackgroundServer(Cluster().state, tokens=Tokens.parse(["ann=s3cret"])) as running,
        Client(running.url) as client,
    ):
        for headers in ({}, {"Authorization": "Bearer guess"}, {"Authorization": "Basic s3cret"}):
            answer = client.get("/api/v1/namespaces", **headers)
            assert (answer.code, answer.json["reason"]) == (401, "Unauthorized")
        assert client.get("/api/v1/namespaces", Authorization="Bearer s3cret").code == 200
        assert client.get("/livez").raw == b"ok"  # a probe has no token
        assert client.get("/livez", Authorization="Bearer guess").code == 401
        assert "s3cret" in running.kubeconfig.read_text()


def test_a_read_only_server_refuses_writes() -> None:
    """But not reads, and not what would change nothing."""
    with BackgroundServer(Cluster().state, read_only=True) as running, Client(running.url) as client:
        answer = client.create("c")
        assert (answer.code, answer.json["reason"]) == (403, "Forbidden")
        assert client.send("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("c")).code == 201
        assert client.get(CONFIG_MAPS).json["items"] == []


def test_a_list_waits_for_a_version_that_comes(kontend_server: BackgroundServer, client: Client) -> None:
    """And has it then."""
    version = int(client.create("c").json["metadata"]["resourceVersion"])
    lists = []

    def read() -> None:
        with Client(kontend_server.url) as other:
            lists.append(other.get(f"{CONFIG_MAPS}?resourceVersion={version + 1}").json)

    reader = threading.Thread(target=read)
    reader.start()
    while not kontend_server.call(lambda: kontend_server.server.waiting):
        pass
    client.patch("c", a="2")
    reader.join()
    assert [item["data"] for item in lists[0]["items"]] == [{"a": "2"}]


def test_a_list_of_a_version_that_does_not_come_times_out(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 504 and the cause that clients look for."""
    monkeypatch.setattr(future_reads, "FRESHNESS_WAIT", 0.05)
    answer = client.get(f"{CONFIG_MAPS}?resourceVersion=100000")
    assert answer.code == 504
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.headers["Retry-After"] == "1"


def test_the_user_agent_is_the_field_manager(client: Client) -> None:
    """The request names none."""
    created = client.send("POST", CONFIG_MAPS, config_map("c", a="1"), User_Agent="my-operator/v1.2 (linux)")
    assert created.json["metadata"]["managedFields"][0]["manager"] == "my-operator"


def test_patch_of_a_status_leaves_the_rest(kontend_server: BackgroundServer, client: Client) -> None:
    """The cluster in Python sees the writes of a client, and the other way round."""
    kontend_server.cluster.create(widgets())
    kontend_server.cluster.create(widget(size=3))
    client.send("PATCH", f"{WIDGETS_PATH}/w/status", {"status": {"phase": "Ready"}}, Content_Type=MERGE_PATCH)
    patched = kontend_server.cluster.get("Widget.example.com/v1", "w")
    assert (patched["spec"], patched["status"]) == ({"size": 3}, {"phase": "Ready"})


def test_a_bug_in_the_server_is_answered_and_told(
    kontend_server: BackgroundServer, client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The client gets kube-apiserver's words, the operator the traceback, and the server goes on."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(answering, "handle_lazily", broken)
        assert client.get(CONFIG_MAPS).code == 500
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert client.get(CONFIG_MAPS).code == 200
    assert kontend_server.server.connections == 1
