"""The audit log says what was asked and answered, as a cluster's would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.serve.audit_log import AuditLog
from kontend.serve.background import BackgroundServer
from serve.objects import WIDGETS_PATH, widget, widgets
from serve.wire import CONFIG_MAPS, Client, config_map


class Logged:
    """A server with an audit log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.running = BackgroundServer(Cluster(crds=[widgets()]).state, audit_log=AuditLog(path))

    def events(self) -> list[dict[str, Any]]:
        """Stop, and read what was logged."""
        self.running.stop()
        return [json.loads(line) for line in self.path.read_text().splitlines()]


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Logged]:
    """A server that is stopped at the end."""
    server = Logged(tmp_path / "audit.log")
    yield server
    server.running.stop()


def test_a_create_is_logged_with_both_objects(logged: Logged) -> None:
    """Who, from where, with what, and what became of it."""
    with Client(logged.running.url) as client:
        answer = client.send("POST", CONFIG_MAPS, config_map("c", a="1"), User_Agent="me/1.0", Audit_Id="abc")
    (event,) = logged.events()
    assert event["requestReceivedTimestamp"] <= event["stageTimestamp"]
    del event["requestReceivedTimestamp"], event["stageTimestamp"]
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "abc",
        "stage": "ResponseComplete",
        "requestURI": CONFIG_MAPS,
        "verb": "create",
        "user": {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "me/1.0",
        "objectRef": {"resource": "configmaps", "namespace": "default", "name": "c", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201},
        "requestObject": config_map("c", a="1"),
        "responseObject": answer.json,
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("GET", f"{CONFIG_MAPS}/c", "get"),
        ("GET", CONFIG_MAPS, "list"),
        ("PUT", f"{CONFIG_MAPS}/c", "update"),
        ("PATCH", f"{CONFIG_MAPS}/c", "patch"),
        ("DELETE", f"{CONFIG_MAPS}/c", "delete"),
        ("DELETE", CONFIG_MAPS, "deletecollection"),
        ("GET", "/version", "get"),
    ],
)
def test_the_verb_is_that_of_kubernetes(logged: Logged, method: str, path: str, verb: str) -> None:
    """Whether it is carried out or refused."""
    with Client(logged.running.url) as client:
        client.send(method, path)
    (event,) = logged.events()
    assert event["verb"] == verb


def test_a_watch_is_logged_when_it_begins_and_when_it_ends(logged: Logged) -> None:
    """Without its events."""
    with Client(logged.running.url) as client:
        client.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    first, second = logged.events()
    assert [(each["stage"], each["verb"]) for each in (first, second)] == [
        ("ResponseStarted", "watch"),
        ("ResponseComplete", "watch"),
    ]
    assert first["auditID"] == second["auditID"]
    assert "responseObject" not in first


def test_a_refusal_is_logged_with_its_status(logged: Logged) -> None:
    """Reason and message."""
    with Client(logged.running.url) as client:
        client.get(f"{CONFIG_MAPS}/none")
        client.send("POST", WIDGETS_PATH, b"{")
        client.send("POST", WIDGETS_PATH, widget())
    missing, malformed, created = logged.events()
    assert missing["responseStatus"]["reason"] == "NotFound"
    assert malformed["responseStatus"]["code"] == 400
    assert "requestObject" not in malformed
    assert created["objectRef"]["apiGroup"] == "example.com"
