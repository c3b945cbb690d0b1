"""Verdicts: which plans were carried out, what they have shown, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kontend.live.baseline import Baseline
from kontend.live.gate.plan import Plan
from kontend.live.properties.findings import PROCESS_EXIT, Finding
from kontend.live.runs.outcome import Run
from kontend.live.verdicts.explanation import Cause

#: The cause of a finding that is not reported as a violation: nothing asks for it.
_NOT_EXPLAINED: Final = Cause("")


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated property, the simplest plan that shows it, and how often that plan did."""

    finding: Finding
    plan: Plan
    run: Run
    #: It has occurred in ``seen`` of ``runs`` runs of the plan.
    seen: int
    runs: int
    #: Other plans that have shown the same.
    others: int = 0
    #: The seconds after which the process has repaired it by itself, if it has.
    healed: float | None = None
    cause: Cause = _NOT_EXPLAINED

    @property
    def rate(self) -> str:
        """The rate in words."""
        return f"{self.seen} of {self.runs} runs"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of ``kontend live``."""

    baseline: Baseline
    plans: int
    executed: int
    violations: tuple[Violation, ...]
    #: Violations of the final state that the process repairs by itself, later than a run waits.
    healing: tuple[Violation, ...]
    #: Findings that did not occur again.
    unconfirmed: tuple[Violation, ...]
    #: Plans whose point was never reached.
    unreached: tuple[Plan, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    #: Plans that were carried out again with fewer actions of the user.
    shorter: int = 0
    #: Pairs of perturbations, which follow the plans within the time limit.
    pairs: int = 0
    executed_pairs: int = 0
    #: ``sometimes`` properties that held in no state of any run.
    untested: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether all plans with one perturbation were carried out."""
        return self.executed == self.plans

    @property
    def violated(self) -> bool:
        """Return whether a property is violated."""
        return bool(self.violations or self.baseline.findings or self.untested)

    @property
    def ok(self) -> bool:
        """Return whether nothing was found and nothing was left out."""
        return not self.violated and not self.undecided

    @property
    def undecided(self) -> str:
        """The reason why nothing is known although nothing was found; empty if there is none."""
        exits = sum(violation.finding.property == PROCESS_EXIT for violation in self.unconfirmed)
        if not self.complete:
            return "not all plans were carried out"
        if not self.baseline.runs[0].log.writes() and not self.baseline.setting.workload.actions:
            return (
                "the controller has written nothing, so nothing could be perturbed; do --actions or --objects have an "
                "object that it works on?"
            )
        if not self.executed:
            return "no plan was carried out; --list-plans prints the names that --only chooses from"
        if exits:
            return f"the process exited by itself in {exits} run{'s'[: exits != 1]}"
        return ""

    def lines(self) -> Iterator[str]:
        """The verdict as text."""
        baseline = self.baseline
        first = baseline.runs[0]
        writes = len(first.log.writes())
        watches = ", ".join(sorted(first.caches)) or "nothing"
        yield (
            f"baseline: {len(baseline.runs)} runs, {writes} writes, watches {watches}; "
            f"idle after {baseline.setting.patience.silence:.2f} s of silence"
        )
        for note in (*baseline.notes, *self.notes):
            yield f"note: {note}"
        for finding in baseline.findings:
            yield f"VIOLATION without any perturbation: {finding.property}: {finding.sentence}"
        for name in self.untested:
            yield f"VIOLATION {name}: it holds in no state of any run"
        runs = self.executed + self.shorter + self.executed_pairs
        shorter = f", {self.shorter} again with fewer user actions" if self.shorter else ""
        pairs = f", {self.executed_pairs} of {self.pairs} pairs of them" if self.pairs else ""
        rate = f", {runs / self.seconds:.1f} a second" if self.seconds and runs else ""
        yield f"plans: {self.executed} of {self.plans}{shorter}{pairs} carried out in {self.seconds:.1f} s{rate}"
        for plan in self.unreached:
            yield f"not reached: {plan.name}"
        for violation in self.violations:
            yield f"VIOLATION {violation.finding.property}: {violation.finding.sentence}"
            yield f"  cause: {violation.cause.sentence}"
            others = _others(violation.others) if violation.others else ""
            yield f"  plan: {violation.plan.name} ({violation.plan.reason})"
            yield f"  occurred in {violation.rate}{others}"
        for violation in self.healing:
            yield (
                f"heals by itself after {violation.healed:.0f} s: {violation.finding.property} by "
                f"{violation.plan.name}: {violation.finding.sentence}"
            )
        for violation in self.unconfirmed:
            yield f"not confirmed: {violation.finding.property} by {violation.plan.name}: {violation.finding.sentence}"
        if self.ok:
            pairs = f" and {self.executed_pairs} pairs" if self.executed_pairs else ""
            yield f"no violation in {self.executed} plan{'s'[: self.executed != 1]}{pairs}"
        elif not self.violated:
            yield f"undecided: {self.undecided}"


def _others(count: int) -> str:
    return f"; {count} other plans show the same" if count > 1 else "; 1 other plan shows the same"
