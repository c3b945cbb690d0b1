"""How fast the explorer is: moves a second, and small spaces beside what kamera needs for them.

The numbers of kamera were measured on a machine like the ones we use: node visits, distinct nodes, seconds.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.table import row
from kontend import Bounds, Scenario, Verdict, check
from kontend.explore.scenario import Reductions
from kontend.explore.search import Search

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

#: Controllers and steps: node visits, distinct nodes, seconds.
_KAMERA: Final = {
    (2, 2): (26, 6, 0.014),
    (2, 8): (1_790, 12, 0.80),
    (3, 3): (510, 11, 0.17),
    (4, 4): (18_680, 20, 6.92),
    (5, 3): (44_470, 35, 14.2),
}


def _timed(scenario: Scenario) -> tuple[Verdict, float]:
    begun = time.process_time()
    verdict = check(scenario)
    return verdict, time.process_time() - begun


def _seconds(timed: tuple[Verdict, float]) -> float:
    return timed[1]


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
        what = f"{controllers} controllers, {steps} steps: {verdict.moves} moves, {verdict.worlds} worlds"
        good = verdict.worlds == distinct and took < 0.1
        row(what, f"{took:.3f} s", f"there {visits:,} visits, {seconds} s", good=good)


def moves() -> None:
    """The double-plan race, call by call, with three instances."""
    from explore.widgets import LockedWidgets, Widgets, double_plan

    for controller in (Widgets, LockedWidgets):
        for lag in (1, 2):
            verdict, took = min(
                (_timed(double_plan(controller(), lag=lag, concurrent=3)) for _ in range(3)), key=_seconds
            )
            rate = verdict.moves / took
            what = f"{controller.__name__} x 3, lag {lag}: {verdict.worlds:,} worlds, code ran {verdict.runs} times"
            row(what, f"{rate:,.0f} moves/s", "20,000", good=rate > 20_000)


def growth() -> None:
    """What a move costs when there are more and more objects that nobody touches."""
    from explore.widgets import Widgets, double_plan

    costs = {}
    for count in (10, 100, 1_000):
        scenario = double_plan(Widgets(), lag=1, concurrent=3)
        others = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}", "namespace": "default"}}
            for number in range(count)
        ]
        search = Search(replace(scenario, objects=[*scenario.objects, *others]))
        begun = time.process_time()
        verdict = search.run()
        costs[count] = (time.process_time() - begun) / verdict.moves * 1e6
        good = costs[count] < 1.5 * costs[10]
        row(f"a move among {count:,} other objects", f"{costs[count]:.0f} us", "growth under a half", good=good)


def main() -> None:
    """Print all."""
    chains()
    moves()
    growth()
