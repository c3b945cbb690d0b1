"""A search on Ray or Dask whose own process is killed goes on from its checkpoint, and ends with the same bytes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.engines import WORKERS, marked_processes, needs_proc, project
from kontend.cli import main
from kontend.explore.shards import sharded

pytestmark = pytest.mark.filterwarnings("ignore")

#: The seconds for what takes five on a machine that does nothing else.
_PATIENCE = 240.0


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes that a test starts. All of them have ended afterwards."""
    text = uuid.uuid4().hex
    yield text
    for process in marked_processes(text):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _options(file: Path, states: int, *options: str) -> list[str]:
    found = ["--one-process", "--output-format", "json", "--failures", "found"]
    return ["explore", str(file), "--states", str(states), *found, *options]


def _kill_in_the_middle(search: subprocess.Popen[bytes], engine: str, mark: str, journals: Path) -> None:
    """Kill a search after its workers have expanded states that are in the journal."""
    deadline = time.monotonic() + _PATIENCE

    def size() -> int:
        assert search.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
        return sum(path.stat().st_size for path in journals.glob("*.journal"))

    while not any(WORKERS[engine] in command for command in marked_processes(mark).values()):
        size()
    before = size()
    while size() <= before:
        pass
    search.kill()
    search.wait()


def _explored(capsys: pytest.CaptureFixture[str], options: list[str]) -> tuple[int, str, dict[str, bytes]]:
    code = main(options)
    files = {path.name: path.read_bytes() for path in sorted(Path("found").iterdir())}
    return code, capsys.readouterr().out, files


@needs_proc
@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_search_whose_process_is_killed_goes_on_with_the_same_bytes(
    engine: str,
    mark: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request.getfixturevalue(engine)
    file = project(tmp_path)
    monkeypatch.chdir(tmp_path)
    remote = ["--jobs", "2", "--executor", engine, "--checkpoint", "state"]
    # It has no end of its own before it is killed, whatever else the machine does.
    search = subprocess.Popen(
        [sys.executable, "-m", "kontend", *_options(file, 1_000_000, *remote)],
        env={**os.environ, "KONTEND_MARK": mark},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _kill_in_the_middle(search, engine, mark, tmp_path / "state")
    finally:
        search.kill()
        search.wait()
    monkeypatch.setattr(sharded, "ENOUGH", 2)
    resumed = _explored(capsys, _options(file, 1_500, *remote))
    assert resumed[0] == 1
    assert resumed == _explored(capsys, _options(file, 1_500))
