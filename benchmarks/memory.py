"""Number of states that fit into memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.objects import WIDGET, WIDGETS, widget
from benchmarks.table import row
from kontend import Cluster, State

_FORKS = 1_000_000
_LIMIT = 1.5 * 2**30


def main() -> None:
    """Print the table. The measurement runs in a process of its own, so that nothing else counts."""
    print("Memory")
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "measure"], capture_output=True, text=True, check=True
    )
    used = int(found.stdout)
    measured = f"{used / 2**30:.2f} GiB"
    row(f"{_FORKS:,} forks that differ by one small write", measured, "under 1.5 GiB", good=used < _LIMIT)


def measure() -> int:
    """The bytes that a million forks take: each has another status."""
    cluster = Cluster(crds=[WIDGETS], objects=[widget()])
    cluster.patch(WIDGET, "w", {"status": {"phase": "none"}}, subresource="status")
    start = cluster.state
    states: list[State] = []
    before = _resident()
    for index in range(_FORKS):
        cluster.state = start
        cluster.patch(WIDGET, "w", {"status": {"phase": f"p{index}"}}, subresource="status")
        states.append(cluster.state)
    return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(measure())
    else:
        main()
