"""``make fuzz`` keeps its counts when it is stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path


def test_signals_end_it_with_its_counts(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "explore.oracle.generated.fuzz", "--seconds", "600", "--limit", "5"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [*command, "--to", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "seed 0, 600 s\n"
        for _ in range(2):  # as a shell does, and `timeout` once more
            process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=120)
    assert re.match(r"interrupted\n\d+ scenarios, \d+ compared: ", printed)
    assert process.returncode == 0
