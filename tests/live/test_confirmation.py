"""Confirmation of violations: the rate, plans that showed them by chance, and shrinking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from kontend import Cluster
from kontend.cluster.state import State
from kontend.live.baseline import Baseline
from kontend.live.campaign import JudgedRun
from kontend.live.confirmation import Confirmation, Occurrence
from kontend.live.controls import Controls
from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Crash, Down, HandOver
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log
from kontend.live.plans.shrinking import shorter_plans
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import Expected, findings
from kontend.live.properties.masking import Mask, comparable
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import Setting
from kontend.live.verdicts.verdict import Violation
from live.conftest import setting

INITIAL = Cluster().state
CHANCE, SURE = Plan((Down(1, 0),)), Plan((Down(2, 1),))


def ended(plan: Plan, *names: str) -> Run:
    """A run that has left some objects, and took two actions that did nothing."""
    cluster = Cluster(state=INITIAL)
    for name in names:
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    phases: list[State] = [cluster.state] * 3
    return Run(plan, Log(), Rest.IDLE, INITIAL, cluster.state, phases=phases)


def confirm(outcomes: Callable[[Plan], bool], *plans: Plan, repeats: int = 3) -> tuple[Violation, list[Plan]]:
    """Confirm what some plans have shown; ``outcomes`` says of each further run whether it shows it again."""
    good = ended(Plan(()))
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    given = setting(["true"], "plain.yaml")
    baseline = Baseline((good, good), given, expected, (), ())
    carried_out: list[Plan] = []

    async def run_plan(_: Setting, plan: Plan) -> Run:
        carried_out.append(plan)
        return ended(plan, *(["left"] if plan.perturbations and outcomes(plan) else []))

    async def work() -> Violation:
        runs = [ended(plan, "left") for plan in plans]
        shown = [Occurrence(findings(run, expected)[0], run.plan, run) for run in runs]
        return await Confirmation(baseline, run_plan, run_plan, repeats=repeats, attempts=5).confirm(shown)

    return asyncio.run(work()), carried_out


def test_a_violation_is_repeated_and_its_rate_reported() -> None:
    found, carried_out = confirm(lambda plan: plan == SURE, SURE)
    assert (found.plan, found.rate) == (SURE, "4 of 4 runs")
    assert carried_out.count(SURE) == 3


def test_a_violation_that_does_not_occur_again_has_a_low_rate() -> None:
    found, _ = confirm(lambda _: False, CHANCE)
    assert (found.plan, found.rate) == (CHANCE, "1 of 4 runs")


def test_a_plan_that_showed_it_by_chance_does_not_hide_one_that_shows_it_always() -> None:
    found, _ = confirm(lambda plan: plan == SURE, CHANCE, SURE)
    assert (found.plan, found.rate) == (SURE, "4 of 4 runs")


def test_the_rate_is_that_of_the_plan_that_is_reported() -> None:
    crash = Crash(Point(Call("create", "configmaps", "default", "c")))
    found, carried_out = confirm(lambda _: True, Plan((Down(1, 0), crash)))
    assert found.plan == Plan((crash,), actions=1)
    assert found.rate == "4 of 4 runs"
    assert carried_out.count(found.plan) == 4


def test_a_simpler_plan_that_shows_it_only_sometimes_is_not_reported() -> None:
    crash = Crash(Point(Call("create", "configmaps", "default", "c")))
    whole = Plan((Down(1, 0), crash))
    seen: list[Plan] = []

    def outcomes(plan: Plan) -> bool:
        seen.append(plan)
        return plan == whole or seen.count(plan) == 1

    found, _ = confirm(outcomes, whole)
    assert (found.plan, found.rate) == (whole, "4 of 4 runs")


def healing(ends: Callable[[Plan], float | None], repeats: int = 1) -> Violation:
    """The violation that is left of two plans which show the same; ``ends`` says after how long each heals."""
    good = ended(Plan(()))
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    baseline = Baseline((good, good), setting(["true"], "plain.yaml"), expected, (), ())

    async def run_plan(given: Setting, plan: Plan) -> Run:
        if given.watch is not None:
            await given.watch()
        return replace(ended(plan, *(["left"] if plan.perturbations else [])), healed=ends(plan))

    async def work() -> Violation:
        runs = [ended(plan, "left") for plan in (CHANCE, SURE)]
        shown = [Occurrence(findings(run, expected)[0], run.plan, run) for run in runs]
        confirmation = Confirmation(baseline, run_plan, run_plan, repeats=repeats, attempts=0, heal=1.0)
        return await confirmation.heal(await confirmation.confirm(shown), shown)

    return asyncio.run(work())


def test_a_violation_that_heals_after_every_plan_is_marked_as_such() -> None:
    assert healing(lambda _: 60.0).healed == 60.0


def test_a_plan_after_which_it_heals_does_not_hide_one_after_which_it_does_not() -> None:
    violation = healing(lambda plan: 60.0 if plan == CHANCE else None)
    assert (violation.plan, violation.healed, violation.watched) == (SURE, None, 1.0)


def test_a_violation_that_does_not_occur_while_it_is_watched_has_not_healed() -> None:
    assert healing(lambda _: 0.0).healed is None


def test_what_shows_only_in_later_repetitions_is_watched_there() -> None:
    ends = [0.0, 30.0]
    found = healing(lambda plan: ends.pop(0) if plan == CHANCE and ends else 0.0, repeats=2)
    assert (found.rate, found.healed) == ("2 of 3 runs", 30.0)


def test_the_run_that_is_watched_begins_beside_the_controls_and_counts_as_a_repetition() -> None:
    good = ended(Plan(()))
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    baseline = Baseline((good, good), setting(["true"], "plain.yaml"), expected, (), ())
    begun: list[Plan] = []

    async def run_plan(given: Setting, plan: Plan) -> Run:
        begun.append(plan)
        if plan.perturbations:
            assert given.watch is not None
            await given.watch()  # the process idles on until the controls are over
            return ended(plan, "left")
        while SURE not in begun:
            await asyncio.sleep(0)
        return good

    async def work() -> Violation:
        run = ended(SURE, "left")
        shown = [Occurrence(findings(run, expected)[0], SURE, run)]
        controls = Controls(baseline, run_plan, run_plan, observe=1.0)
        confirmation = Confirmation(baseline, run_plan, run_plan, repeats=1, attempts=0, heal=1.0, controls=controls)
        return await confirmation.heal(await confirmation.confirm(shown), shown)

    violation = asyncio.run(asyncio.wait_for(work(), 10))
    assert (violation.seen, violation.healed) == (2, None)
    assert begun.count(SURE) == 1


def test_plans_are_shortened_to_where_their_run_was_wrong_but_hand_overs_are_not() -> None:
    good = ended(Plan(()))
    expected = Expected([comparable(INITIAL, good.final)], Mask())
    baseline = Baseline((good, good), setting(["true"], "plain.yaml"), expected, (), ())
    at = Point(Call("create", "configmaps", "default", "c"))
    outcomes = []
    for plan in (Plan((Crash(at),)), Plan((HandOver(at, 1),)), SURE):
        run = ended(plan)
        settled = {0: run.final, 1: (run if plan == SURE else ended(plan, "left")).final, 2: run.final}
        outcomes.append(JudgedRun(plan, replace(run, settled=settled), ()))
    assert list(shorter_plans(baseline, outcomes)) == [Plan((Crash(at),), actions=1)]
