"""Verdicts: what holds, what is violated, and what the search covered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

from kontend.cluster.state import State
from kontend.explore.model.step import Step
from kontend.report import WIDTH
from kontend.report.document import Document
from kontend.report.grouping import grouped
from kontend.report.text import render
from kontend.runtime.source_location import SourceLocation


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated property, with a trace that shows it.

    >>> print(Violation("one_plan", "one_plan is broken by a patch", ("widgets starts", "widgets patches")))
    one_plan: violated after 2 steps (shortest)
      one_plan is broken by a patch
      1 widgets starts
      2 widgets patches
    """

    property: str
    sentence: str
    #: The trace, a line for each step.
    trace: tuple[str, ...]
    #: The schedule that produces it.
    schedule: tuple[Step, ...] = ()
    #: The number of steps that are perturbations: stale reads, relists, overlapping reconciles, users who interrupt.
    perturbations: int = 0
    #: The length of the trace: none with as few perturbations is shorter, or it was shrunk, or it was given.
    how: Literal["shortest", "shrunk", "given"] = "shortest"
    #: Reproduces the trace in a test: ``@reproduce("...")``. Empty for a violation that has no trace.
    token: str = ""
    #: The number of times that the search has found it, in different states.
    count: int = field(default=1, compare=False)
    #: The line of code that is at fault, where the violation is a single write.
    line: SourceLocation | None = field(default=None, compare=False)
    #: The sentence without the writes that it names; empty where it names none.
    plain: str = field(default="", compare=False)

    def __str__(self) -> str:
        lines = "".join(f"\n  {number} {text}" for number, text in enumerate(self.trace, 1))
        steps = f"{len(self.trace)} step{'s' * (len(self.trace) != 1)}"
        after = f"violated after {steps} ({self.how})" if self.trace else "violated"
        sentence = self.sentence.replace("\n", "\n  ")
        return f"{self.property}: {after}\n  {sentence}{lines}"


class Suggestion(NamedTuple):
    """A bound with which a search is likely to decide more."""

    #: The name of the bound, and its value.
    bound: str
    value: int
    #: The expected number of states; 0 where it is not known.
    states: int = 0


class Reached(NamedTuple):
    """The frequency of a final state in a search."""

    #: The number of quiescent states of a search, or of walks, that end in it.
    times: int
    #: An unperturbed run reaches it.
    unperturbed: bool


