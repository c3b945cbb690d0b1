"""RabbitMQ's cluster operator 1.6.0, unmodified: its issue 648. Version 1.8.0 has the fix.

A restarted operator that sees the deleted cluster of the same name in an old list deletes the StatefulSet of the new
one.
Sieve found it with two API servers and a test that was written for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kontend.cli.live.options import parser, setting_of
from kontend.live.runs.setting import Setting
from live.conftest import HERE, can_mount, explore

PLANS = "onto a list of rabbitmqclusters.rabbitmq.com that is 3 changes old"
pytestmark = pytest.mark.skipif(not can_mount(), reason="no mount namespaces on this machine")


def rabbitmq(version: str) -> Setting:
    """The operator where tools/build_clients.py puts it."""
    directory = Path.home() / ".cache" / "kontend" / f"rabbitmq1-{version}"
    if not directory.exists():
        pytest.skip(f"RabbitMQ's operator {version} is not built: run make operators")
    files = ("--actions", HERE / "rabbitmq" / "recreate.yaml", "--pod-exec", HERE / "rabbitmq" / "pods.yaml")
    flags = ("--controllers", "--pods", "--in-cluster", "--env", "OPERATOR_NAMESPACE=default")
    options = parser().parse_args(["--crds", str(directory / "crds"), *map(str, files), *flags])
    return setting_of(options, [str(directory / "rabbitmq1"), "--metrics-addr=127.0.0.1:{port}"])


def test_an_old_list_lets_the_operator_delete_the_stateful_set_of_the_new_cluster() -> None:
    verdict = explore(rabbitmq("v1.6.0"), only=f"restart after action 3 {PLANS}", confirmations=1, shrinks=0, jobs=2)
    lines = "\n".join(verdict.lines())
    assert [violation.finding.property for violation in verdict.violations] == ["wrong owner"], lines
    assert "deleted StatefulSet default/hello-server" in lines


def test_the_version_with_the_fix_is_clean() -> None:
    verdict = explore(rabbitmq("v1.8.0"), only=f"restart after action 3 {PLANS}", confirmations=1, shrinks=0, jobs=2)
    assert verdict.ok, "\n".join(verdict.lines())
