"""Repairs a file: candidates for each violation, each explored with all scenarios of the file.

A candidate is verified when, within the same bounds, the property holds in the whole space, nothing is violated that
held before, and the controllers still do what they did without perturbations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kontend.explore.chosen_bounds import ChosenBounds
from kontend.explore.explain.lines import project_root
from kontend.explore.golang.build import built_instead
from kontend.explore.problems import BadScenario
from kontend.explore.sources.generated import basis_of
from kontend.explore.sources.inputs import Inputs
from kontend.repair.candidates import Candidate, candidates_of, pairs_of
from kontend.repair.trial import Explored, Order, Result, Violated, tried
from kontend.runtime.user_sources import UserSource

#: Verified fixes after which the search for more ends.
_ENOUGH: Final = 2


@dataclass(frozen=True, slots=True)
class Options:
    """Limits of a repair."""

    #: For each violation.
    seconds: float = 60.0
    #: Verified fixes to look for.
    fixes: int = _ENOUGH
    #: The scenario to repair; all of them where it is empty.
    scenario: str = ""
    #: Bounds in place of those of the scenarios.
    bounds: ChosenBounds = field(default_factory=ChosenBounds)
    #: For the exploration of the file as it is; its scenarios have limits of their own.
    first: float = 3600.0
    progress: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Rejected:
    """A candidate that does not repair, and why."""

    candidate: Candidate
    why: str


@dataclass(frozen=True)
class Verified:
    """A candidate with which the property holds."""

    candidate: Candidate
    states: int
    #: Nothing is known of runs with more perturbations than this; None where the whole space was explored.
    certain: int | None
    #: Scenarios of the file that were explored as well, and come out as before.
    others: int
    #: Properties of the scenario that are violated as before.
    remaining: tuple[str, ...] = ()
    #: Properties that do not hold without the change and hold with it, each with its scenario.
    repairs: frozenset[tuple[str, str]] = frozenset()

    @property
    def repaired_elsewhere(self) -> frozenset[str]:
        """The other scenarios in which it repairs something: none of them is unchanged."""
        return frozenset(name for name, _ in self.repairs)


@dataclass
class Repair:
    """The result for one violation of one scenario."""

    scenario: str
    violated: Violated
    verified: list[Verified] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    #: Candidates that were found and not tried, because of a limit.
    untried: int = 0
    stopped: str = ""
    seconds: float = 0.0

    @property
    def best_repairs(self) -> frozenset[tuple[str, str]]:
        """The properties of other scenarios that the first fix repairs too."""
        return self.verified[0].repairs if self.verified else frozenset()


@dataclass
class Repairs:
    """The result for a file."""

    file: Path
    root: Path
    explored: tuple[Explored, ...]
    repairs: list[Repair] = field(default_factory=list)
    interrupted: bool = False


def repaired(file: Path, inputs: Inputs, options: Options) -> Repairs:
    """Look for verified fixes of all violations of a file, or of a Go package. Raises :class:`BadScenario`."""
    order = Order(str(file), inputs, options.bounds, explained=True, names=_asked_for(file, options))
    options.progress("exploring")
    first = tried(order, options.first)
    if first.error:
        raise BadScenario(first.error)
    root = project_root(file)
    repairs = Repairs(file, root, first.explored)
    try:
        for explored in first.explored:
            if options.scenario not in ("", explored.name):
                continue
            for violated in _distinct(explored.violations):
                if any((explored.name, violated.property) in each.best_repairs for each in repairs.repairs):
                    continue  # a user who does more finds the same once more
                repair = Repair(explored.name, violated)
                repairs.repairs.append(repair)
                _Search(repair, explored, first, order, options, root).run()
    except KeyboardInterrupt:
        repairs.interrupted = True
    return repairs


def _asked_for(file: Path, options: Options) -> tuple[str, ...]:
    """Return the scenarios to explore: a test of a Go package may have any name, so it is looked for by its name."""
    if not file.is_dir() or not options.scenario:
        return ()
    test = basis_of(options.scenario)
    return tuple(dict.fromkeys((test, options.scenario)))


def _distinct(violations: tuple[Violated, ...]) -> list[Violated]:
    """One violation for each cause: of those with the same place and remedy the first."""
    return list({(each.place, each.remedy): each for each in reversed(violations)}.values())[::-1]


class _Search:
    """The search for fixes of one violation."""

    def __init__(
        self, repair: Repair, explored: Explored, first: Result, order: Order, options: Options, root: Path
    ) -> None:
        self._repair = repair
        self._before = {each.name: each for each in first.explored}
        self._explored = explored
        self._sources: tuple[UserSource, ...] = first.sources
        self._order = order
        self._options = options
        self._root = root
        self._end = 0.0
        self._helpful: list[Candidate] = []

    def run(self) -> None:
        start = time.perf_counter()
        self._end = start + self._options.seconds
        repair = self._repair
        singles = candidates_of(repair.violated, self._sources, self._root)
        try:
            if not self._try(iter(singles), "candidates", len(singles)) and not repair.verified:
                self._try(pairs_of(singles, self._helpful), "pairs", 0)
        finally:
            repair.seconds = time.perf_counter() - start
            tried_now = len(repair.verified) + len(repair.rejected)
            repair.untried = max(0, len(singles) - tried_now)

    def _try(self, candidates: Iterator[Candidate], what: str, many: int) -> bool:
        """Try candidates until enough are verified, or the time is up; returns True then."""
        repair = self._repair
        for number, candidate in enumerate(candidates, 1):
            left = self._end - time.perf_counter()
            if left <= 0:
                repair.stopped = f"{self._options.seconds:g} s are over"
                return True
            of = f" of {many}" if many else ""
            self._options.progress(f"{repair.scenario}: {repair.violated.property}: {what} {number}{of}")
            found = self._verified(candidate)
            if isinstance(found, Verified):
                repair.verified.append(found)
                if len(repair.verified) >= self._options.fixes:
                    return True
            else:
                repair.rejected.append(found)
        return False

    def _verified(self, candidate: Candidate) -> Verified | Rejected:
        """Explore with a candidate. A Go package is built once for all of its scenarios."""
        package = Path(self._order.file)
        if not package.is_dir():
            return self._verify(candidate)
        try:
            with built_instead(package, {candidate.source.file: candidate.text}):
                return self._verify(candidate)
        except BadScenario as error:
            return Rejected(candidate, str(error))

    def _verify(self, candidate: Candidate) -> Verified | Rejected:
        before, name = self._explored, self._explored.name
        wanted = self._repair.violated.property
        after = self._explore(candidate, (name,), until_first=True)
        if isinstance(after, str):
            return Rejected(candidate, after)
        if after[0].broken:
            if wanted in after[0].broken or after[0].broken - before.broken:
                return self._remains(candidate, after[0])
            full = self._explore(candidate, (name,), until_first=False)
            if isinstance(full, str):
                return Rejected(candidate, full)
            after = full
            if wanted in after[0].broken or after[0].broken - before.broken:
                return self._remains(candidate, after[0])
        if not after[0].exhausted and after[0].certain < self._repair.violated.perturbations:
            return Rejected(candidate, f"undecided: {after[0].stopped}")
        # Where unperturbed runs go wrong, their final states are nothing to keep.
        is_sound = self._repair.violated.perturbations > 0 or not self._repair.violated.concerns_the_end
        if lost := before.effects.lost(after[0].effects, compare_finals=is_sound):
            return Rejected(candidate, lost)
        others = tuple(other for other in self._before if other != name)
        repairs: set[tuple[str, str]] = set()
        for later in self._others(candidate, others):
            if isinstance(later, str):
                return Rejected(candidate, later)
            if worse := worse_than(self._before[later.name], later):
                return Rejected(candidate, worse)
            if later.exhausted:
                repairs |= {(later.name, each) for each in self._before[later.name].broken - later.broken}
        certain = None if after[0].exhausted else after[0].certain
        return Verified(
            candidate, after[0].states, certain, len(others), tuple(sorted(after[0].broken)), frozenset(repairs)
        )

    def _others(self, candidate: Candidate, names: tuple[str, ...]) -> Iterator[Explored | str]:
        for name in names:
            later = self._explore(candidate, (name,), until_first=False)
            if isinstance(later, str):
                yield f"{name}: {later}"
                return
            yield from later

    def _remains(self, candidate: Candidate, after: Explored) -> Rejected:
        """Return a candidate with which something is violated still; it helps if that is something else."""
        first = after.violations[0] if after.violations else None
        why = (
            f"{first.property}: {first.sentence}" if first is not None else f"{', '.join(after.untested)}: never holds"
        )
        if first is None or first.property != self._repair.violated.property or after.states > self._explored.states:
            self._helpful.append(candidate)
        return Rejected(candidate, why)

    def _explore(
        self, candidate: Candidate, names: tuple[str, ...], *, until_first: bool
    ) -> tuple[Explored, ...] | str:
        order = Order(
            self._order.file,
            self._order.inputs,
            self._order.bounds,
            changed=(candidate.changed,),
            names=names,
            until_first=until_first,
        )
        result = tried(order, self._end - time.perf_counter())
        return result.error or result.explored


def worse_than(before: Explored, after: Explored) -> str:
    """Name a loss of another scenario by a change; empty for none."""
    broken = sorted(after.broken - before.broken)
    if broken:
        return f"{after.name}: {', '.join(broken)} would be violated"
    if before.exhausted and not after.exhausted and not before.broken:
        return f"{after.name}: undecided: {after.stopped}"
    lost = before.effects.lost(after.effects, compare_finals=not before.broken)
    return f"{after.name}: {lost}" if lost else ""
