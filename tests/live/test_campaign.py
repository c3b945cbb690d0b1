"""Campaigns: several runs at a time, pairs of perturbations, time limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kontend.live import campaign as module
from kontend.live.campaign import Campaign, Options
from kontend.live.gate.plan import Plan
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.verdicts.verdict import Verdict
from live.conftest import explore, python, setting


class Counted:
    """Carries out runs, and counts those at the same time."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self, given: Setting, plan: Plan) -> Run:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await carry_out(given, plan)
        finally:
            self.now -= 1


def shown(verdict: Verdict) -> list[tuple[str, str, str]]:
    return sorted(
        (violation.finding.property, violation.finding.sentence, violation.plan.name)
        for violation in verdict.violations
    )


@pytest.mark.parametrize("jobs", [1, 4])
def test_runs_at_the_same_time_are_as_many_as_jobs_and_give_the_same_verdict(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted()
    monkeypatch.setattr(module, "carry_out", counted)
    given = setting(python("plain.py"), "plain.yaml", BUG="crash")
    verdict = explore(given, only="crash after", confirmations=1, shrinks=0, jobs=jobs)
    assert counted.most == jobs
    assert verdict.executed == verdict.plans >= 4
    assert [violation[0] for violation in shown(verdict)] == ["diverged"]
    # The crash before the response and the one after it show the same; which run ends first is chance.
    assert shown(verdict)[0][2].endswith("update widgets.live.kontend.dev default/w status")


def test_an_interrupted_campaign_keeps_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C cancels the campaign's task."""
    tasks: list[asyncio.Task[Verdict]] = []
    perturbed: list[object] = []

    async def interrupted(given: Setting, plan: Plan) -> Run:
        if plan.perturbations and plan.perturbations not in perturbed:
            perturbed.append(plan.perturbations)
            if len(perturbed) > 8:
                tasks[0].cancel()
                await asyncio.sleep(3600)
        return await carry_out(given, plan)

    async def work() -> Verdict:
        given = setting(python("plain.py"), "plain.yaml", BUG="crash")
        tasks.append(asyncio.ensure_future(Campaign(given, Options(confirmations=1, shrinks=0)).explore()))
        return await tasks[0]

    monkeypatch.setattr(module, "carry_out", interrupted)
    verdict = asyncio.run(work())
    assert (verdict.executed, verdict.stopped) == (8, "it was interrupted")
    assert not verdict.ok
    text = "\n".join(verdict.lines())
    assert f"plans: 8 of {verdict.plans} carried out" in text


def test_pairs_follow_single_perturbations_that_have_shown_nothing() -> None:
    verdict = explore(setting(python("plain.py"), "plain.yaml"), only="lost response", pairs=True, jobs=4)
    assert (verdict.executed, verdict.pairs, verdict.executed_pairs) == (4, 6, 6)
    assert verdict.ok, list(verdict.lines())
    assert list(verdict.lines())[-1] == "no violation in 4 plans and 6 pairs"


def test_without_time_left_no_pair_is_begun_and_the_verdict_is_that_of_the_plans() -> None:
    given = setting(python("plain.py"), "plain.yaml")

    async def limited() -> Verdict:
        return await Campaign(given, Options(only="lost response", seconds=3600.0, pairs=False, jobs=4)).explore()

    verdict = asyncio.run(limited())
    assert (verdict.pairs, verdict.executed_pairs) == (0, 0)
    assert verdict.ok, list(verdict.lines())


def test_a_pair_shows_what_neither_of_its_perturbations_shows() -> None:
    """The operator survives one failure of its write of the status, not two in a row."""
    given = setting(python("hostile.py", "twice"), "plain.yaml")
    given = replace(given, workload=replace(given.workload, actions=given.workload.actions[:1]))
    verdict = explore(given, only="500 for", confirmations=1, shrinks=2, pairs=True, jobs=4)
    assert [violation.finding.property for violation in verdict.violations] == ["diverged"]
    assert len(verdict.violations[0].plan.perturbations) == 2
    assert not [violation for violation in verdict.violations if len(violation.plan.perturbations) == 1]
