"""A campaign: the baseline, then every plan, then pairs of them, then the confirmation of each violation."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kontend.live.baseline import Baseline, establish
from kontend.live.confirmation import Confirmation, Identity, Occurrence, identity
from kontend.live.gate.perturbation import HandOver
from kontend.live.gate.plan import Plan
from kontend.live.plans.derivation import derive, pairs_of
from kontend.live.properties.findings import Finding, findings, nearest_differences, never_held
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.verdicts.explanation import cause_of
from kontend.live.verdicts.verdict import Verdict, Violation

#: The number of times that a violation is tried again, and the most plans that are tried to shrink one.
_CONFIRMATIONS: Final = 3
_SHRINKS: Final = 10
#: The runs at the same time that are watched for healing, whatever ``jobs`` says.
_WATCHED: Final = 8


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
    #: Pairs of perturbations are tried after single ones; None: only in what is left of ``seconds``.
    pairs: bool | None = None
    confirmations: int = _CONFIRMATIONS
    shrinks: int = _SHRINKS
    #: A violation of the final state may heal by itself within so many seconds.
    heal: float = 0.0
    #: Called with the number of runs and of plans so far, for progress.
    progress: Callable[[int, int], None] | None = None


class Outcome(NamedTuple):
    """A plan, its run, and the properties that the run violates."""

    plan: Plan
    run: Run
    findings: tuple[Finding, ...]


class Campaign:
    """Explores one controller."""

    def __init__(self, setting: Setting, options: Options) -> None:
        self._setting = setting
        self._options = options
        self._slots = asyncio.Semaphore(options.jobs)
        #: Runs that are mostly silence.
        self._watched = asyncio.Semaphore(max(options.jobs, _WATCHED))
        self._notes: list[str] = []

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
        deadline = began + self._options.seconds if self._options.seconds else float("inf")
        singles = await self._carry_out(baseline, plans, deadline)
        shorter = await self._carry_out(baseline, list(shorter_plans(baseline, singles)), deadline)
        pairs = self._pairs(singles) if len(singles) == len(plans) else []
        doubles = await self._carry_out(baseline, pairs, deadline)
        seconds = loop.time() - began
        outcomes = [*singles, *shorter, *doubles]
        shown: dict[Identity, list[Occurrence]] = {}
        for outcome in outcomes:
            for finding in outcome.findings:
                shown.setdefault(identity(finding), []).append(Occurrence(finding, outcome.plan, outcome.run))
        confirmation = Confirmation(
            baseline,
            self._run,
            self._run_and_watch,
            repeats=self._options.confirmations,
            attempts=self._options.shrinks,
            heal=self._options.heal,
        )
        confirmed = await asyncio.gather(*map(confirmation.confirm, shown.values()))
        confirmed = await asyncio.gather(*map(confirmation.heal, confirmed, shown.values()))
        violations = [replace(violation, others=len(shown[identity(violation.finding)]) - 1) for violation in confirmed]
        return Verdict(
            baseline,
            len(plans),
            len(singles),
            tuple(
                _explained(violation, baseline)
                for violation in violations
                if violation.seen > 1 and violation.healed is None
            ),
            tuple(violation for violation in violations if violation.healed is not None),
            tuple(violation for violation in violations if violation.seen <= 1),
            tuple(outcome.plan for outcome in singles if outcome.run.missed and not outcome.run.blocked),
            seconds,
            (*self._notes, *_blocked(outcomes)),
            shorter=len(shorter),
            pairs=len(pairs),
            executed_pairs=len(doubles),
            untested=tuple(never_held([*baseline.runs, *(outcome.run for outcome in outcomes)])),
        )

    def _pairs(self, singles: Sequence[Outcome]) -> list[Plan]:
        """Pairs of the plans that have shown nothing by themselves."""
        wanted = self._options.seconds > 0 if self._options.pairs is None else self._options.pairs
        harmless = [
            single.plan
            for single in singles
            if not single.findings and not single.run.missed and not single.run.blocked
        ]
        return list(pairs_of(harmless)) if wanted else []

    async def _carry_out(self, baseline: Baseline, plans: Sequence[Plan], deadline: float) -> list[Outcome]:
        loop = asyncio.get_running_loop()
        done = 0

        async def one(plan: Plan) -> Outcome | None:
            nonlocal done
            async with self._slots:
                if loop.time() >= deadline:
                    return None
                run = await carry_out(baseline.setting, plan)
            done += 1
            if self._options.progress is not None:
                self._options.progress(done, len(plans))
            return Outcome(plan, run, tuple(findings(run, baseline.expected_after(plan.actions))))

        outcomes = await asyncio.gather(*(one(plan) for plan in plans))
        if self._options.jobs > 1 and any(outcome is not None and outcome.run.port_taken for outcome in outcomes):
            self._run_one_at_a_time()
            again = [
                one(outcome.plan) if outcome is not None and outcome.run.port_taken else _known(outcome)
                for outcome in outcomes
            ]
            outcomes = await asyncio.gather(*again)
        return [outcome for outcome in outcomes if outcome is not None]

    def _run_one_at_a_time(self) -> None:
        """Give up ``jobs``: the command binds a fixed port, so its processes are in each other's way."""
        self._slots = self._watched = asyncio.Semaphore(1)
        self._notes.append(
            "one run at a time, whatever --jobs says: the command binds a fixed port; put {port} in its place, or "
            "switch the listener off"
        )

    async def _run(self, setting: Setting, plan: Plan) -> Run:
        async with self._slots:
            return await carry_out(setting, plan)

    async def _run_and_watch(self, setting: Setting, plan: Plan) -> Run:
        async with self._watched:
            return await carry_out(setting, plan)


def _explained(violation: Violation, baseline: Baseline) -> Violation:
    return replace(violation, cause=cause_of(violation.finding, violation.run, baseline))


async def _known(outcome: Outcome | None) -> Outcome | None:
    return outcome


def shorter_plans(baseline: Baseline, outcomes: Sequence[Outcome]) -> Iterator[Plan]:
    """Plans in which the user stops where a run was not in the state of unperturbed ones.

    The next action of the user may have made up for it, and on a cluster it may never come. Not so for hand-overs: no
    lock keeps a former leader from a late create, which only a later reconcile can undo.
    """
    actions = len(baseline.setting.workload.actions)
    expected = {number: baseline.expected_after(number) for number in range(actions)}
    for plan, run, found in outcomes:
        if found or run.blocked or run.missed or plan.actions is not None:
            continue
        if any(isinstance(perturbation, HandOver) for perturbation in plan.perturbations):
            continue
        for number, state in run.settled.items():
            if number < actions and nearest_differences(run, state, expected[number]):
                yield replace(plan, actions=number)
                break


def _blocked(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The reasons for which plans could not be carried out, and how many."""
    reasons = Counter(outcome.run.blocked for outcome in outcomes if outcome.run.blocked)
    return tuple(f"{count} plans could not be carried out: {reason}" for reason, count in reasons.items())
