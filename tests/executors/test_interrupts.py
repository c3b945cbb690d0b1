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

from executors.engines import WORKERS, marked_processes, needs, needs_proc, project

#: The seconds for what takes five on a machine that does nothing else.
_PATIENCE = 300.0


@needs_proc
@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_ctrl_c_leaves_nothing_running(engine: str, tmp_path: Path) -> None:
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
    deadline = time.monotonic() + _PATIENCE
    while not any(WORKERS[engine] in command for command in marked_processes(mark).values()):
        assert search.poll() is None, search.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(search.pid, signal.SIGINT)
    out, err = search.communicate(timeout=_PATIENCE)
    assert search.returncode in (1, 3, 130), err
    assert out.startswith("{") == (search.returncode != 130)
    while marked_processes(mark):
        assert time.monotonic() < deadline, marked_processes(mark)
        time.sleep(0.1)
