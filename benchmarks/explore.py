"""How fast the explorer is: moves a second, worlds that need not be visited, and spaces beside what kamera needs.

The numbers of kamera were measured on a machine like the ones we use: node visits, distinct nodes, seconds.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.table import row
from kontend import Controller
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, update
from kontend.explore.model.model import Model
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.explore.search.limits import memory_in_use

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

#: Controllers and steps: node visits, distinct nodes, seconds.
_KAMERA: Final = {
    (2, 2): (26, 6, 0.014),
    (2, 8): (1_790, 12, 0.80),
    (3, 3): (510, 11, 0.17),
    (4, 4): (18_680, 20, 6.92),
    (5, 3): (44_470, 35, 14.2),
}
_BRUTE_FORCE: Final = Reductions(
    symmetry=False, outcomes=False, uuids=False, deliveries=False, reads=False, local=False
)
_STORED: Final = 300_000


def _timed(scenario: Scenario) -> tuple[Verdict, float]:
    begun = time.process_time()
    verdict = check(scenario)
    return verdict, time.process_time() - begun


def _seconds(timed: tuple[Verdict, float]) -> float:
    return timed[1]


def _race(controller: Controller, lag: int, *, workers: int = 3) -> Scenario:
    """The double-plan race, call by call, with a user who changes the object meanwhile."""
    from explore.widgets import WIDGET, double_plan

    scenario = double_plan(controller, lag=lag, concurrent=workers, states=1_000_000)
    return replace(scenario, actions=[update(WIDGET, spec={"size": 3})])


def chains() -> None:
    """Many controllers, one chain of steps: whole reconciles, as the peer explores them."""
    from explore.test_known_answers import CRD, OBJECT, Chain

    for (controllers, steps), (visits, distinct, seconds) in _KAMERA.items():
        verdict, took = _timed(
            Scenario(
                [Chain(steps)],
                crds=[CRD],
                objects=[OBJECT],
                bounds=Bounds(lag=0, concurrent=controllers, atomic=True),
                reductions=Reductions(symmetry=False),
            )
        )
        what = f"{controllers} controllers, {steps} steps: {verdict.steps} moves, {verdict.states} worlds"
        good = verdict.states == distinct and took < 0.1
        row(what, f"{took:.3f} s", f"there {visits:,} visits, {seconds} s", good=good)


def known_answers() -> None:
    """The peer's other scenarios: how many ways there are to settle."""
    from explore.samples import deployment
    from explore.test_known_answers import CRD, OBJECT, Alpha, Bar, Beta, Foo, ModeBar, ModeFoo

    small: dict[str, tuple[list[Controller], int, str]] = {
        "B1, two that do the same": ([Foo(), Bar()], 1, "1 end, 26 visits"),
        "B2, a race for the mode": ([ModeFoo(), ModeBar()], 2, "2 ends, 35 visits"),
        "B3, whoever comes first": ([Alpha(), Beta()], 1, "1 end, 15 visits"),
    }
    for what, (controllers, ends, there) in small.items():
        verdict, took = _timed(Scenario(controllers, crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=0)))
        _ends(what, verdict, took, ends, there)
    for atomic in (True, False):
        how = "whole reconciles" if atomic else "call by call"
        verdict, took = _timed(deployment(Bounds(lag=0, atomic=atomic)))
        _ends(f"B6, a Deployment, {how}", verdict, took, 1, "4 ends (3 wrong), 130 visits, 0.16 s")


def _ends(what: str, verdict: Verdict, took: float, ends: int, there: str) -> None:
    found = f"{len(verdict.final_states)} end{'s' * (len(verdict.final_states) != 1)}, {verdict.states:,} worlds, {took:.2f} s"
    row(what, found, f"there {there}", good=verdict.exhausted and len(verdict.final_states) == ends)


def moves() -> None:
    """How many moves a second."""
    from explore.widgets import LockedWidgets, Widgets

    for controller in (Widgets, LockedWidgets):
        for lag in (2, 3):
            verdict, took = min((_timed(_race(controller(), lag)) for _ in range(3)), key=_seconds)
            rate = verdict.steps / took
            what = f"{controller.__name__} x 3, lag {lag}: {verdict.states:,} worlds, code ran {verdict.runs} times"
            row(what, f"{rate:,.0f} moves/s", "20,000", good=rate > 20_000)


def reductions() -> None:
    """How many worlds three workers have, with all reductions and with none."""
    from explore.widgets import LockedWidgets, Widgets

    for controller in (Widgets, LockedWidgets):
        scenario = _race(controller(), 1)
        reduced, full = check(scenario), check(replace(scenario, reductions=_BRUTE_FORCE))
        ratio = full.states / reduced.states
        same = len(reduced.final_states) == len(full.final_states)
        what = f"{controller.__name__} x 3, lag 1: {full.states:,} worlds by brute force, {reduced.states:,} reduced"
        row(what, f"{ratio:.0f} times fewer", "50, the same ends", good=ratio >= 50 and same and full.exhausted)


def memory() -> None:
    """What a stored world costs, the worlds still to be looked at included."""
    from explore.widgets import Widgets

    scenario = _race(Widgets(), 3)
    bounds = replace(scenario.bounds, states=_STORED)
    before = memory_in_use()
    search = BreadthFirst(Model(replace(scenario, bounds=bounds, reductions=replace(_BRUTE_FORCE, outcomes=True))))
    verdict = search.run()
    each = (memory_in_use() - before) / verdict.states
    row(f"memory of {verdict.states:,} worlds", f"{each:,.0f} B each", "3 KiB", good=each < 3 * 1024)


def growth() -> None:
    """What a move costs when there are more and more objects that nobody touches."""
    from explore.widgets import Widgets

    costs = {}
    for count in (10, 100, 1_000):
        scenario = _race(Widgets(), 2)
        others = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}", "namespace": "default"}}
            for number in range(count)
        ]
        scenario = replace(scenario, objects=[*scenario.objects, *others])
        taken = []
        for _ in range(3):
            search = BreadthFirst(Model(scenario))
            begun = time.process_time()
            verdict = search.run()
            taken.append((time.process_time() - begun) / verdict.steps * 1e6)
        costs[count] = min(taken)
        good = costs[count] < 1.5 * costs[10]
        row(f"a move among {count:,} other objects", f"{costs[count]:.0f} us", "growth under a half", good=good)


def processes() -> None:
    """What a second process gains, in time on the clock."""
    from explore.samples import deployment

    took, worlds = {}, set()
    for jobs in (1, 2):
        begun = time.perf_counter()
        worlds.add(check(deployment(Bounds(lag=0)), jobs=jobs).states)
        took[jobs] = time.perf_counter() - begun
    ratio = took[1] / took[2]
    row("B6 call by call with two processes", f"{ratio:.1f} times as fast", "the same worlds", good=len(worlds) == 1)


def main() -> None:
    """Print all."""
    chains()
    known_answers()
    moves()
    reductions()
    memory()
    growth()
    processes()
