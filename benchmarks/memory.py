"""Number of states that fit into memory, and on disk.

The search on disk is measured on a part: ``KONTEND_STATES`` says how many states (2,500,000 take about five minutes of
processor time). Memory and disk for a state are slopes over the second half, so that fixed parts do not count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.objects import WIDGET, WIDGETS, widget
from benchmarks.table import row
from kontend import Cluster, State
from kontend.explore import Reductions
from kontend.explore.model.model import Model
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.snapshot import Snapshot

_FORKS = 1_000_000
_LIMIT = 1.5 * 2**30
#: The space is much larger without reductions, and a state takes as much as any other.
_REDUCTIONS = Reductions(symmetry=False, uuids=False, deliveries=False, reads=False, local=False, parts=False)
_WANTED = 50_000_000
#: MiB for the search on disk.
_MEMORY = 400


def main() -> None:
    """Print the table. The measurements run in processes of their own, so that nothing else counts."""
    print("Memory")
    used = int(_measured("forks"))
    measured = f"{used / 2**30:.2f} GiB"
    row(f"{_FORKS:,} forks that differ by one small write", measured, "under 1.5 GiB", good=used < _LIMIT)
    line = _measured("states").splitlines()[-1]
    count, memory, total, disk, seconds = (float(part) for part in line.split())
    row(f"states of one search on disk: memory for each of {count:,.0f}", f"{memory:,.0f} B", "0", good=memory < 64)
    row(f"  with a limit of {_MEMORY} MiB in use", f"{total / 2**20:,.0f} MiB", "the limit", good=total < _MEMORY << 20)
    row("  disk for each", f"{disk:,.0f} B", "200 B", good=disk < 400)
    whole = seconds * _WANTED / 3600
    what = f"  {_WANTED:,} states: {disk * _WANTED / 2**30:.1f} GiB of disk, at {1e6 * seconds:.0f} us a state"
    row(what, f"{whole:.1f} hours", "24 GiB in all", good=total + disk * _WANTED < 24 * 2**30)


def _measured(what: str) -> str:
    command = [sys.executable, "-m", "benchmarks.memory", what]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def forks() -> int:
    """The bytes that a million forks take: each has another status."""
    cluster = Cluster(crds=[WIDGETS], objects=[widget()])
    cluster.patch(WIDGET, "w", {"status": {"phase": "none"}}, subresource="status")
    start = cluster.state
    states: list[State] = []
    before = memory_in_use()
    for index in range(_FORKS):
        cluster.state = start
        cluster.patch(WIDGET, "w", {"status": {"phase": f"p{index}"}}, subresource="status")
        states.append(cluster.state)
    return memory_in_use() - before


class _Reading(NamedTuple):
    states: int
    memory: int
    disk: int
    seconds: float


def states() -> None:
    """Search with little memory, and print what each state takes: memory, most memory, disk, processor time."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from explore.widgets import WIDGET as KIND
    from explore.widgets import LockedWidgets, double_plan
    from kontend.explore import update

    wanted = int(os.environ.get("KONTEND_STATES", "100000"))
    scenario = double_plan(LockedWidgets(), lag=3, concurrent=3, states=wanted)
    scenario = replace(scenario, actions=[update(KIND, spec={"size": 3})], reductions=_REDUCTIONS)
    scenario = replace(scenario, bounds=replace(scenario.bounds, memory=int(os.environ.get("KONTEND_MEMORY", _MEMORY))))
    readings: list[_Reading] = []

    def read(snapshot: Snapshot) -> None:
        if not readings or snapshot.states >= readings[-1].states + wanted // 50:
            reading = _Reading(snapshot.states, memory_in_use(), _on_disk(), time.process_time())
            readings.append(reading)
            sys.stderr.write(f"{reading} frontier {snapshot.frontier}\n")

    BreadthFirst(Model(scenario), progress=read).run()
    begin, end = readings[len(readings) // 2], readings[-1]
    count = end.states - begin.states
    most = max(reading.memory for reading in readings)
    memory, disk = (end.memory - begin.memory) / count, end.disk / end.states
    print(end.states, memory, most, disk, (end.seconds - begin.seconds) / count)


def _on_disk() -> int:
    """The bytes of the files that hold the record of a search."""
    maps = Path("/proc/self/maps").read_text()
    return sum(int(end, 16) - int(begin, 16) for begin, end in re.findall(r"^(\w+)-(\w+) .*/kontend-", maps, re.M))


if __name__ == "__main__":
    if sys.argv[1:] == ["forks"]:
        print(forks())
    elif sys.argv[1:] == ["states"]:
        states()
    else:
        main()
