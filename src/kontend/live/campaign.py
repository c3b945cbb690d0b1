"""A campaign: the baseline, then every plan, then pairs of them; what they show is confirmed at once.

Whatever ends it early (the time, Ctrl-C), what is known by then is the verdict.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kontend.live.baseline import Baseline, Unusable, establish
from kontend.live.confirmation import Confirmation, Identity, Occurrence, identity
from kontend.live.controls import Controls
from kontend.live.gate.plan import Plan
from kontend.live.origins import code_of
from kontend.live.plans.derivation import derive, pairs_of
from kontend.live.plans.order import Ranking
from kontend.live.plans.shrinking import shorter_plans
from kontend.live.properties.findings import Finding, findings, never_held
from kontend.live.runs.outcome import Run
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import Setting
from kontend.live.slots import Kind, Slots, fitting, processors
from kontend.live.verdicts.explanation import cause_of
from kontend.live.verdicts.verdict import Verdict, Violation

#: The number of times that a violation is tried again, and the most plans that are tried to shrink one.
_CONFIRMATIONS: Final = 3
_SHRINKS: Final = 10
#: The least number of runs at the same time that are watched for healing; otherwise twice ``jobs``.
_WATCHED: Final = 8
#: The part of the time in which plans are begun: the rest is for what they have shown.
_PLANS: Final = 0.85
#: The seconds that are left for the last confirmations besides the watch for healing.
_LAST: Final = 30.0


class Progress(NamedTuple):
    """The state of a campaign: plans done and in all, violations so far, and the seconds that are left, if known."""

    done: int
    plans: int
    violations: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Options:
    """Limits of a campaign."""

    #: The runs at the same time; 0: as many as the processors have room for, by an unperturbed run.
    jobs: int = 1
    #: The most seconds that the whole command takes; 0 is no limit.
    seconds: float = 0.0
    #: Only plans whose name contains this text.
    only: str = ""
    #: Plans to carry out instead of the derived ones.
    plans: tuple[Plan, ...] = ()
    #: Pairs of perturbations are tried after single ones; None: only in what is left of ``seconds``.
    pairs: bool | None = None
    confirmations: int = _CONFIRMATIONS
    shrinks: int = _SHRINKS
    #: The seconds that the command has spent before.
    spent: float = 0.0
    #: A violation of the final state may heal by itself within this number of seconds.
    heal: float = 0.0
    #: Called after each run of a plan.
    progress: Callable[[Progress], None] | None = None
    #: Called with the baseline, and with each violation as soon as it is confirmed and explained.
    established: Callable[[Baseline], None] | None = None
    found: Callable[[Violation, Baseline], None] | None = None
    #: Called with each run, to keep its log.
    ran: Callable[[Run], None] | None = None


class JudgedRun(NamedTuple):
    """A plan, its run, and the properties that the run violates."""

    plan: Plan
    run: Run
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Ledger:
    """Knowledge of a campaign so far: the outcomes, and the violations behind them."""

    baseline: Baseline
    plans: list[Plan]
    singles: dict[Plan, JudgedRun] = field(default_factory=dict)
    shorter: dict[Plan, JudgedRun] = field(default_factory=dict)
    pairs: list[Plan] = field(default_factory=list)
    doubles: dict[Plan, JudgedRun] = field(default_factory=dict)
    #: The occurrences of each finding, and the violation that it is, once that is known.
    shown: dict[Identity, list[Occurrence]] = field(default_factory=dict)
    confirmed: dict[Identity, Violation] = field(default_factory=dict)
    #: The reason for which the campaign ended early; empty if it did not.
    stopped: str = ""

    @property
    def outcomes(self) -> list[JudgedRun]:
        """All outcomes, in the order of their plans."""
        known = (self.singles, self.shorter, self.doubles)
        order = {plan: at for at, plan in enumerate([*self.plans, *self.pairs])}
        return [each for many in known for each in sorted(many.values(), key=lambda each: order.get(each.plan, 0))]

    def occurrences(self, of: Identity) -> list[Occurrence]:
        """Return the occurrences of a finding, in the order of their plans."""
        order = {outcome.plan: at for at, outcome in enumerate(self.outcomes)}
        return sorted(self.shown[of], key=lambda each: order.get(each.plan, len(order)))


def out_of_time(seconds: float) -> Unusable:
    """Return the error of a command whose time is up before anything was perturbed."""
    return Unusable(
        f"the unperturbed runs were not over after {seconds:g} s (--seconds): give it more time, or fewer "
        "--actions; --patience and --observe say how long a silence they wait for"
    )


class Campaign:
    """Explores one controller."""

    def __init__(self, setting: Setting, options: Options) -> None:
        self._setting = setting
        self._options = options
        self._jobs = options.jobs or 1
        self._slots = Slots({Kind.PLAN: self._jobs, Kind.WATCH: max(2 * self._jobs, _WATCHED)})
        self._notes: list[str] = []
        self._runs = 0
        self._deadline = self._end = float("inf")
        if setting.webhooks is not None and setting.webhooks.has_fixed_port:
            self._run_one_at_a_time()  # the server of one run would call the process of another

    async def baseline(self) -> Baseline:
        """Run the controller without perturbations; raises :class:`~kontend.live.baseline.Unusable`."""
        return await establish(self._setting, self._carry_out)

    def plans(self, baseline: Baseline) -> list[Plan]:
        """Return the plans to carry out, those first from which most is expected."""
        if not baseline.expected.finals:
            return []
        plans = list(self._options.plans) or Ranking(baseline).sorted(derive(baseline))
        return [plan for plan in plans if self._options.only in plan.name]

    async def explore(self) -> Verdict:
        """Return the verdict on the controller; of what is known, if the time is up or Ctrl-C ends it."""
        loop = asyncio.get_running_loop()
        began = loop.time() - self._options.spent
        limit = self._options.seconds or None
        self._end = began + (limit or float("inf"))
        self._deadline = began + (limit * _PLANS if limit else float("inf"))
        try:
            async with asyncio.timeout_at(began + limit if limit else None):
                baseline = await self.baseline()
        except TimeoutError:
            raise out_of_time(self._options.seconds) from None
        ledger = _Ledger(baseline, self.plans(baseline))
        if baseline.fixed_ports:
            self._run_one_at_a_time()
        elif not self._options.jobs:
            self._choose_jobs(baseline.runs[-1])
        if self._options.established is not None:
            self._options.established(baseline)
        explored = loop.time()
        try:
            async with asyncio.timeout_at(began + limit if limit else None):
                await self._explore(ledger)
        except TimeoutError:
            ledger.stopped = f"the time was up (--seconds {limit:g})"
        except asyncio.CancelledError:
            ledger.stopped = "it was interrupted"
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()  # what is known is returned
        return self._verdict(ledger, loop.time() - explored)

    async def _explore(self, ledger: _Ledger) -> None:
        baseline, options = ledger.baseline, self._options
        controls = Controls(baseline, self.run, self._run_and_watch, observe=options.heal)
        confirmation = Confirmation(
            baseline,
            self.run,
            self._run_and_watch,
            repeats=options.confirmations,
            attempts=options.shrinks,
            heal=options.heal,
            controls=controls,
            one_at_a_time=lambda: self._slots.serial,
            hurried=lambda: asyncio.get_running_loop().time() + options.heal + _LAST > self._end,
        )
        if ledger.plans and self._jobs > 1 and not self._slots.serial:
            controls.begin()  # beside the plans: otherwise what they show waits for it
        try:
            async with asyncio.TaskGroup() as group:
                judge = _Judge(self, ledger, confirmation, group)
                await self._carry_out_all(ledger.plans, ledger.singles, ledger, judge)
                shorter = list(shorter_plans(baseline, list(ledger.singles.values())))
                await self._carry_out_all(shorter, ledger.shorter, ledger, judge)
                if len(ledger.singles) == len(ledger.plans):
                    ledger.pairs = self._pairs(list(ledger.singles.values()))
                await self._carry_out_all(ledger.pairs, ledger.doubles, ledger, judge)
            async with asyncio.TaskGroup() as group:
                _Judge(self, ledger, confirmation, group).judge_the_rest()
        finally:
            await confirmation.stop()
            await controls.stop()

    def _verdict(self, ledger: _Ledger, seconds: float) -> Verdict:
        baseline, outcomes = ledger.baseline, ledger.outcomes
        order = {identity(finding): at for at, finding in enumerate(f for each in outcomes for f in each.findings)}
        violations: dict[Identity, Violation] = {}
        for of in sorted(ledger.shown, key=lambda each: order.get(each, 0)):
            occurrences = ledger.occurrences(of)
            known = ledger.confirmed.get(of) or Violation(*occurrences[0], 1, 1)
            if _is_certain(known) and not known.cause.sentence:
                known = _explained(known, baseline)
            same = violations.setdefault(identity(known.finding), replace(known, others=-1))
            violations[identity(known.finding)] = replace(same, others=same.others + len(occurrences))
        every = list(violations.values())
        singles = sorted(ledger.singles.values(), key=lambda each: ledger.plans.index(each.plan))
        return Verdict(
            baseline,
            len(ledger.plans),
            len(singles),
            tuple(each for each in every if _is_certain(each)),
            tuple(each for each in every if each.healed is not None),
            tuple(each for each in every if (each.seen <= 1 or each.may_heal) and not each.unjudged),
            tuple(outcome.plan for outcome in singles if outcome.run.missed and not outcome.run.blocked),
            seconds,
            (*self._notes, *_blocked(outcomes)),
            shorter=len(ledger.shorter),
            pairs=len(ledger.pairs),
            executed_pairs=len(ledger.doubles),
            untested=tuple(never_held([*baseline.runs, *(outcome.run for outcome in outcomes)])),
            unjudged=tuple(each for each in every if each.unjudged),
            stopped=ledger.stopped,
        )

    def _pairs(self, singles: Sequence[JudgedRun]) -> list[Plan]:
        """Pairs of the plans that have shown nothing by themselves."""
        wanted = self._options.seconds > 0 if self._options.pairs is None else self._options.pairs
        harmless = [
            single.plan
            for single in singles
            if not single.findings and not single.run.missed and not single.run.blocked
        ]
        return list(pairs_of(harmless)) if wanted else []

    async def _carry_out_all(
        self, plans: Sequence[Plan], outcomes: dict[Plan, JudgedRun], ledger: _Ledger, judge: _Judge
    ) -> None:
        """Carry out plans, those first from which most is expected by now, as long as there is time to begin one."""
        ranking = Ranking(ledger.baseline)
        waiting = list(plans)

        async def work() -> None:
            while waiting and asyncio.get_running_loop().time() < self._deadline:
                plan = ranking.take(waiting)
                run = await self.run(ledger.baseline.setting, plan)
                known = {identity(each) for each in ledger.baseline.findings}
                judged = findings(run, ledger.baseline.expected_after(plan.actions))
                found = tuple(each for each in judged if identity(each) not in known)  # no plan explains those
                outcomes[plan] = JudgedRun(plan, run, found)
                ranking.learn(plan, found=bool(found))
                if run.blocked:  # as will be all that need the same
                    for other in [each for each in waiting if each.hands_over and plan.hands_over]:
                        waiting.remove(other)
                        outcomes[other] = JudgedRun(other, replace(run, plan=other), ())
                self._report(len(outcomes), len(plans), ledger)
                await judge.judge(outcomes[plan])

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._jobs, len(waiting))):
                group.create_task(work())

    def _report(self, done: int, plans: int, ledger: _Ledger) -> None:
        if self._options.progress is None:
            return
        alarms = sum(map(_is_certain, ledger.confirmed.values()))
        took = [outcome.run.seconds for outcome in ledger.outcomes]
        left = (plans - done) * sum(took) / len(took) / self._jobs
        rest = self._deadline / _PLANS - asyncio.get_running_loop().time() if self._options.seconds else left
        self._options.progress(Progress(done, plans, alarms, min(left, max(0.0, rest))))

    def tell(self, violation: Violation, baseline: Baseline) -> None:
        """Pass on a violation that is confirmed and explained."""
        if self._options.found is not None:
            self._options.found(violation, baseline)

    def _choose_jobs(self, run: Run) -> None:
        """Run as many plans at the same time as there are processors for: most of a run is silence."""
        if self._slots.serial:
            return
        self._jobs = fitting(run.processor, run.seconds, processors())
        self._slots.limit(Kind.PLAN, self._jobs)
        self._slots.limit(Kind.WATCH, max(2 * self._jobs, _WATCHED))
        self._notes.append(f"{self._jobs} run{'s'[: self._jobs != 1]} at the same time (--jobs)")

    def _run_one_at_a_time(self) -> None:
        """Give up ``jobs``: the command binds a fixed port, so its processes are in each other's way."""
        note = (
            "one run at a time, whatever --jobs says: the command binds a fixed port; put {port} in its place, or "
            "switch the listener off"
        )
        if not self._slots.serial:
            self._slots.serial = True
            self._notes.append(note)

    async def run(self, setting: Setting, plan: Plan) -> Run:
        """Carry out a run when there is room for it."""
        return await self._run_in_slot(Kind.PLAN, setting, plan)

    async def _run_and_watch(self, setting: Setting, plan: Plan) -> Run:
        return await self._run_in_slot(Kind.WATCH, setting, plan)

    async def _run_in_slot(self, kind: Kind, setting: Setting, plan: Plan) -> Run:
        while True:
            async with self._slots.take(kind) as slot:
                run = await self._carry_out(setting, plan)
            if slot.alone or not run.port_taken:
                return run
            self._run_one_at_a_time()

    async def _carry_out(self, setting: Setting, plan: Plan) -> Run:
        run = await carry_out(setting, plan)
        self._runs += 1
        run = replace(run, number=self._runs)
        if self._options.ran is not None:
            self._options.ran(run)
        return run


