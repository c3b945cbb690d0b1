"""The audit policy decides how much of which request is logged, by the rules of kube-apiserver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.cluster.users import User
from kontend.serve.audit_log import AuditLog, object_reference
from kontend.serve.audit_policy import AuditPolicy, BadPolicy, Level, Treatment, read_policy
from kontend.serve.background import BackgroundServer
from serve.wire import CONFIG_MAPS, Client, config_map

_EVE = User("eve", ("system:masters", "system:authenticated"))


def _policy(*rules: dict[str, Any], **fields: Any) -> AuditPolicy:
    document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **fields}
    return read_policy(json.dumps(document).encode())


def _level(rule: dict[str, Any], path: str, verb: str = "get") -> Level:
    return _policy({"level": "Metadata", **rule}).of(_EVE, path, verb, object_reference(path)).level


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"users": ["adam", "eve"]},
        {"userGroups": ["system:masters"]},
        {"verbs": ["get"]},
        {"namespaces": ["a"]},
        {"resources": [{"resources": ["*"]}]},
        {"resources": [{"group": "apps"}, {}]},
        {"resources": [{"resources": ["pods/*"], "resourceNames": ["p"]}]},
        {"resources": [{"resources": ["pods/status"]}]},
        {"resources": [{"resources": ["*/status"]}]},
    ],
)
def test_a_rule_matches_what_it_names(rule: dict[str, Any]) -> None:
    assert _level(rule, "/api/v1/namespaces/a/pods/p/status") is Level.METADATA


@pytest.mark.parametrize(
    "rule",
    [
        {"users": ["adam"]},
        {"userGroups": ["eve"]},
        {"verbs": ["update"]},
        {"namespaces": ["b"]},
        {"resources": [{"resources": ["pods"]}]},
        {"resources": [{"resources": ["*/scale"]}]},
        {"resources": [{"group": "apps", "resources": ["*"]}]},
        {"resources": [{"resources": ["pods/status"], "resourceNames": ["q"]}]},
        {"nonResourceURLs": ["*"]},
    ],
)
def test_a_request_that_no_rule_names_is_not_logged(rule: dict[str, Any]) -> None:
    assert _level(rule, "/api/v1/namespaces/a/pods/p/status") is Level.NONE


@pytest.mark.parametrize(
    ("urls", "level"), [(["/healthz*"], Level.METADATA), (["/healthz"], Level.NONE), (["*"], Level.METADATA)]
)
def test_urls_without_a_resource_match_whole_or_up_to_a_star(urls: list[str], level: Level) -> None:
    assert _level({"nonResourceURLs": urls}, "/healthz/ping") is level


def test_the_first_rule_that_matches_decides() -> None:
    secrets = {"level": "Metadata", "resources": [{"resources": ["secrets"]}]}
    policy = _policy(
        secrets, {"level": "RequestResponse", "omitStages": ["ResponseStarted"], "omitManagedFields": True}
    )
    for path, treatment in {
        "/api/v1/secrets": Treatment(Level.METADATA, frozenset(), False),
        "/api/v1/pods": Treatment(Level.REQUEST_RESPONSE, frozenset({"ResponseStarted"}), True),
    }.items():
        assert policy.of(_EVE, path, "list", object_reference(path)) == treatment


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "expected"),
        ("kind: Policy", "expected a document of apiVersion audit.k8s.io/v1"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy", "rules: a policy without rules would log nothing"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]", r"rules\[0\].level: expected one of None"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, verb: [a]}]", "unknown field 'verb'"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, verbs: a}]", "verbs: expected a list"),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, omitStages: [End]}]",
            "omitStages: expected stages of Panic",
        ),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, namespaces: [a], nonResourceURLs: [b]}]",
            "nonResourceURLs cannot be combined",
        ),
    ],
)
def test_a_policy_that_is_none_is_refused_at_its_place(text: str, said: str) -> None:
    with pytest.raises(BadPolicy, match=said):
        read_policy(text.encode())


def test_events_hold_what_their_level_says(tmp_path: Path) -> None:
    policy = _policy(
        {"level": "None", "verbs": ["delete"]},
        {"level": "Metadata", "verbs": ["list"]},
        {"level": "Request", "verbs": ["update"]},
        {"level": "RequestResponse", "omitManagedFields": True},
    )
    path = tmp_path / "audit.log"
    server = BackgroundServer(Cluster().state, audit_log=AuditLog(path, policy))
    with Client(server.url) as client:
        client.send("POST", CONFIG_MAPS, config_map("c", a="1"))
        client.send("PUT", f"{CONFIG_MAPS}/c", config_map("c", a="2"))
        client.get(CONFIG_MAPS)
        client.send("DELETE", f"{CONFIG_MAPS}/c")
    server.stop()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    held = [(event["verb"], event["level"], "requestObject" in event, "responseObject" in event) for event in events]
    assert held == [
        ("create", "RequestResponse", True, True),
        ("update", "Request", True, False),
        ("list", "Metadata", False, False),
    ]
    assert "managedFields" not in events[0]["responseObject"]["metadata"]
