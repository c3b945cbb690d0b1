"""Terminals: ``inspect`` and the progress of ``explore``, in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from kontend.report.archive import write_archive
from report.documents import lost_update

ROOT = Path(__file__).parent.parent.parent


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, directory: Path, columns: int = 120) -> None:
        self._terminal, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "kontend.cli", *arguments]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=directory, env=environment, start_new_session=True
        )
        os.close(slave)
        self.text = ""

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def until(self, pattern: str, seconds: float = 60) -> bool:
        """Read until something is shown, or the program ends."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text) and time.monotonic() < deadline:
            ready, _, _ = select.select([self._terminal], [], [], 0.2)
            if not ready:
                if self.process.poll() is not None:
                    break
                continue
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the program has ended
                break
            self.text += data.decode(errors="replace")
        return bool(re.search(pattern, self.text))

    def close(self) -> int:
        """Wait for the end, or bring it about."""
        try:
            self.until("^never$", 20)
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            os.close(self._terminal)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The archive of a lost update."""
    return write_archive(tmp_path, lost_update())


def test_inspect_in_a_terminal_is_plain_text(archive: Path, tmp_path: Path) -> None:
    """The same as in a pipe."""
    terminal = Terminal("inspect", str(archive), directory=tmp_path)
    assert terminal.close() == 0
    piped = subprocess.run(
        [sys.executable, "-m", "kontend.cli", "inspect", str(archive)], capture_output=True, text=True, check=True
    )
    assert terminal.text.replace("\r\n", "\n") == piped.stdout


@pytest.mark.parametrize("columns", [40, 72])
def test_an_explanation_fits_a_narrow_terminal(archive: Path, tmp_path: Path, columns: int) -> None:
    """No line is cut by the terminal in the middle of a word, and no word is lost."""
    terminal = Terminal("inspect", str(archive), directory=tmp_path, columns=columns)
    assert terminal.close() == 0
    lines = terminal.text.replace("\r\n", "\n").splitlines()
    assert max(map(len, lines)) <= columns
    piped = subprocess.run(
        [sys.executable, "-m", "kontend.cli", "inspect", str(archive)], capture_output=True, text=True, check=True
    )
    assert "".join(terminal.text.split()) == "".join(piped.stdout.split())


SLOW = """
import copy
from kontend import Controller, Guards, merge_from
from kontend.explore import Bounds, Scenario

class Counter(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request, api):
        found = await api.get(self.kind, request)
        for name in "abc":
            base = copy.deepcopy(found)
            found.setdefault("data", {})[name] = "1"
            await api.patch(found, merge_from(base))

scenario = Scenario(
    controllers=[Counter()],
    objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n}} for n in "xyz"],
    bounds=Bounds(lag=2, concurrent=2, faults=2, seconds=2),
)
"""


def test_the_progress_of_a_search_shows_in_a_terminal(tmp_path: Path) -> None:
    """States, rate, frontier, depth, perturbations, memory, violations and the time left; then it is cleared."""
    (tmp_path / "slow.py").write_text(SLOW)
    terminal = Terminal("explore", "slow.py", "--one-process", directory=tmp_path)
    shown = (
        r"[\d,]+ states, [\d,]+/s, [\d,]+ to expand, depth \d+, \d+ perturbations?, [\d,]+ MiB, "
        r"\d+ violations?, \d+ s left"
    )
    try:
        assert terminal.until(shown), terminal.text
    finally:
        terminal.close()
    assert "\r\x1b[K" in terminal.text


def test_the_progress_of_a_search_stays_in_one_line_of_a_narrow_terminal(tmp_path: Path) -> None:
    """The important parts first: states, violations, and what is left of the time."""
    (tmp_path / "slow.py").write_text(SLOW)
    terminal = Terminal("explore", "slow.py", "--one-process", directory=tmp_path, columns=40)
    try:
        assert terminal.until(r"[\d,]+ states, .*\d+ violations?, \d+ s left\x1b"), terminal.text
    finally:
        terminal.process.kill()
        terminal.close()
    lines = re.findall(r"\r([^\r\n\x1b]*)\x1b\[K", terminal.text)
    assert lines
    assert max(map(len, lines)) < 40


def test_no_progress_is_shown_in_a_pipe(tmp_path: Path) -> None:
    """Logs of CI stay readable."""
    (tmp_path / "slow.py").write_text(SLOW.replace("seconds=2", "seconds=1"))
    done = subprocess.run(
        [sys.executable, "-m", "kontend.cli", "explore", "slow.py", "--one-process"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "to expand" not in done.stderr + done.stdout
