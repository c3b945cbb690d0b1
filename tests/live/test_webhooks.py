"""A controller with a webhook server: user actions wait for its answers, and are repeated when it was down."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.cluster.startup.manifests import Manifest
from kontend.live.gate.perturbation import Down
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening
from kontend.live.process.command import free_port
from kontend.live.process.quiescence import Rest
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.runs.webhooks import DEFAULT_DIRECTORY, Webhooks
from kontend.live.runs.workload import UserAction
from kontend.serve.credentials.tls import certificates
from live.conftest import can_mount, explore, python, setting

WIDGET = {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}


def configuration(where: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the webhook of hooked.py."""
    rule = {"apiGroups": ["live.kontend.dev"], "apiVersions": ["v1"], "resources": ["widgets"]}
    webhook = {
        "name": "hooked.live.kontend.dev",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{**rule, "operations": ["CREATE", "UPDATE"]}],
        "clientConfig": where,
    }
    meta = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**meta, "metadata": {"name": "hooked"}, "webhooks": [webhook]}


def with_object(given: Setting, obj: Mapping[str, Any]) -> Setting:
    cluster = Cluster(state=given.workload.state)
    cluster.create(obj)
    return replace(given, workload=replace(given.workload, state=cluster.state))


@pytest.fixture
def hooked(tmp_path: Path) -> Setting:
    made, port = certificates("127.0.0.1"), free_port()
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.key)
    command = python("hooked.py", str(port), str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    where = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(made.ca).decode()}
    return with_object(setting(command, "plain.yaml"), configuration(where))


def behind_service(directory: str) -> Setting:
    """The same webhook behind a Service, with generated certificates that the command reads from a directory."""
    obj = configuration({"service": {"name": "hooks", "namespace": "system", "path": "/"}, "caBundle": "Cg=="})
    webhooks = Webhooks.made_for("{port}", [obj])
    command = python("hooked.py", "{port}", f"{directory}/tls.crt", f"{directory}/tls.key")
    given = with_object(setting(command, "plain.yaml"), webhooks.trusted(Manifest(obj, "")).obj)
    return replace(given, webhooks=webhooks)


def acts(run: Run) -> list[str]:
    """The actions of the user, in words."""
    return [record.text for record in run.log.records if isinstance(record, Happening) and record.action == "act"]


def test_actions_wait_for_the_webhook_and_are_repeated_when_it_was_down(hooked: Setting) -> None:
    run = asyncio.run(carry_out(hooked, Plan((Down(1, 2),))))
    assert run.rest is Rest.IDLE
    assert acts(run) == ["user creates Widget default/w", "user changes Widget default/w: spec"]
    (widget,) = Cluster(state=run.final).list("Widget.live.kontend.dev/v1")
    assert widget["metadata"]["labels"] == {"hooked": "yes"}
    assert widget["status"]["size"] == 2


def sizes(run: Run) -> tuple[dict[str, str], int]:
    (widget,) = Cluster(state=run.final).list("Widget.live.kontend.dev/v1")
    return widget["metadata"]["labels"], widget["status"]["size"]


def test_the_service_of_a_webhook_leads_to_the_process_which_finds_a_certificate_for_it() -> None:
    run = asyncio.run(carry_out(behind_service("{certs}"), Plan((Down(1, 2),))))
    assert run.rest is Rest.IDLE
    assert sizes(run) == ({"hooked": "yes"}, 2)


@pytest.mark.skipif(not can_mount(), reason="no mount namespaces on this machine")
def test_the_certificate_is_where_controller_runtime_looks_for_it() -> None:
    run = asyncio.run(carry_out(behind_service(DEFAULT_DIRECTORY), Plan(())))
    assert sizes(run) == ({"hooked": "yes"}, 2)
    assert not [*Path(DEFAULT_DIRECTORY).iterdir()]


def test_runs_with_a_fixed_port_take_turns() -> None:
    """The server of one run would call the process of another."""
    port = str(free_port())
    given = behind_service("{certs}")
    assert given.webhooks is not None
    command = given.command.with_text("{port}", port)
    given = replace(given, command=command, webhooks=replace(given.webhooks, port=port))
    verdict = explore(given, only="crash after", jobs=4)
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed >= 2
    assert any(note.startswith("one run at a time") for note in verdict.notes)


def test_the_files_follow_the_secret_whose_certificate_is_for_the_service(tmp_path: Path) -> None:
    given = behind_service("{certs}")
    assert given.webhooks is not None
    other, another = (certificates("127.0.0.1", names=[f"{name}.system.svc"]) for name in ("hooks", "others"))
    given.webhooks.write_files(given.workload.state, tmp_path)
    assert (tmp_path / "tls.crt").read_bytes() == given.webhooks.certificates.certificate
    for name, made in (("a", another), ("b", other)):
        files = {"tls.crt": made.certificate, "tls.key": made.key}
        data = {file: base64.b64encode(content).decode() for file, content in files.items()}
        given = with_object(given, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})
    assert given.webhooks is not None
    given.webhooks.write_files(given.workload.state, tmp_path)
    assert (tmp_path / "tls.crt").read_bytes() == other.certificate
    assert (tmp_path / "tls.key").read_bytes() == other.key


def test_a_configuration_that_trusts_somebody_is_left_alone() -> None:
    service, bundle = {"name": "hooks", "namespace": "system"}, base64.b64encode(b"theirs").decode()
    obj = configuration({"service": service, "caBundle": bundle})
    assert Webhooks.made_for("9443", [obj]).trusted(Manifest(obj, "")).obj == obj


def test_the_webhook_of_conversions_is_trusted_too() -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "h", "namespace": "s"}}}}
    made = Webhooks.made_for("9443", [{"spec": {"conversion": conversion}}])
    given = made.trusted(Manifest({"spec": {"conversion": conversion, "group": "g"}}, "")).obj
    config = given["spec"]["conversion"]["webhook"]["clientConfig"]
    assert base64.b64decode(config["caBundle"]) == made.certificates.ca
    assert given["spec"]["group"] == "g"


def test_an_action_that_the_webhook_refuses_is_refused(hooked: Setting) -> None:
    large = UserAction("patch", {**WIDGET, "spec": {"size": 9}})
    first = hooked.workload.actions[0]
    run = asyncio.run(carry_out(replace(hooked, workload=replace(hooked.workload, actions=(first, large))), Plan(())))
    assert 'refused: admission webhook "hooked.live.kontend.dev" denied the request' in acts(run)[1]


def test_the_controller_is_explored_like_others(hooked: Setting) -> None:
    verdict = explore(hooked, only="right after")
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed >= 2
