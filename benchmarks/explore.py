"""Speed of the explorer: steps a second, states that reductions leave out, and spaces beside those of kamera.

The numbers of kamera (node visits, distinct nodes, seconds) were measured on a similar machine.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmarks.table import row
from kontend import Controller
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, update
from kontend.explore.model.model import Model
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.search import breadth_first
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
_BRUTE_FORCE: Final = Reductions.none()
_STORED: Final = 300_000


def _timed(scenario: Scenario) -> tuple[Verdict, float]:
    started = time.process_time()
    verdict = check(scenario)
    return verdict, time.process_time() - started


def _seconds(timed: tuple[Verdict, float]) -> float:
    return timed[1]


def _race(controller: Controller, lag: int) -> Scenario:
    """The double-plan race of three instances, call by call, with a user who changes the object."""
    from explore.widgets import WIDGET, double_plan

    scenario = double_plan(controller, lag=lag, concurrent=3, states=1_000_000)
    return replace(scenario, actions=[update(WIDGET, spec={"size": 3})])


def _in_spite_of_violations() -> AbstractContextManager[object]:
    """Searches go on however long ago a violation was found."""
    return patch.object(breadth_first, "ENOUGH", sys.maxsize)


def chains() -> None:
    """Instances that increment one counter: atomic reconciles, as kamera explores them."""
    from explore.test_known_answers import CRD, OBJECT, Chain

    for (controllers, steps), (visits, distinct, seconds) in _KAMERA.items():
        verdict, took = _timed(
            Scenario(
                [Chain(steps)],
                crds=[CRD],
                objects=[OBJECT],
                bounds=Bounds(faults=0, lag=0, concurrent=controllers, atomic=True),
                reductions=Reductions(symmetry=False),
            )
        )
        what = f"{controllers} instances, {steps} increments: {verdict.steps} steps, {verdict.states} states"
        good = verdict.states == distinct and took < 0.1
        row(what, f"{took:.3f} s", f"kamera: {visits:,} visits, {seconds} s", good=good)


def known_answers() -> None:
    """The other scenarios of kamera: the number of final states."""
    from explore.samples import deployment
    from explore.test_known_answers import CRD, OBJECT, Alpha, Bar, Beta, Foo, ModeBar, ModeFoo

    small: dict[str, tuple[list[Controller], int, str]] = {
        "B1, two identical controllers": ([Foo(), Bar()], 1, "1 final state, 26 visits"),
        "B2, a race for the mode": ([ModeFoo(), ModeBar()], 2, "2 final states, 35 visits"),
        "B3, two candidates for an owner": ([Alpha(), Beta()], 1, "1 final state, 15 visits"),
    }
    for what, (controllers, final, kamera) in small.items():
        verdict, took = _timed(Scenario(controllers, crds=[CRD], objects=[OBJECT], bounds=Bounds(faults=0, lag=0)))
        _final(what, verdict, took, final, kamera)
    for atomic in (True, False):
        how = "atomic reconciles" if atomic else "call by call"
        verdict, took = _timed(deployment(Bounds(faults=0, lag=0, atomic=atomic)))
        _final(f"B6, a Deployment, {how}", verdict, took, 1, "4 final states (3 wrong), 130 visits, 0.16 s")


def _final(what: str, verdict: Verdict, took: float, final: int, kamera: str) -> None:
    count = len(verdict.final_states)
    result = f"{count} final state{'s' * (count != 1)}, {verdict.states:,} states, {took:.2f} s"
    row(what, result, f"kamera: {kamera}", good=verdict.exhausted and count == final)


def speed() -> None:
    """Steps a second."""
    from explore.widgets import LockedWidgets, Widgets

    for controller in (Widgets, LockedWidgets):
        for lag in (2, 3):
            verdict, took = min((_timed(_race(controller(), lag)) for _ in range(3)), key=_seconds)
            rate = verdict.steps / took
            what = f"{controller.__name__} x 3, lag {lag}: {verdict.states:,} states, code ran {verdict.runs} times"
            row(what, f"{rate:,.0f} steps/s", "20,000", good=rate > 20_000)


def reductions() -> None:
    """States of three instances with all reductions and with none."""
    from explore.widgets import LockedWidgets, Widgets

    for controller in (Widgets, LockedWidgets):
        scenario = _race(controller(), 0)
        with _in_spite_of_violations():
            reduced, full = check(scenario), check(replace(scenario, reductions=_BRUTE_FORCE))
        ratio = full.states / reduced.states
        same = len(reduced.final_states) == len(full.final_states)
        what = f"{controller.__name__} x 3, lag 0: {full.states:,} states by brute force, {reduced.states:,} reduced"
        row(what, f"{ratio:.0f} times fewer", "50, the same final states", good=ratio >= 50 and same and full.exhausted)


def memory() -> None:
    """Memory of a stored state, unexpanded states included."""
    from explore.widgets import Widgets

    scenario = _race(Widgets(), 3)
    bounds = replace(scenario.bounds, states=_STORED)
    before = memory_in_use()
    search = BreadthFirst(Model(replace(scenario, bounds=bounds, reductions=replace(_BRUTE_FORCE, outcomes=True))))
    with _in_spite_of_violations():
        verdict = search.run()
    per_state = (memory_in_use() - before) / verdict.states
    row(f"memory of {verdict.states:,} states", f"{per_state:,.0f} B each", "3 KiB", good=per_state < 3 * 1024)


def growth() -> None:
    """Time of a step with more and more objects that no controller touches."""
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
            started = time.process_time()
            verdict = search.run()
            taken.append((time.process_time() - started) / verdict.steps * 1e6)
        costs[count] = min(taken)
        good = costs[count] < 1.5 * costs[10]
        row(f"a step among {count:,} other objects", f"{costs[count]:.0f} us", "growth under a half", good=good)


def several_objects() -> None:
    """Processor time of four independent objects against one: a parent and a child, with one instance and with two."""
    operator = Path(__file__).parent.parent / "examples/website_operator.py"
    scenario = scenarios_in(operator)["controllers"]

    def of(count: int, bounds: Bounds) -> Scenario:
        objects = [copy.deepcopy(scenario.objects[0]) for _ in range(count)]
        for number, obj in enumerate(objects):
            obj["metadata"]["name"] = f"site-{number}"
        return replace(scenario, objects=objects, actions=[], bounds=bounds)

    for what, bounds in {
        "one instance, default bounds": Bounds(),
        "two instances, no faults": Bounds(concurrent=2, faults=0),
    }.items():
        one, four = ([_timed(of(count, bounds)) for _ in range(5)] for count in (1, 4))
        ratio = min(took for _, took in four) / min(took for _, took in one)
        shown = all(verdict.ok for verdict, _ in (*one, *four))
        row(f"four objects against one, {what}", f"{ratio:.1f} times the time", "3 times", good=shown and ratio <= 3)


def examples() -> None:
    """Processor time of all scenarios of the examples: those with the default bounds, and those with their own."""
    folder = Path(__file__).parent.parent / "examples"
    files = sorted([*folder.glob("*.py"), *folder.glob("*/*scenarios.py"), folder / "flux/source_controller.py"])
    scenarios = {
        f"{path.relative_to(folder)}:{name}": scenario
        for path in files
        for name, scenario in scenarios_in(path).items()
    }
    default = {name: scenario for name, scenario in scenarios.items() if scenario.bounds == Bounds()}
    _together("default bounds", default, "60 s on one core, all decided", most=60)
    others = {name: scenario for name, scenario in scenarios.items() if name not in default}
    _together("bounds of their own", others, "all decided")


def _together(what: str, scenarios: dict[str, Scenario], target: str, most: float = math.inf) -> None:
    timed = {
        name: _timed(replace(scenario, bounds=replace(scenario.bounds, seconds=60)))
        for name, scenario in scenarios.items()
    }
    spent, states = sum(took for _, took in timed.values()), sum(verdict.states for verdict, _ in timed.values())
    undecided = [name for name, (verdict, _) in timed.items() if not verdict.exhausted and not verdict.violations]
    shown = f"{len(timed)} scenarios of the examples with {what}, {states:,} states"
    shown += f", undecided: {', '.join(undecided)}" if undecided else ""
    row(shown, f"{spent:.1f} s", target, good=spent < most and not undecided)


def main() -> None:
    """Print all."""
    chains()
    known_answers()
    speed()
    reductions()
    memory()
    growth()
    several_objects()
    examples()
