"""Ctrl-C ends a search with what it has found, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from executors.engines import needs, project


def _processes(mark: str) -> list[str]:
    """The commands of all processes with a mark in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(("engine", "worker"), [("ray", "ray::RemoteShard"), ("dask", "spawn_main")])
def test_ctrl_c_leaves_nothing_running(engine: str, worker: str, tmp_path: Path) -> None:
    needs(engine)
    mark = uuid.uuid4().hex
    file = project(tmp_path, states=1_000_000)
    command = [sys.executable, "-m", "kontend", "explore", str(file), "--one-process", "--failures", str(tmp_path)]
    search = subprocess.Popen(
        [*command, "--jobs", "2", "--executor", engine, "--output-format", "json"],
        env={**os.environ, "KONTEND_MARK": mark},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not any(worker in command for command in _processes(mark)):
        assert search.poll() is None, search.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(search.pid, signal.SIGINT)
    out, err = search.communicate(timeout=120)
    assert search.returncode in (1, 3, 130), err
    assert out.startswith("{") == (search.returncode != 130)
    while _processes(mark):
        assert time.monotonic() < deadline, _processes(mark)
        time.sleep(0.1)
