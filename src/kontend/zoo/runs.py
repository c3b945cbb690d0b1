"""Runs of the zoo: explores the scenarios of an entry and records what was found, as plain data.

A buggy scenario that names properties is explored twice, with them and without them, so that the two figures of the
table are independent. Each search of a buggy scenario stops at the first violation; those of twins and controls go on
until the space is exhausted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from kontend.executors.engines import executor_of
from kontend.executors.work import Ended, Unwatched, Work
from kontend.explore.exploring import check
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.verdict import Verdict
from kontend.runtime.guards import Guards
from kontend.runtime.user_file import source_of
from kontend.runtime.user_sources import UserCode
from kontend.zoo.entry import BadEntry, Entry, role

#: Ends the name of a guarded scenario that was explored without crashes, failures and lost responses.
NO_FAULTS: Final = ", no faults"
#: The limit of the search for a violation of a built-in property where another one was found: a multiple of the number
#: states as that took, and at least a few.
_TIMES: Final = 10
_FEW: Final = 1_000


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """The exploration of one scenario."""

    scenario: str
    role: str
    #: The violated property, its sentence, the number of steps and of perturbations of the shortest trace.
    found_by: str
    sentence: str
    steps: int
    perturbations: int
    #: True if a built-in property found it, without the properties that the scenario names.
    built_in: bool
    states: int
    exhausted: bool
    #: The reason why the search is incomplete.
    stopped: str
    seconds: float
    #: The full text of the verdict.
    text: str

    @property
    def violated(self) -> bool:
        """Some property is violated."""
        return bool(self.found_by)


@dataclass(frozen=True, slots=True)
class EntryOutcome:
    """The runs of one entry."""

    entry: Entry
    runs: tuple[ScenarioRun, ...]

    @property
    def buggy(self) -> list[ScenarioRun]:
        """The runs that must be violated."""
        return [run for run in self.runs if run.role == "buggy"]

    @property
    def clean(self) -> list[ScenarioRun]:
        """The runs that must hold: twins and negative controls."""
        return [run for run in self.runs if run.role != "buggy"]

    @property
    def found(self) -> bool:
        """Every buggy scenario is violated."""
        return all(run.violated for run in self.buggy)

    @property
    def built_in(self) -> bool:
        """Every buggy scenario violates a built-in property."""
        return self.found and all(run.built_in for run in self.buggy)

    @property
    def false_alarms(self) -> list[ScenarioRun]:
        """The twins and controls that are violated."""
        return [run for run in self.clean if run.violated]

    @property
    def undecided(self) -> list[ScenarioRun]:
        """The twins and controls whose space was not exhausted."""
        return [run for run in self.clean if not run.violated and not run.exhausted]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run of the zoo."""

    #: Explore the buggy scenarios with all guards of the runtime on, and nothing else.
    guarded: bool = False
    #: The time after which the search of one scenario stops.
    seconds: int = 60


def run_all(
    chosen: Sequence[Entry], options: RunOptions, *, jobs: int = 1, executor: str = ""
) -> Iterator[EntryOutcome]:
    """Run entries and yield their outcomes as they come: in this process, or several at a time on an ``executor``."""
    if jobs == 1 and not executor:
        for entry in chosen:
            yield run_entry(entry, options)
        return
    code = UserCode.loaded([source_of(entry.path) for entry in chosen])
    carried_out = executor_of(executor, jobs, code).run(
        Work(_carried_out, (BadEntry,)), [(entry, options) for entry in chosen], Unwatched()
    )
    with closing(carried_out):
        for at, answer in carried_out:
            if isinstance(answer, Ended):
                raise BadEntry(answer.message if answer.is_refusal else f"{chosen[at].path}: {answer.message}")
            yield answer


def _carried_out(task: tuple[Entry, RunOptions], report: Callable[[Any], None]) -> EntryOutcome:
    """Run one entry in another process, which reports nothing before its end."""
    del report
    return run_entry(*task)


def run_entry(entry: Entry, options: RunOptions) -> EntryOutcome:
    """Explore the scenarios of one entry."""
    scenarios = scenarios_of(entry)
    if options.guarded:
        return EntryOutcome(entry, tuple(_guarded_runs(scenarios, options.seconds)))
    return EntryOutcome(entry, tuple(_runs(scenarios.items(), options.seconds)))


def _guarded_runs(scenarios: dict[str, Scenario], seconds: int) -> Iterator[ScenarioRun]:
    """Explore buggy scenarios with all guards on; those that are still broken also without faults."""
    for name, scenario in scenarios.items():
        if role(name) != "buggy":
            continue
        guarded = replace(scenario, guards=replace(Guards(), fencing=scenario.guards.fencing))
        (run,) = _runs([(name, guarded)], seconds)
        yield run
        if run.violated:
            without = replace(guarded, bounds=replace(guarded.bounds, faults=0))
            yield from _runs([(name + NO_FAULTS, without)], seconds)


def scenarios_of(entry: Entry) -> dict[str, Scenario]:
    """Load the scenarios of an entry. Raises :class:`BadEntry` if one is missing or has another name."""
    scenarios = scenarios_in(entry.path)
    roles = {name: role(name) for name in scenarios}
    strange = [name for name, part in roles.items() if not part]
    if strange:
        raise BadEntry(f"{entry.path}: scenario {strange[0]}: expected a name that begins with buggy, fixed or control")
    needed = {"control"} if entry.is_control else {"buggy", "fixed"}
    missing = needed - set(roles.values())
    if missing:
        raise BadEntry(f"{entry.path}: there is no {min(missing)} scenario")
    return scenarios


def _runs(scenarios: Iterable[tuple[str, Scenario]], seconds: int) -> Iterator[ScenarioRun]:
    for name, scenario in scenarios:
        part = role(name)
        limited = replace(scenario, bounds=replace(scenario.bounds, seconds=scenario.bounds.seconds or seconds))
        start = time.perf_counter()
        if part == "buggy":
            verdict, built_in = _first_violation(limited)
        else:
            verdict, built_in = check(limited), False
        yield _run(name, part, verdict, built_in=built_in, seconds=time.perf_counter() - start)


def _first_violation(scenario: Scenario) -> tuple[Verdict, bool]:
    if not scenario.properties:
        verdict = check(scenario, until_first=True)
        return verdict, bool(verdict.violations)
    own = check(scenario, until_first=True)
    # Without its properties a buggy controller may go on forever. That must not take longer than a multiple of this.
    states = min(scenario.bounds.states, max(_FEW, _TIMES * own.states))
    plain = replace(scenario, properties=(), bounds=replace(scenario.bounds, states=states))
    verdict = check(plain, until_first=True)
    return (verdict, True) if verdict.violations else (own, False)


def _run(name: str, part: str, verdict: Verdict, *, built_in: bool, seconds: float) -> ScenarioRun:
    violation = min(
        verdict.violations, key=lambda candidate: (candidate.perturbations, len(candidate.trace)), default=None
    )
    return ScenarioRun(
        scenario=name,
        role=part,
        found_by=violation.property if violation is not None else "",
        sentence=violation.sentence if violation is not None else "",
        steps=len(violation.trace) if violation is not None else 0,
        perturbations=violation.perturbations if violation is not None else 0,
        built_in=built_in,
        states=verdict.states,
        exhausted=verdict.exhausted,
        stopped=verdict.stopped,
        seconds=seconds,
        text=str(verdict),
    )
