"""Confirmation of a violation: the plan is shrunk, then run again, and the rate is reported.

Confirmations wait longer at their end than the runs of a campaign, so that a late retry is not taken for no retry.
Before that they are carried out like these: a user does not wait for certainty either.

Most of their time is silence, so they overlap. The first repetition is the run that is watched for healing, and begins
beside the controls; it is judged by these when it has come to rest. Simpler plans are tried at the same time, and the
simplest one that shows the violation counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kontend.explore.properties.built_in import BuiltIn
from kontend.live.baseline import Baseline
from kontend.live.controls import Controls, RunPlan, patient
from kontend.live.gate.plan import Plan
from kontend.live.plans.shrinking import simpler
from kontend.live.process.quiescence import Rest
from kontend.live.properties.findings import LEAK, Expected, Finding, findings
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import Healing, Setting
from kontend.live.verdicts.verdict import Violation

#: The seconds for which a process is watched that has no reason to do anything more.
_NO_REASON: Final = 5.0
#: The most plans that are watched for one violation: without a call to repeat, and with one.
_WATCHED: Final = 8
_RETRIED: Final = 2
#: The most plans that are repeated for one violation, until it occurs again.
_PLANS: Final = 5

Identity = tuple[str, tuple[str, ...]]


def identity(finding: Finding) -> Identity:
    """Return what is the same in every run that violates a property in the same way."""
    return finding.property, finding.key


class Occurrence(NamedTuple):
    """A finding, the plan that has shown it, and the run."""

    finding: Finding
    plan: Plan
    run: Run


@dataclass(slots=True)
class _Seen:
    """A run in which a finding has occurred, and the numbers so far."""

    plan: Plan
    run: Run
    finding: Finding
    seen: int = 1
    runs: int = 1


class _Watched(NamedTuple):
    """A run that was watched for healing, and for how many seconds at most."""

    run: Run
    seconds: float


class _Ends(NamedTuple):
    """The way in which watched runs end: the seconds after which the last one heals, or for which they were watched."""

    healed: float | None
    seconds: float


class Confirmation:
    """Confirms the findings of a campaign."""

    def __init__(
        self,
        baseline: Baseline,
        run_plan: RunPlan,
        run_and_watch: RunPlan,
        *,
        repeats: int,
        attempts: int,
        heal: float = 0.0,
        controls: Controls | None = None,
        hurried: Callable[[], bool] = lambda: False,
        one_at_a_time: Callable[[], bool] = lambda: False,
    ) -> None:
        """``heal`` is the time for which a violation of the final state may heal by itself, in seconds.

        ``run_and_watch`` carries out the runs that wait for it. When ``hurried``, no simpler plan is looked for.
        With ``one_at_a_time`` nothing else goes on while a run is watched, so only one is.
        """
        self._hurried = hurried
        self._one_at_a_time = one_at_a_time
        self._baseline = baseline
        self._run_plan = run_plan
        self._repeats = repeats
        #: The most plans that are tried to shrink one.
        self._attempts = attempts
        self._setting = patient(baseline)
        self._controls = controls or Controls(baseline, run_plan, run_and_watch)
        self._run_and_watch = run_and_watch
        self._heal = heal
        #: The runs that are watched, or were.
        self._watches: dict[tuple[Plan, Identity], list[asyncio.Task[_Watched]]] = {}
        self._given_up: list[asyncio.Task[_Watched]] = []

    async def confirm(self, occurrences: Sequence[Occurrence]) -> Violation:
        """Return a violation with its rate, for the simplest plan that shows it reliably.

        Occurrences of one violation come in the order of their plans. The first may have been chance, and a later one
        not; so they are tried until the violation occurs again.
        """
        first = None
        occurrences = occurrences[:_PLANS]
        if self._heal and occurrences[0].finding.final:
            self._begin(occurrences[:1], 1)  # beside the controls
        if occurrences[0].finding.difference:
            judged = [each for each in [await self._judged(each) for each in occurrences] if each is not None]
            if not judged:
                self._forget(occurrences[0])
                return Violation(*occurrences[0], 1, 1, unjudged=True)
            same = identity(judged[0].finding)
            self._rename(occurrences[0], same)
            occurrences = [each for each in judged if identity(each.finding) == same]
        for occurrence in occurrences:
            seen = _Seen(occurrence.plan, occurrence.run, occurrence.finding)
            await self._repeat(seen, 1)
            first = first or seen
            if seen.seen > 1:
                return await self._reliable(seen)
        assert first is not None  # there is at least one occurrence
        await self._repeat(first, self._repeats - 1)
        return self._violation(first)

    async def _judged(self, occurrence: Occurrence) -> Occurrence | None:
        """Return an occurrence with the differences that no unperturbed run shows; None if there are none left."""
        expected = await self._controls.expected(occurrence.plan.actions)
        states = (LEAK, str(BuiltIn.DIVERGED))
        left = next((each for each in findings(occurrence.run, expected) if each.property in states), None)
        return occurrence._replace(finding=left) if left is not None else None

    async def _reliable(self, first: _Seen) -> Violation:
        if self._repeats and not self._hurried():
            shrunk = await self._shrink(first)
            if shrunk is not None:
                await self._repeat(shrunk, self._repeats)
                if shrunk.seen == shrunk.runs:
                    return self._violation(shrunk)
        await self._repeat(first, self._repeats - 1)
        return self._violation(first)

    def _violation(self, seen: _Seen) -> Violation:
        """Return the violation that some runs have shown.

        A process whose unperturbed runs end in different states is racy by itself. What the perturbation does then is
        seen only if it does so every time; two of four runs may be the other end of the same race.
        """
        by_chance = bool(self._baseline.disagreement) and seen.finding.final and 1 < seen.seen < seen.runs
        return Violation(seen.finding, seen.plan, seen.run, seen.seen, seen.runs, unjudged=by_chance)

    async def heal(self, violation: Violation, occurrences: Sequence[Occurrence]) -> Violation:
        """Return a confirmed violation, with the time after which it heals by itself, if it does.

        Other plans may have shown the same for another reason: one after which it does not heal is reported instead.
        """
        if not self.may_heal(violation):
            return violation
        ends = await self._ends(Occurrence(violation.finding, violation.plan, violation.run))
        if ends.healed is None:
            return replace(violation, watched=ends.seconds)
        others = self._suspects([other for other in occurrences if other.plan != violation.plan])
        await asyncio.gather(*self._begin(others, 1))
        for other in others:
            if (await self._ends(other)).healed is None:
                seen = _Seen(other.plan, other.run, other.finding)
                await self._repeat(seen, self._repeats)
                ends = await self._ends(other)
                if seen.seen > 1 and ends.healed is None:
                    return replace(self._violation(seen), watched=ends.seconds)
        return replace(violation, healed=ends.healed)

    async def _ends(self, of: Occurrence) -> _Ends:
        """Return how the runs of a plan end that have been watched and show the same.

        One that is not repaired by the end of its watch outweighs those that are.
        """
        watched = await asyncio.gather(*self._begin([of], 1))
        healed = [each.run.healed for each in watched if each.run.healed != 0.0]
        if None in healed:
            return _Ends(None, max(each.seconds for each in watched))
        return _Ends(max((each for each in healed if each is not None), default=0.0), 0.0)

    def may_heal(self, violation: Violation) -> bool:
        """Return whether the process may yet repair by itself what a violation is about."""
        return violation.finding.final and violation.seen > 1 and not violation.unjudged and self._heal > 0

    def _suspects(self, occurrences: Sequence[Occurrence]) -> list[Occurrence]:
        """Occurrences that may not heal although another one has: above all those without a call to repeat."""
        retried = [other for other in occurrences if self._failing(other.run)]
        rest = [other for other in occurrences if not self._failing(other.run)]
        return [*_of_all_kinds(rest)[:_WATCHED], *_of_all_kinds(retried)[:_RETRIED]]

    def _failing(self, run: Run) -> bool:
        """Return whether the last attempt at a call has failed, other than in unperturbed runs."""
        return bool(run.failing - self._baseline.runs[0].failing)

    def _begin(self, occurrences: Sequence[Occurrence], times: int) -> list[asyncio.Task[_Watched]]:
        """Begin to carry out plans again and to watch the idle process, so often in all; return these runs."""
        loop, tasks = asyncio.get_running_loop(), []
        for each in occurrences:
            known = self._watches.setdefault((each.plan, identity(each.finding)), [])
            known += [loop.create_task(self._watched(each)) for _ in range(times - len(known))]
            tasks += known
        return tasks

    def _forget(self, occurrence: Occurrence) -> None:
        """End the watch of what cannot be judged."""
        for task in self._watches.pop((occurrence.plan, identity(occurrence.finding)), ()):
            task.cancel()
            self._given_up.append(task)

    def _rename(self, occurrence: Occurrence, judged: Identity) -> None:
        """Note that a watch is about less: about the differences that controls have left of a finding."""
        tasks = self._watches.pop((occurrence.plan, identity(occurrence.finding)), None)
        if tasks is not None:
            self._watches[occurrence.plan, judged] = tasks

    async def stop(self) -> None:
        """End the runs that still go on."""
        tasks = [*self._given_up, *(task for many in self._watches.values() for task in many)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watched(self, shown: Occurrence) -> _Watched:
        """Carry out a plan again and watch the idle process, for long if it has a reason to do something."""
        baseline, seconds = self._baseline, 0.0

        async def watch() -> Healing:
            nonlocal seconds
            expected = await self._expected(shown.finding, shown.plan.actions)
            judged = await self._judged(shown) if shown.finding.difference else shown
            if judged is None:
                return Healing(0.0, lambda _: True)
            period = await self._controls.period()
            has_reason = self._failing(shown.run) or (baseline.setting.background and period.seconds is None)
            seconds = self._heal if has_reason else period.watch(self._heal, _NO_REASON)
            return Healing(seconds, lambda run: _find(findings(run, expected), judged.finding) is None)

        run = await self._run_and_watch(replace(self._setting, watch=watch), shown.plan)
        return _Watched(run, seconds)

    async def _repeat(self, seen: _Seen, times: int) -> None:
        """Carry out a plan again; what may heal is watched each time, for a repair may come in one run only."""
        done, watched = seen.runs - 1, 0
        if self._heal and seen.finding.final:
            watched = times if not self._one_at_a_time() else min(times, 1 - min(done, 1))
        tasks = self._begin([Occurrence(seen.finding, seen.plan, seen.run)], done + watched) if watched else []
        once = (self._once(self._setting, seen.plan, seen.finding) for _ in range(times - watched))
        shown = [again is not None for _, again in await asyncio.gather(*once)]
        shown += [await self._shows(each, seen) for each in await asyncio.gather(*tasks[done : done + watched])]
        seen.runs += times
        seen.seen += sum(shown)

    async def _shows(self, watched: _Watched, seen: _Seen) -> bool:
        """Return whether a run that was watched shows a finding, also if that has healed."""
        if watched.run.rest is Rest.IDLE:
            return watched.run.healed != 0.0
        expected = await self._expected(seen.finding, seen.plan.actions)  # it has not come so far
        return _find(findings(watched.run, expected), seen.finding) is not None

    async def _shrink(self, first: _Seen) -> _Seen | None:
        """Return the simplest plan that shows the same, if one that is simpler does; greedily, within the attempts.

        Attempts wait no longer than the campaign; what they show is confirmed afterwards.
        """
        best, tried, left = first, {first.plan}, self._attempts
        actions = len(self._setting.workload.actions)
        while left and not self._hurried():
            fresh = [plan for plan in simpler(best.plan, actions) if plan not in tried and self._comparable(plan)]
            found = await self._first_that_shows(fresh[:left], best.finding)
            if found is None:
                break
            # Those after it were begun for nothing, and are not counted.
            attempts = fresh[: fresh.index(found.plan) + 1]
            left -= len(attempts)
            tried.update(attempts)
            best = found
        return best if best is not first else None

    async def _first_that_shows(self, plans: Sequence[Plan], finding: Finding) -> _Seen | None:
        """Return the first of some plans that shows a finding; they are carried out at the same time."""
        once = (self._once(self._baseline.setting, plan, finding) for plan in plans)
        tasks = [asyncio.get_running_loop().create_task(each) for each in once]
        try:
            for plan, task in zip(plans, tasks, strict=True):
                run, again = await task
                if again is not None and not run.missed:
                    return _Seen(plan, run, again)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return None

    def _comparable(self, plan: Plan) -> bool:
        """Return whether it is known how an unperturbed run with the actions of a plan ends."""
        return bool(self._baseline.expected_after(plan.actions).finals)

    async def _once(self, setting: Setting, plan: Plan, finding: Finding) -> tuple[Run, Finding | None]:
        run = await self._run_plan(setting, plan)
        return run, _find(findings(run, await self._expected(finding, plan.actions)), finding)

    async def _expected(self, finding: Finding, actions: int | None) -> Expected:
        """Return what is expected of a run; of what is about a final state, also what controls have shown."""
        return await self._controls.expected(actions) if finding.final else self._baseline.expected_after(actions)


def _of_all_kinds(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Occurrences, the first one of each kind of perturbation before the others."""
    kinds = {tuple(map(type, each.plan.perturbations)): each for each in reversed(occurrences)}
    return [*kinds.values(), *(each for each in occurrences if each not in kinds.values())]


def _find(candidates: Sequence[Finding], wanted: Finding) -> Finding | None:
    return next((candidate for candidate in candidates if identity(candidate) == identity(wanted)), None)
