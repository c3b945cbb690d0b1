"""The audit log says what was asked and answered, as a cluster's would."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.serve import audit_log
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
    """The client, its address, its request and the outcome."""
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
    """Both those that are carried out and those that are refused."""
    with Client(logged.running.url) as client:
        client.send(method, path)
    (event,) = logged.events()
    assert event["verb"] == verb


def test_a_watch_is_logged_when_it_begins_and_when_it_ends(logged: Logged) -> None:
    """Without its events."""
    with Client(logged.running.url) as client:
        client.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    first, second = logged.events()
    assert [(event["stage"], event["verb"]) for event in (first, second)] == [
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


def test_a_log_that_cannot_be_written_costs_no_client_its_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The events are dropped and counted, and the failure is reported once."""
    server = Logged(Path("/dev/full"))
    with Client(server.running.url) as client:
        assert [client.create(f"c{number}").code for number in range(5)] == [201] * 5
        assert client.get(CONFIG_MAPS).code == 200
        assert client.get(f"{CONFIG_MAPS}/none").code == 404
    server.running.stop()
    reported = capfd.readouterr().err
    assert reported.count("No space left on device") == 1
    assert "/dev/full: 7 events were dropped" in reported


def test_an_event_that_cannot_be_made_costs_no_client_its_answer(
    logged: Logged, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Though that would be a bug of ours."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("why")

    with monkeypatch.context() as patched, Client(logged.running.url) as client:
        patched.setattr(audit_log, "_event", broken)
        assert client.create("c").code == 201
    assert logged.events() == []
    assert "why; events are dropped" in capfd.readouterr().err


def test_a_line_that_was_written_in_part_does_not_spoil_the_next(
    logged: Logged, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As when the disk is full for a while."""
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[: max(10, len(data) - 15)])

    with Client(logged.running.url) as client:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", half)
            client.create("lost")
            client.create("lost too")
        client.create("kept")
    logged.running.stop()
    lines = logged.path.read_text().splitlines()
    assert json.loads(lines[-1])["objectRef"]["name"] == "kept"
    assert "events were dropped" in capfd.readouterr().err


def test_only_the_owner_can_read_the_log(logged: Logged, tmp_path: Path) -> None:
    """Also when others could read the file that was there before: it holds Secrets."""
    assert stat.S_IMODE(logged.path.stat().st_mode) == 0o600
    before = tmp_path / "before.log"
    before.touch(0o644)
    AuditLog(before).close()
    assert stat.S_IMODE(before.stat().st_mode) == 0o600
