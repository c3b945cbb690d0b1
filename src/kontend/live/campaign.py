"""A campaign: the baseline, then every plan, then each violation again to confirm and to simplify it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kontend.live.baseline import Baseline, establish
from kontend.live.gate.perturbation import Act, HandOver, Hold, Perturbation, Plan
from kontend.live.plans import derive
from kontend.live.process.quiescence import Patience
from kontend.live.properties import Finding, findings
from kontend.live.run import Run, Setting, carry_out
from kontend.live.verdict import Verdict, Violation

#: How often a violation is tried again.
_CONFIRMATIONS: Final = 3
#: Confirmations wait longer, so that a late retry is not taken for no retry.
_LONGER: Final = 4.0

Identity = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Options:
    """Limits of a campaign."""

    jobs: int = 1
    #: No new plan is begun after so many seconds; 0 is no limit.
    seconds: float = 0.0
    #: Only plans whose name contains this text.
    only: str = ""
    #: Plans to carry out instead of the derived ones.
    plans: tuple[Plan, ...] = ()
    confirmations: int = _CONFIRMATIONS
    #: Called with each outcome, for progress.
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    plan: Plan
    run: Run
    findings: tuple[Finding, ...]


class Campaign:
    """Explores one controller."""

    def __init__(self, setting: Setting, options: Options) -> None:
        self._setting = setting
        self._options = options
        self._slots = asyncio.Semaphore(options.jobs)

    async def baseline(self) -> Baseline:
        """Run the controller without perturbations; raises :class:`~kontend.live.baseline.Unusable`."""
        return await establish(self._setting, carry_out)

    def plans(self, baseline: Baseline) -> list[Plan]:
        """Return the plans to carry out."""
        plans = list(self._options.plans) or derive(baseline)
        return [plan for plan in plans if self._options.only in plan.name]

    async def explore(self) -> Verdict:
        """Return the verdict on the controller."""
        loop = asyncio.get_running_loop()
        baseline = await self.baseline()
        plans = self.plans(baseline) if baseline.expected.finals else []
        began = loop.time()
        outcomes = await self._carry_out(baseline, plans)
        seconds = loop.time() - began
        first: dict[Identity, tuple[Finding, _Outcome]] = {}
        count: dict[Identity, int] = {}
        for outcome in outcomes:
            for finding in outcome.findings:
                first.setdefault(_identity(finding), (finding, outcome))
                count[_identity(finding)] = count.get(_identity(finding), 0) + 1
        confirmed = await asyncio.gather(
            *(self._confirm(baseline, finding, outcome) for finding, outcome in first.values())
        )
        violations = [replace(each, others=count[_identity(each.finding)] - 1) for each in confirmed]
        return Verdict(
            baseline,
            len(plans),
            len(outcomes),
            tuple(each for each in violations if each.seen > 1),
            tuple(each for each in violations if each.seen <= 1),
            tuple(outcome.plan for outcome in outcomes if outcome.run.missed and not outcome.run.blocked),
            seconds,
            _blocked(outcomes),
        )

    async def _carry_out(self, baseline: Baseline, plans: Sequence[Plan]) -> list[_Outcome]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.seconds if self._options.seconds else float("inf")
        done = 0

        async def one(plan: Plan) -> _Outcome | None:
            nonlocal done
            async with self._slots:
                if loop.time() >= deadline:
                    return None
                run = await carry_out(baseline.setting, plan)
            done += 1
            if self._options.progress is not None:
                self._options.progress(done, len(plans))
            return _Outcome(plan, run, tuple(findings(run, baseline.expected)))

        outcomes = await asyncio.gather(*(one(plan) for plan in plans))
        return [outcome for outcome in outcomes if outcome is not None]

    # Confirming and simplifying

    async def _confirm(self, baseline: Baseline, finding: Finding, outcome: _Outcome) -> Violation:
        """Repeat a plan with more patience, and count how often the finding occurs; then look for a simpler plan."""
        careful = _careful(baseline.setting)
        runs = [outcome.run]
        seen = 1
        for _ in range(self._options.confirmations):
            run = await self._once(careful, outcome.plan)
            again = _find(findings(run, baseline.expected), finding)
            runs.append(run)
            seen += again is not None
        plan, run = outcome.plan, outcome.run
        if seen > 1:
            plan, run, finding = await self._simplify(baseline, careful, finding, plan, run)
        return Violation(finding, plan, run, seen, len(runs))

    async def _simplify(
        self, baseline: Baseline, careful: Setting, finding: Finding, plan: Plan, run: Run
    ) -> tuple[Plan, Run, Finding]:
        for simpler in _simpler(plan):
            attempt = await self._once(careful, simpler)
            again = _find(findings(attempt, baseline.expected), finding)
            if again is not None and not attempt.missed:
                return simpler, attempt, again
        return plan, run, finding

    async def _once(self, setting: Setting, plan: Plan) -> Run:
        async with self._slots:
            return await carry_out(setting, plan)


def _blocked(outcomes: Sequence[_Outcome]) -> tuple[str, ...]:
    """The reasons for which plans could not be carried out, and how many."""
    reasons = Counter(outcome.run.blocked for outcome in outcomes if outcome.run.blocked)
    return tuple(f"{count} plans could not be carried out: {reason}" for reason, count in reasons.items())


def _identity(finding: Finding) -> Identity:
    return finding.property, finding.key


def _find(found: Sequence[Finding], wanted: Finding) -> Finding | None:
    return next((each for each in found if _identity(each) == _identity(wanted)), None)


def _careful(setting: Setting) -> Setting:
    patience = setting.patience
    return replace(setting, patience=Patience(max(1.0, patience.silence * _LONGER), patience.limit * 2))


def _simpler(plan: Plan) -> Iterator[Plan]:
    """Plans that do less, the least first."""
    for index, each in enumerate(plan.perturbations):
        if len(plan.perturbations) > 1:
            yield replace(plan, perturbations=plan.perturbations[:index] + plan.perturbations[index + 1 :])
        for less in _less(each):
            changed = (*plan.perturbations[:index], less, *plan.perturbations[index + 1 :])
            yield replace(plan, perturbations=changed)


def _less(perturbation: Perturbation) -> Iterator[Perturbation]:
    if isinstance(perturbation, Hold) and not perturbation.writes:
        for writes in (1, 2, 3):
            yield replace(perturbation, writes=writes)
    elif isinstance(perturbation, Act) and perturbation.unseen:
        yield replace(perturbation, unseen=False)
    elif isinstance(perturbation, HandOver) and perturbation.actions:
        yield replace(perturbation, actions=0)