@dataclass(slots=True, repr=False)
class Verdict:
    """The result of an exploration. It is true when everything holds in the whole bounded space.

    >>> bool(Verdict(exhausted=True)), bool(Verdict(exhausted=False, stopped="it was interrupted"))
    (True, False)
    """

    violations: list[Violation] = field(default_factory=list)
    #: The different final states, up to made-up names.
    final_states: list[State] = field(default_factory=list)
    #: For each of them how often it was reached.
    reached: list[Reached] = field(default_factory=list)
    #: The number of states at depth 0, 1, …; empty for walks.
    depths: tuple[int, ...] = ()
    states: int = 0
    steps: int = 0
    #: The number of sets of states that show that everything holds; 0 where all states were visited one by one.
    sets: int = 0
    #: True if the whole space within the bounds was searched; if not, the reason why the search stopped.
    exhausted: bool = False
    stopped: str = ""
    #: The name of the bound at which the search stopped; empty for none.
    limit: str = ""
    #: The number of states with 0, 1, … perturbations; empty for walks.
    levels: tuple[int, ...] = ()
    #: Everything holds in all runs with up to this number of perturbations; -1 where that is known of none.
    certain: int = -1
    #: Bounds that may decide more than a search that stopped at a limit.
    suggestions: tuple[Suggestion, ...] = ()
    #: States that were found and not expanded, or walks that were cut off.
    cut: int = 0
    #: States beyond which the search did not go because a reconcile kept raising the same programming error.
    stuck: int = 0
    #: States that were not followed because they repeat an earlier one up to generations and made-up names.
    repeated: int = 0
    #: Describes the walks that were made; empty for an exhaustive search.
    walks: str = ""
    #: The number of final states that an unperturbed run reaches.
    baseline_states: int = 0
    #: Properties that were never exercised.
    untested: list[str] = field(default_factory=list)
    #: Parts of the scenario that never took effect, a sentence each.
    warnings: list[str] = field(default_factory=list)
    #: Further remarks, a sentence each.
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: The number of different reconcile runs.
    runs: int = 0
    #: The number of processes that expanded states, and the number that was asked for. The rest does not depend on it.
    processes: int = field(default=1, compare=False)
    jobs: int = field(default=1, compare=False)
    #: The bounds that were explored, and the perturbations that were not tried.
    bounds: str = ""
    not_tried: tuple[str, ...] = ()
    #: The guards of the runtime that were on; None where that is not known.
    guards: tuple[str, ...] | None = None
    #: Says why a recorded counterexample does not happen any more, where the search only followed it.
    not_reproduced: str = ""
    #: Explains a violation. It runs user code once more, so explanations are made when they are asked for.
    explain: Callable[[Violation], Document] | None = field(default=None, compare=False)
    _documents: list[Document] | None = field(default=None, init=False, compare=False)

    @property
    def documents(self) -> list[Document]:
        """The explanations of the violations, in the same order; none where the verdict cannot explain them."""
        if self.explain is None:
            return []
        if self._documents is None:
            self._documents = [self.explain(violation) for violation in self.violations]
        return self._documents

    def amend(self, change: Callable[[Document], Document]) -> None:
        """Change the explanations, before they are shown or saved."""
        self._documents = [change(document) for document in self.documents]

    def explanation(self, *, verbose: bool = False, width: int = WIDTH) -> str:
        """The violations with their causes and traces, those with the same cause as one.

        ``verbose`` shows every step and every field; ``width`` is that of a narrow terminal.
        """
        if self.explain is None:
            return "\n".join(map(str, self.violations))
        return "\n\n".join(render(document, verbose=verbose, width=width) for document in grouped(self.documents))

    @property
    def ok(self) -> bool:
        """Everything holds in the whole bounded space; or a recorded counterexample does not happen any more."""
        return (self.exhausted or bool(self.not_reproduced)) and not self.violations

    def __bool__(self) -> bool:
        return self.ok

    def raise_for_violations(self) -> None:
        """Raise ``AssertionError`` with the traces unless everything holds in the whole bounded space."""
        if not self.ok:
            raise AssertionError(str(self))

    @property
    def coverage(self) -> str:
        """The bounds, and what was not tried."""
        return ", ".join([self.bounds, *(f"no {name}" for name in self.not_tried)])

    @property
    def summary(self) -> str:
        """The extent of the search in one line, with the outcome where nothing is violated."""
        if self.not_reproduced:
            return f"not reproduced: {self.not_reproduced}"
        if self.ok:
            all_states = f"all states, as {self.sets:,} sets of them" if self.sets else f"all {self.states:,} states"
            return f"holds in {all_states} ({self.coverage})"
        if self.walks:
            sentence = f"found in {self.walks}; there may be more"
            return sentence if self.violations else f"nothing found in {self.walks}; that proves nothing"
        if not self.exhausted:
            what = "the search is incomplete" if self.violations else f"undecided: {self._grade()}"
            return f"{what}, because {self.stopped} ({self.coverage})"
        return f"searched all {self._count()} ({self.coverage})"

    def _grade(self) -> str:
        """Describe the runs that were all searched where the search stopped."""
        if self.certain < 0:
            return "the space was not exhausted"
        sure, seen = sum(self.levels[: self.certain + 1]), sum(self.levels[self.certain + 1 :])
        return f"holds in all runs {_with(self.certain)} ({_states(sure)}); with more: {_states(seen)} seen, not all"

    def _suggested(self) -> str:
        """The bounds that may decide more, as options of the command line."""
        described = []
        for bound, value, states in self.suggestions:
            seconds = _rounded(self.seconds * states / max(1, self.states))
            if bound == "perturbations":
                described.append(f"--perturbations {value} accepts this")
            elif bound != "states":
                described.append(f"--{bound} {value}" + f" (needs about {_rounded(states):,} states)" * bool(states))
            elif self.limit == "seconds":
                described.append(f"--seconds {seconds}")
            else:
                described.append(f"--states {_rounded(states)} (about {seconds:,} s)")
        return f"to decide more: {', '.join(described)}"

    def __repr__(self) -> str:
        """Return one line with the first cause: this is what a failed ``assert check(...)`` shows."""
        if self.violations:
            documents = self.documents
            first = documents[0].violation.sentence if documents else self.violations[0].sentence
            names = ", ".join(dict.fromkeys(violation.property for violation in self.violations))
            return f"<Verdict: violated: {names}: {' '.join(first.split())}; print(verdict) shows the trace>"
        if self.not_reproduced:
            return f"<Verdict: not reproduced: {self.not_reproduced}>"
        if self.ok:
            return f"<Verdict: holds in all {f'states, as {self.sets:,} sets' if self.sets else self._count()}>"
        if self.certain >= 0 and self.stopped:
            return f"<Verdict: undecided: {self._grade()}, because {self.stopped}>"
        return f"<Verdict: undecided, because {self.stopped or 'the search has not ended'}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, *, verbose: bool = False, width: int = WIDTH) -> str:
        """The whole verdict; ``verbose`` shows every step and every field, ``width`` is that of a narrow terminal."""
        lines = [self.explanation(verbose=verbose, width=width)] if self.violations else []
        lines.append(self.summary)
        if self.suggestions:
            lines.append(self._suggested())
        lines += [f"{name}: never exercised; the scenario may do less than it seems" for name in self.untested]
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += self.notes
        if self.guards is not None:
            lines.append(f"guards on: {', '.join(self.guards) or 'none'}")
        final = f"{len(self.final_states)} final state{'s' * (len(self.final_states) != 1)}"
        cut = ""
        if self.cut:
            cut = f" ({self.cut:,} {'walks cut off' if self.walks else 'of them not expanded'})"
        if self.sets:
            cut = f" one by one, {self.sets:,} sets of states"
        lines.append(f"{self._count()}{cut}, {self.steps:,} steps, {final}, {self.seconds:.1f} s{self._shared()}")
        return "\n".join(lines)

    def _shared(self) -> str:
        """The number of processes, where several were asked for."""
        if self.jobs == 1:
            return ""
        return f" in {self.processes} processes" if self.processes > 1 else " in one process"

    def _count(self) -> str:
        return _states(self.states)


def _states(count: int) -> str:
    return f"{count:,} state{'s' * (count != 1)}"


def _with(perturbations: int) -> str:
    """A number of perturbations, as in a sentence about runs.

    >>> _with(0), _with(1), _with(2)
    ('without perturbations', 'with up to 1 perturbation', 'with up to 2 perturbations')
    """
    if not perturbations:
        return "without perturbations"
    return f"with up to {perturbations} perturbation{'s' * (perturbations != 1)}"


def _rounded(number: float) -> int:
    """A number with two digits, rounded up: an estimate is no more exact.

    >>> _rounded(6_543), _rounded(39.2), _rounded(2)
    (6600, 40, 2)
    """
    whole = ceil(number)
    unit = 10 ** max(0, len(str(whole)) - 2)
    return int(-(-whole // unit) * unit)
