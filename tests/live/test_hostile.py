"""Processes that misbehave: a clear message, no process left behind, no hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kontend.live.baseline import Unusable
from kontend.live.process.command import free_port
from kontend.live.process.process import CannotStart, Output
from kontend.live.process.processes import MARK
from live.conftest import HERE, explore, python, setting


def left_behind() -> list[str]:
    """The processes that a run has started and not killed."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}=".encode() in (entry / "environ").read_bytes() and (entry / "cmdline").read_bytes():
                found.append((entry / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return [each for each in found if "hostile.py" in each or "time.sleep(600)" in each]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> object:
    yield
    assert left_behind() == []


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CannotStart, match=r"/no/such/manager: No such file or directory"):
        explore(setting(["/no/such/manager"]))


def test_a_process_that_exits_at_once_is_reported_with_its_output() -> None:
    with pytest.raises(Unusable, match=r"exited with code 7 before it was idle(.|\n)*no license"):
        explore(setting(python("hostile.py", "exit")))


def test_a_process_that_talks_to_another_server() -> None:
    with pytest.raises(Unusable, match=r"made no request within 2 s. KUBECONFIG is set for it"):
        explore(setting(python("hostile.py", "elsewhere"), limit=2.0))


@pytest.mark.parametrize("way", ["sigterm", "fork", "flood"])
def test_processes_that_are_hard_to_stop_are_explored_like_others(way: str) -> None:
    verdict = explore(setting(python("hostile.py", way), "plain.yaml"), only="crash after create")
    assert verdict.ok, list(verdict.lines())
    assert verdict.executed == 1


def test_a_process_that_never_stops_writing_never_settles() -> None:
    verdict = explore(setting(python("hostile.py", "write"), limit=2.0))
    assert [each.property for each in verdict.baseline.findings] == ["never settles"]
    assert "patch configmaps default/c" in verdict.baseline.findings[0].sentence


def test_polling_does_not_count_as_work() -> None:
    verdict = explore(setting(python("hostile.py", "poll"), "plain.yaml", limit=3.0), only="crash after")
    assert verdict.ok, list(verdict.lines())
    assert verdict.baseline.notes == ("polls, which does not count as work: list widgets.live.kontend.dev",)
    assert verdict.executed == 1


def test_a_fixed_port_is_named_as_the_reason_why_there_is_no_hand_over() -> None:
    port = str(free_port())
    verdict = explore(setting(python("hostile.py", "bind", port), "plain.yaml"), only="taken over")
    assert not verdict.violations
    assert any("binds a fixed port; put {port} in its place" in note for note in verdict.notes)


def test_a_free_port_for_each_instance() -> None:
    verdict = explore(setting(python("hostile.py", "bind", "{port}"), "plain.yaml"), only="create configmaps")
    assert verdict.ok, list(verdict.lines())
    assert not verdict.notes


def test_the_middle_of_a_long_output_is_left_out() -> None:
    output = Output()
    for number in range(2000):
        output.add(f"line {number} {'x' * 1000}\n".encode())
    text = output.text()
    assert text.startswith("line 0 ")
    assert "bytes left out" in text
    assert "line 1999" in output.last_lines()
    assert len(text) < 1 << 20


def test_an_interrupted_command_leaves_nothing_behind() -> None:
    command = [sys.executable, "-m", "kontend.cli", "live", "--crds", str(HERE / "crds.yaml"), "--"]
    running = subprocess.Popen(
        [*command, *python("hostile.py", "write")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    while not left_behind():
        assert running.poll() is None
    running.terminate()
    _, errors = running.communicate(timeout=20)
    assert running.returncode == 130
    assert b"Traceback" not in errors