class _Judge:
    """Confirms findings as they come. What may heal is watched beside the plans: that is mostly silence."""

    def __init__(
        self, campaign: Campaign, ledger: _Ledger, confirmation: Confirmation, group: asyncio.TaskGroup
    ) -> None:
        self._campaign = campaign
        self._ledger = ledger
        self._confirmation = confirmation
        self._group = group

    async def judge(self, outcome: JudgedRun) -> None:
        """Note what a run has shown, and confirm what is new."""
        new = []
        for finding in outcome.findings:
            of = identity(finding)
            if of not in self._ledger.shown:
                new.append(of)
            self._ledger.shown.setdefault(of, []).append(Occurrence(finding, outcome.plan, outcome.run))
        for of in new:
            await self._confirm(of)

    def judge_the_rest(self) -> None:
        """Try again what was not confirmed by the first plan that has shown it: others have shown it since."""
        for of in self._ledger.shown:
            known = self._ledger.confirmed.get(of)
            if known is None or (known.seen <= 1 and not known.unjudged and len(self._ledger.shown[of]) > 1):
                self._group.create_task(self._confirm(of))

    async def _confirm(self, of: Identity) -> None:
        violation = await self._confirmation.confirm(self._ledger.occurrences(of))
        self._ledger.confirmed[of] = replace(violation, may_heal=self._confirmation.may_heal(violation))
        if violation.seen > 1 and not violation.unjudged:
            self._group.create_task(self._conclude(of, violation))

    async def _conclude(self, of: Identity, violation: Violation) -> None:
        violation = await self._confirmation.heal(violation, self._ledger.occurrences(of))
        baseline = self._ledger.baseline
        known = any(
            identity(each.finding) == identity(violation.finding) and each.cause.sentence
            for each in self._ledger.confirmed.values()
        )
        explained = violation if violation.healed is not None else _explained(violation, baseline)
        if violation.healed is None and not known:
            code = await code_of(explained, baseline.setting, self._campaign.run)
            explained = replace(explained, code=code)
        self._ledger.confirmed[of] = explained
        if violation.healed is None and not known:
            self._campaign.tell(explained, baseline)


def _is_certain(violation: Violation) -> bool:
    return violation.seen > 1 and violation.healed is None and not violation.unjudged and not violation.may_heal


def _explained(violation: Violation, baseline: Baseline) -> Violation:
    return replace(violation, cause=cause_of(violation.finding, violation.run, baseline))


def _blocked(outcomes: Sequence[JudgedRun]) -> tuple[str, ...]:
    """Return the reasons for which plans could not be carried out, and how many."""
    reasons = Counter(outcome.run.blocked for outcome in outcomes if outcome.run.blocked)
    return tuple(f"{count} plans could not be carried out: {reason}" for reason, count in reasons.items())
