"""Interruptions of ``kontend explore``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kontend.cli.exploring.interrupts import Interrupts

_TWO_LARGE = """
from kontend import Api, Controller, Request
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd


class Counters(Controller):
    kind = "Counter.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        for number in range(6):
            metadata = {"name": f"{request.name}-{number}", "namespace": request.namespace}
            await api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})


COUNTERS = [
    {"apiVersion": "example.com/v1", "kind": "Counter", "metadata": {"name": name, "namespace": "default"}}
    for name in ("a", "b", "c")
]
CRDS = [permissive_crd("Counter.example.com/v1")]
first = Scenario([Counters()], crds=CRDS, objects=COUNTERS, bounds=Bounds(lag=3, concurrent=3, faults=3, crashes=3))
second = Scenario([Counters()], crds=CRDS, objects=COUNTERS, bounds=Bounds(lag=3, concurrent=3, faults=3, crashes=3))
"""


def test_an_interruption_that_somebody_caught_is_remembered() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        assert not interrupts.came
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert interrupts.came
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupted_exploration_shows_its_verdict_and_begins_no_other_scenario(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    file = tmp_path / "large.py"
    file.write_text(_TWO_LARGE)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kontend.cli", "explore", str(file), "--one-process", "--failures", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while b"to expand" not in shown:
        shown += os.read(ours, 10_000)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    shown += os.read(ours, 10_000)
    os.close(ours)
    assert process.returncode == 3
    assert out.startswith("first:\nundecided: ")
    assert "it was interrupted" in out
    assert "second:" not in out
    assert "kontend explore: interrupted; not explored: second" in shown.decode()
