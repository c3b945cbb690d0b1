"""Workers: steps a second and the gain of a second process, measured; 8, 64 and 512 workers, computed.

``python -m benchmarks.scale --write`` puts the figures and the arithmetic into docs/scale.md.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.table import row
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check
from kontend.explore.model.model import Model
from kontend.explore.restarts import restarted
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.expander import Expander
from kontend.explore.shards.engine import Engine
from kontend.explore.shards.processes import Processes
from kontend.explore.shards.shard import Order
from kontend.explore.shards.sharded import Sharded, Traffic
from kontend.explore.shards.spec import ShardSpec

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

_PAGE: Final = Path(__file__).parent.parent / "docs" / "scale.md"
_BEGIN, _END = "<!-- benchmarks/scale.py: begin -->", "<!-- benchmarks/scale.py: end -->"
#: The number of empty calls by which a round trip is timed.
_CALLS: Final = 200
#: Round trips of a layer that nothing else hides: the states that were found in the layer before.
_TRIPS: Final = 1
_WORKERS: Final = (8, 64, 512)


@dataclass(frozen=True, slots=True)
class Measured:
    """A search in one process, the mean of two, and the same in two shards."""

    states: int
    steps: int
    #: Wall-clock seconds, and processor seconds, of one process.
    alone: float
    alone_cpu: float
    #: The same of two shards: that of the driver, and of both shards together.
    together: float
    driver_cpu: float
    shards_cpu: float
    traffic: Traffic
    #: Seconds of an empty call, by engine.
    trips: dict[str, float]
    #: The processor seconds of all other processes of this machine meanwhile.
    others: float

    @property
    def gain(self) -> float:
        """The measured gain of the second process."""
        return self.alone / self.together

    @property
    def is_disturbed(self) -> bool:
        """Other work kept the processors busy, so that wall-clock time says nothing."""
        return self.others > 0.05 * (2 * self.alone + self.together)

    @property
    def bound(self) -> float:
        """The gain on two processors if no processor ever waits."""
        return 2 * self.alone_cpu / (self.driver_cpu + self.shards_cpu)

    @property
    def uneven(self) -> float:
        """The share of the largest shard, times the number of shards."""
        return 2 * self.traffic.most / self.traffic.expanded

    def seconds(self, workers: int, trip: float) -> float:
        """The computed time with many workers: the slower of driver and shards, and the layers."""
        shards = self.shards_cpu * self.uneven / workers
        return max(self.driver_cpu, shards) + self.traffic.layers * _TRIPS * trip


def measured(scenario: Scenario) -> Measured:
    """Search in one process before and after the shards: a machine that gets slower meanwhile does not count."""
    busy, own = _busy(), time.process_time() + _children()
    alone, before = _alone(scenario)
    children = _children()
    started, driver = time.perf_counter(), time.process_time()
    verdict, traffic = _sharded(scenario, Processes())
    together, driver = time.perf_counter() - started, time.process_time() - driver
    shards = _children() - children
    _, after = _alone(scenario)
    took, cpu = ((one + other) / 2 for one, other in zip(before, after, strict=True))
    others = _busy() - busy - (time.process_time() + _children() - own)
    assert (verdict.states, verdict.steps) == (alone.states, alone.steps)
    trips = {name: _trip(scenario, name) for name in ("processes", "ray", "dask") if _is_installed(name)}
    return Measured(alone.states, alone.steps, took, cpu, together, driver, shards, traffic, trips, others)


def _alone(scenario: Scenario) -> tuple[Verdict, tuple[float, float]]:
    """A search in one process: its wall-clock seconds and its processor seconds."""
    started, cpu = time.perf_counter(), time.process_time()
    verdict = check(scenario)
    return verdict, (time.perf_counter() - started, time.process_time() - cpu)


def _sharded(scenario: Scenario, engine: Engine) -> tuple[Verdict, Traffic]:
    traffic: list[Traffic] = []

    def search(model: Model) -> Verdict:
        expander = Expander(model)
        shards = Sharded(expander, engine, 2, ShardSpec.of(expander))
        traffic.append(shards.traffic)
        return BreadthFirst(model, expander=shards).run()

    return restarted(scenario, search), traffic[-1]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _busy() -> float:
    """The processor seconds of all processes of this machine; 0 where they are not known."""
    try:
        user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    except OSError:
        return 0.0
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return name == "processes" or find_spec({"ray": "ray", "dask": "distributed"}[name]) is not None


def _trip(scenario: Scenario, name: str) -> float:
    """Seconds of an empty call to a shard."""
    from kontend.explore.shards.engines import engine_of

    engine = engine_of("" if name == "processes" else name, 1)
    shard = engine.start(ShardSpec.of(Expander(Model(scenario))))
    shard.call("carry_out", Order()).result()
    took = []
    for _ in range(_CALLS):
        started = time.perf_counter()
        shard.call("carry_out", Order()).result()
        took.append(time.perf_counter() - started)
    shard.stop()
    engine.close()
    return sorted(took)[_CALLS // 10]  # other work on the machine makes most of them longer


def page(figures: Measured) -> str:
    """The figures and the arithmetic, in Markdown."""
    traffic = figures.traffic
    per_successor = traffic.bytes / traffic.successors
    trips = ", ".join(f"{name} {seconds * 1e6:,.0f} µs" for name, seconds in figures.trips.items())
    rows = {"one process": (figures.alone, figures.alone_cpu), "two shards and the driver": (figures.together, 0.0)}
    lines = [
        f"Deployment call by call: {figures.states:,} states, {figures.steps:,} steps, {os.cpu_count()} processors.",
        "",
        "| | wall clock | steps/s | processor time |",
        "|---|---|---|---|",
    ]
    for name, (wall, cpu) in rows.items():
        shown = (
            "other work on the machine | " if figures.is_disturbed else f"{wall:.1f} s | {figures.steps / wall:,.0f}"
        )
        used = f"{cpu:.1f} s" if cpu else f"{figures.shards_cpu:.1f} s and {figures.driver_cpu:.1f} s"
        lines.append(f"| {name} | {shown} | {used} |")
    gain = "" if figures.is_disturbed else f"{figures.gain:.2f} times"
    lines += [
        f"| gain | {gain} | | at most {figures.bound:.2f} times, if no processor waits |",
        "",
        f"- {traffic.layers:,} layers; the larger shard has {traffic.most / traffic.expanded:.0%} of the states; "
        f"{traffic.moved / traffic.expanded:.1%} of them have moved; "
        f"{traffic.ahead / traffic.expanded:.0%} were known before their layer began.",
        f"- {traffic.messages:,} messages of {traffic.bytes / traffic.messages / 1000:.1f} kB; "
        f"{per_successor:.0f} bytes for a successor.",
        f"- An empty call and its answer: {trips}.",
        "",
        "With *n* workers and the driver on processors of their own, the time is at least "
        "*max(D, S·u/n) + L·r*: "
        f"the driver's processor time *D* = {figures.driver_cpu:.1f} s, the shards' *S* = {figures.shards_cpu:.1f} s, "
        f"the unevenness *u* = {figures.uneven:.2f}, *L* = {traffic.layers:,} layers, and a round trip *r* as above.",
        "",
        "| workers | " + " | ".join(figures.trips) + " | successors to the driver |",
        "|---|" + "---|" * (len(figures.trips) + 1),
    ]
    for workers in _WORKERS:
        times = [figures.seconds(workers, trip) for trip in figures.trips.values()]
        cells = " | ".join(f"{seconds:.1f} s, {figures.alone_cpu / seconds:.1f} times" for seconds in times)
        lines.append(f"| {workers} | {cells} | {traffic.bytes / min(times) / 1e6:.1f} MB/s |")
    few = figures.shards_cpu * figures.uneven / figures.driver_cpu
    lines += ["", f"From {few:.0f} workers on (*S·u/D*) the driver is the limit, not the network."]
    return "\n".join(lines)


def main() -> None:
    """Print the rows."""
    from explore.samples import deployment

    figures = measured(replace(deployment(Bounds(faults=0, lag=0)), reductions=Reductions(factored=False)))
    what = f"a Deployment call by call, {figures.states:,} states"
    row(f"{what}, one process", f"{figures.steps / figures.alone:,.0f} steps/s")
    row(f"{what}, two processes", f"{figures.steps / figures.together:,.0f} steps/s")
    row("gain of the second process", f"{figures.gain:.2f} times", "1.6 on two processors", good=figures.gain >= 1.6)
    used = f"{figures.alone_cpu:.1f} s; {figures.shards_cpu:.1f} s and {figures.driver_cpu:.1f} s"
    row("  processor time: one process; two shards and the driver", used, f"at most {figures.bound:.2f} times")
    if figures.is_disturbed:
        row("  other work on the machine took", f"{figures.others:.0f} s", "measure again")
    for workers in _WORKERS:
        seconds = figures.seconds(workers, figures.trips["processes"])
        row(f"{workers} workers, computed", f"{figures.alone_cpu / seconds:.1f} times")
    if "--write" in sys.argv:
        text = _PAGE.read_text(encoding="utf-8")
        before, after = text.partition(_BEGIN)[0], text.partition(_END)[2]
        _PAGE.write_text(f"{before}{_BEGIN}\n\n{page(figures)}\n\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
