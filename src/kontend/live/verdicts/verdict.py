"""Verdicts: which plans were carried out, what they have shown, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kontend.live.baseline import Baseline, tail_of
from kontend.live.gate.plan import Plan
from kontend.live.properties.findings import PROCESS_EXIT, Finding
from kontend.live.runs.outcome import Run
from kontend.live.verdicts.explanation import Cause
from kontend.live.verdicts.remedy import remedies

#: The cause of a finding that is not reported as a violation: nothing asks for it.
_NOT_EXPLAINED: Final = Cause("")
#: The fields that are named of findings that cannot be judged.
_PLACES: Final = 3


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
    #: The seconds for which the idle process was watched without repairing it.
    watched: float = 0.0
    cause: Cause = _NOT_EXPLAINED
    #: The lines of the controller's code from which its writes come.
    code: tuple[str, ...] = ()
    #: It has occurred again, but was not watched to the end yet: it may heal by itself.
    may_heal: bool = False
    #: Unperturbed runs show the same, so the perturbation does not explain it.
    unjudged: bool = False

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
    #: Findings that the perturbation does not explain: unperturbed runs show the same.
    unjudged: tuple[Violation, ...] = ()
    #: The reason for which not everything was done; empty if it was.
    stopped: str = ""

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
        if self.baseline.vacuous:
            return self.baseline.vacuous
        if not self.complete:
            return f"not all plans were carried out{f': {self.stopped}' if self.stopped else ''}"
        if not self.executed:
            return "no plan was carried out; --list-plans prints the names that --only chooses from"
        if exits:
            return f"the process exited by itself in {exits} run{'s'[: exits != 1]}"
        if self.stopped:
            return f"not everything was confirmed: {self.stopped}"
        if self.unjudged or self.baseline.disagreement:
            return "some final states cannot be judged: unperturbed runs differ in them too"
        if self.baseline.waiting:
            return f"{self.baseline.waiting}, also without any perturbation: what follows after that was not tried"
        return ""

    def lines(self) -> Iterator[str]:
        """Yield the verdict as text."""
        yield from head_of(self.baseline)
        yield from self.summary()
        for violation in self.violations:
            yield from lines_of(violation)
        yield from self.rest()

    def summary(self) -> Iterator[str]:
        """Yield the verdict as text: the plans."""
        for note in self.notes:
            yield f"note: {note}"
        for name in self.untested:
            yield f"VIOLATION {name}: it holds in no state of any run"
        yield self.plans_line()
        for plan in self.unreached:
            yield f"not reached: {plan.name}"

    def rest(self) -> Iterator[str]:
        """Yield the verdict as text: what follows the violations."""
        for violation in self.healing:
            yield (
                f"heals by itself after {violation.healed:.0f} s: {violation.finding.property} by "
                f"{violation.plan.name}: {violation.finding.sentence}"
            )
        for places, violations in self._unjudged().items():
            yield (
                f"cannot be judged: {places}: unperturbed runs differ in it too, or it changes while nothing happens "
                f"({len(violations)} plan{'s'[: len(violations) != 1]}, such as {violations[0].plan.name})"
            )
        for violation in self.unconfirmed:
            yield (
                f"not confirmed: {violation.finding.property} by {violation.plan.name}{_open(violation)}: "
                f"{violation.finding.sentence}"
            )
        if self.ok:
            pairs = f" and {self.executed_pairs} pairs" if self.executed_pairs else ""
            yield f"no violation in {self.executed} plan{'s'[: self.executed != 1]}{pairs}"
        elif not self.violated:
            if self.baseline.vacuous:
                yield f"the end of the output of an unperturbed run:\n{tail_of(self.baseline.runs[0])}"
            yield f"undecided: {self.undecided}"

    def plans_line(self) -> str:
        """Return the number of plans that were carried out, and the time that they took."""
        runs = self.executed + self.shorter + self.executed_pairs
        shorter = f", {self.shorter} again with fewer user actions" if self.shorter else ""
        pairs = f", {self.executed_pairs} of {self.pairs} pairs of them" if self.pairs else ""
        rate = f", {runs / self.seconds:.1f} a second" if self.seconds and runs else ""
        stopped = f"; {self.stopped}" if self.stopped else ""
        return (
            f"plans: {self.executed} of {self.plans}{shorter}{pairs} carried out in {self.seconds:.1f} s{rate}{stopped}"
        )

    def _unjudged(self) -> dict[str, list[Violation]]:
        """Return the findings that cannot be judged, by the fields that they are about."""
        by_place: dict[str, list[Violation]] = {}
        for violation in self.unjudged:
            places = dict.fromkeys(str(each.place) for each in violation.finding.difference)
            more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
            by_place.setdefault(", ".join([*places][:_PLACES]) + more, []).append(violation)
        return by_place


def head_of(baseline: Baseline) -> Iterator[str]:
    """Yield the baseline as text."""
    first = baseline.runs[0]
    writes = len(first.log.writes())
    watches = ", ".join(sorted(first.caches)) or "nothing"
    yield (
        f"baseline: {len(baseline.runs)} runs, {writes} writes, watches {watches}; "
        f"idle after {baseline.setting.patience.silence:.2f} s of silence"
    )
    for note in baseline.notes:
        yield f"note: {note}"
    if baseline.waiting:
        yield f"note: {baseline.waiting}, also without any perturbation: what follows after that is not tried"
    if baseline.disagreement:
        yield f"cannot be judged: unperturbed runs end in different states: {baseline.disagreement}"
    for finding in baseline.findings:
        yield f"VIOLATION without any perturbation: {finding.property}: {finding.sentence}"


def lines_of(violation: Violation) -> Iterator[str]:
    """A violation as text."""
    yield f"VIOLATION {violation.finding.property}: {violation.finding.sentence}"
    yield f"  cause: {violation.cause.sentence}"
    for line in violation.code:
        yield f"  code: {line}"
    for remedy in remedies(violation.finding, violation.run):
        yield f"  fix: {remedy}"
    yield f"  plan: {violation.plan.name} ({violation.plan.reason})"
    log = f"; log {violation.run.number:04d}.log" if violation.run.number else ""
    watched = f"; not repaired within {violation.watched:.0f} s" if violation.watched else ""
    yield f"  occurred in {violation.rate}{watched}{_others(violation.others) if violation.others else ''}{log}"


def _open(violation: Violation) -> str:
    return f" ({violation.rate}; the time was up before it could heal by itself)" if violation.may_heal else ""


def _others(count: int) -> str:
    return f"; {count} other plans show the same" if count > 1 else "; 1 other plan shows the same"
