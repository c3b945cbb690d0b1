"""Webhooks over HTTPS, as an operator serves them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from cluster.admission.test_webhooks import Recorder, config_map, configuration, response, sets, webhook
from cluster.effects.test_conversion import convert, widget, widgets
from serve.webhook_server import webhook_server
from serve.wire import CONFIG_MAPS, Client, process, watching

pytest.importorskip("cryptography", reason="the extra tls is not installed")
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
SERVICE = "hooks.default.svc"


def configured(client: Client, kind: str, hook: dict[str, Any], bundle: str, url: str = "") -> None:
    config = {"url": url} if url else dict(hook["clientConfig"])
    hook = {**hook, "clientConfig": {**config, "caBundle": bundle}}
    name = f"/{kind.lower()}webhookconfigurations"
    answer = client.send("POST", CONFIGURATIONS + name, configuration(kind, "hooks", hook))
    assert answer.code == 201, answer.json


def test_services_are_found_where_the_command_line_says(tmp_path: Path) -> None:
    hook = Recorder(sets("b", "2"))
    with (
        webhook_server(tmp_path, {"/set": hook}, SERVICE) as hooks,
        process("--service", f"default/hooks={hooks.url}") as server,
        Client(server.url) as client,
    ):
        configured(client, "Mutating", webhook("set"), hooks.ca_bundle)
        made = client.send("POST", CONFIG_MAPS, config_map(a="1"))
        assert (made.code, made.json["data"]) == (201, {"a": "1", "b": "2"})
        assert client.patch("c", a="3").json["data"] == {"a": "3", "b": "2"}
        assert [review["operation"] for review in hook.reviews] == ["CREATE", "UPDATE"]


def test_urls_are_called_directly_and_their_certificates_are_checked(tmp_path: Path) -> None:
    deny = Recorder(lambda review: response(review, allowed=False, status={"message": "no", "code": 403}))
    (tmp_path / "other").mkdir()
    with (
        webhook_server(tmp_path, {"/deny": deny}) as hooks,
        webhook_server(tmp_path / "other", {}) as others,
        process() as server,
        Client(server.url) as client,
    ):
        configured(client, "Validating", webhook("deny"), hooks.ca_bundle, f"{hooks.url}/deny")
        refused = client.send("POST", CONFIG_MAPS, config_map())
        assert (refused.code, refused.json["message"]) == (
            403,
            'admission webhook "deny.example.com" denied the request: no',
        )
        client.send("DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/hooks")
        configured(client, "Validating", webhook("deny"), others.ca_bundle, f"{hooks.url}/deny")
        failed = client.send("POST", CONFIG_MAPS, config_map())
        assert failed.code == 500
        assert "certificate" in failed.json["message"]
        assert failed.json["message"].startswith('Internal error occurred: failed calling webhook "deny.example.com"')


def test_a_service_that_is_nowhere_and_one_that_is_slow(tmp_path: Path) -> None:
    release = threading.Event()

    def slow(review: dict[str, Any]) -> dict[str, Any]:
        release.wait(10)
        return response(review)

    with (
        webhook_server(tmp_path, {"/slow": slow}) as hooks,
        process() as server,
        Client(server.url) as client,
    ):
        try:
            configured(client, "Mutating", webhook("set"), "")
            lost = client.send("POST", CONFIG_MAPS, config_map())
            assert "say where it is with --service default/hooks=" in lost.json["message"]
            client.send("DELETE", f"{CONFIGURATIONS}/mutatingwebhookconfigurations/hooks")
            hook = webhook("slow", timeoutSeconds=1)
            configured(client, "Mutating", hook, hooks.ca_bundle, f"{hooks.url}/slow")
            late = client.send("POST", CONFIG_MAPS, config_map())
            assert late.code == 500
            assert late.json["message"].endswith(f'Post "{hooks.url}/slow?timeout=1s": context deadline exceeded')
        finally:
            release.set()


def test_other_requests_go_on_while_a_webhook_is_asked(tmp_path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(review: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        release.wait(10)
        return response(review)

    with (
        webhook_server(tmp_path, {"/slow": slow}) as hooks,
        process() as server,
        Client(server.url) as first,
        Client(server.url) as second,
    ):
        configured(first, "Validating", webhook("slow"), hooks.ca_bundle, f"{hooks.url}/slow")
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(first.send("POST", CONFIG_MAPS, config_map())))
        waiting.start()
        assert asked.wait(10)
        assert second.get(f"{CONFIG_MAPS}/c").code == 404
        secret = second.send("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}}).json
        release.set()
        waiting.join()
        [made] = answers
        assert made.code == 201
        assert int(made.json["metadata"]["resourceVersion"]) > int(secret["metadata"]["resourceVersion"])
        assert made.json["metadata"]["uid"] != secret["metadata"]["uid"]


def test_pods_of_the_built_in_controllers_pass_through_webhooks(tmp_path: Path) -> None:
    def inject(review: dict[str, Any]) -> dict[str, Any]:
        sidecar = {"name": "side", "image": "side:1"}
        return response(review, patch=[{"op": "add", "path": "/spec/containers/-", "value": sidecar}])

    deployment = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    }
    with (
        webhook_server(tmp_path, {"/inject": inject}) as hooks,
        process("--controllers", "--pods") as server,
        Client(server.url) as client,
    ):
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        configured(client, "Mutating", webhook("inject", rules=[rule]), hooks.ca_bundle, f"{hooks.url}/inject")
        client.send("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
        ready: dict[str, list[str]] = {}
        with watching(server.url, "/api/v1/namespaces/default/pods") as events:
            for event in events:
                pod = event["object"]
                if pod["status"].get("phase") == "Running":
                    ready[pod["metadata"]["name"]] = [container["name"] for container in pod["spec"]["containers"]]
                if len(ready) == 2:
                    break
        assert list(ready.values()) == [["app", "side"], ["app", "side"]]


def test_custom_resources_are_converted_for_reads_writes_and_watches(tmp_path: Path) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    old, new = (f"/apis/example.com/{version}/namespaces/default/widgets" for version in ("v1", "v2"))
    with (
        webhook_server(tmp_path, {"/convert": convert}, SERVICE) as hooks,
        process("--service", f"default/hooks={hooks.url}") as server,
        Client(server.url) as client,
    ):
        crd = widgets()
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = hooks.ca_bundle
        assert client.send("POST", definitions, crd).code == 201
        made = client.send("POST", old, widget("v1", size="2x3"))
        assert (made.code, made.json["spec"]) == (201, {"size": "2x3"})
        assert client.get(f"{new}/w").json["spec"] == {"width": "2", "height": "3"}
        with watching(server.url, old) as events:
            assert next(events)["object"]["spec"] == {"size": "2x3"}
            client.send("POST", new, widget("v2", "x", width="4", height="5"))
            event = next(events)
            assert (event["type"], event["object"]["spec"]) == ("ADDED", {"size": "4x5"})
            client.send("DELETE", f"{old}/w")
            assert next(events)["type"] == "DELETED"
        assert [item["spec"] for item in client.get(old).json["items"]] == [{"size": "4x5"}]


def test_an_answer_that_is_far_longer_than_its_question_is_not_kept(tmp_path: Path) -> None:
    """A webhook cannot fill the memory of the server."""
    huge = Recorder(lambda review: response(review, allowed=False, status={"message": "m" * 20_000_000, "code": 403}))
    with (
        webhook_server(tmp_path, {"/huge": huge}) as hooks,
        process() as server,
        Client(server.url) as client,
    ):
        configured(client, "Validating", webhook("huge"), hooks.ca_bundle, f"{hooks.url}/huge")
        refused = client.send("POST", CONFIG_MAPS, config_map())
        assert refused.code == 500
        assert refused.json["message"].endswith("the response is longer than 16777216 bytes")
