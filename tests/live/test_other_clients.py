"""Controllers on other clients: the official Python client, and a shell loop with kubectl."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kontend.live.runs.setting import Setting
from live.conftest import SUBJECTS, explore, python, setting


def one_action(given: Setting) -> Setting:
    """The same with the first action of the user only."""
    return replace(given, workload=replace(given.workload, actions=given.workload.actions[:1]))


@pytest.mark.skipif(
    importlib.util.find_spec("kubernetes") is None, reason="kubernetes is not installed (group clients)"
)
@pytest.mark.parametrize("bug", ["", "first"])
def test_the_python_client_with_list_and_watch(bug: str) -> None:
    given = one_action(setting(python("listing.py"), "plain.yaml", BUG=bug))
    verdict = explore(given, only="crash after patch", confirmations=1, shrinks=0, jobs=2)
    assert [violation.finding.property for violation in verdict.violations] == (["diverged"] if bug else []), list(
        verdict.lines()
    )
    assert verdict.executed == 1, list(verdict.lines())
    assert verdict.baseline.runs[0].watches == {"widgets.live.kontend.dev"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.skipif(os.name != "posix", reason="there is no shell")
@pytest.mark.parametrize("bug", ["", "once"])
def test_a_shell_loop_with_kubectl(bug: str, tmp_path: Path) -> None:
    given = setting([str(SUBJECTS / "loop.sh")], "plain.yaml", limit=4.0, BUG=bug, HOME=str(tmp_path))
    verdict = explore(one_action(given), only="crash after create", confirmations=1, shrinks=0)
    lines = "\n".join(verdict.lines())
    assert [violation.finding.property for violation in verdict.violations] == (["diverged"] if bug else []), lines
    assert "polls, which does not count as work: get configmaps default/w-config, get widgets" in lines
    if bug:
        assert "no step has written widgets.live.kontend.dev default/w .status" in lines
