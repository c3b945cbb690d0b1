"""A controller with a webhook server: user actions wait for its answers, and are repeated when it was down."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path

import pytest

from kontend import Cluster
from kontend.live.gate.perturbation import Down
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening
from kontend.live.process.command import free_port
from kontend.live.process.quiescence import Rest
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.runs.workload import UserAction
from kontend.serve.credentials.tls import certificates
from live.conftest import explore, python, setting

WIDGET = {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}


@pytest.fixture
def hooked(tmp_path: Path) -> Setting:
    made, port = certificates("127.0.0.1"), free_port()
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.key)
    command = python("hooked.py", str(port), str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    given = setting(command, "plain.yaml")
    cluster = Cluster(state=given.workload.state)
    rule = {"apiGroups": ["live.kontend.dev"], "apiVersions": ["v1"], "resources": ["widgets"]}
    where = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(made.ca).decode()}
    cluster.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "hooked"},
            "webhooks": [
                {
                    "name": "hooked.live.kontend.dev",
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "rules": [{**rule, "operations": ["CREATE", "UPDATE"]}],
                    "clientConfig": where,
                }
            ],
        }
    )
    return replace(given, workload=replace(given.workload, state=cluster.state))


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


def test_an_action_that_the_webhook_refuses_is_refused(hooked: Setting) -> None:
    large = UserAction("patch", {**WIDGET, "spec": {"size": 9}})
    first = hooked.workload.actions[0]
    run = asyncio.run(carry_out(replace(hooked, workload=replace(hooked.workload, actions=(first, large))), Plan(())))
    assert 'refused: admission webhook "hooked.live.kontend.dev" denied the request' in acts(run)[1]


def test_the_controller_is_explored_like_others(hooked: Setting) -> None:
    verdict = explore(hooked, only="right after")
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed >= 2
