"""One exploration of the scenarios of a file, with some of its code replaced, in a process of its own.

The changed code is sent as text and imported in place of the files, so nothing is written and a read-only tree is
enough. A process for each trial, because modules keep state, and because a change may never come to an end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from kontend.executors.processes import Processes, default_method
from kontend.executors.work import Ended, Unwatched, Work
from kontend.explore.chosen_bounds import ChosenBounds
from kontend.explore.explain.explanation import Origin
from kontend.explore.explain.lines import project_root
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.golang.build import build_instead
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.scenario import Scenario
from kontend.explore.scenario_files import scenarios_in
from kontend.explore.sources.inputs import Inputs
from kontend.explore.verdict import Verdict
from kontend.kube.errors import ApiError
from kontend.repair.effects import Effects, effects_of
from kontend.report.document import Document
from kontend.runtime.controller import BadController
from kontend.runtime.user_file import BadFile
from kontend.runtime.user_sources import UserCode, UserSource, forget_users, loaded_sources

_ERRORS: Final = (BadScenario, BadController, BadFile, Nondeterminism, ApiError)
#: Built-in properties of ends.
_OF_THE_END: Final = frozenset(
    {BuiltIn.DIVERGED, BuiltIn.LEAK, BuiltIn.NEVER_SETTLES, BuiltIn.FAILS_FOREVER, BuiltIn.EXCEPTION}
)


@dataclass(frozen=True, slots=True)
class Order:
    """The scenarios to explore: a file, its inputs, and changed sources."""

    #: A file, or the directory of a Go package.
    file: str
    inputs: Inputs = field(default_factory=Inputs)
    bounds: ChosenBounds = field(default_factory=ChosenBounds)
    changed: tuple[UserSource, ...] = ()
    #: The scenarios to explore, in this order; all of them where it is empty.
    names: tuple[str, ...] = ()
    #: Explain violations, and return the sources of all modules.
    explained: bool = False
    #: Stop at the first violation.
    until_first: bool = False


@dataclass(frozen=True, slots=True)
class Violated:
    """A violated property, with the places in its trace."""

    property: str
    sentence: str
    remedy: str = ""
    text: str = ""
    #: The place of the fix, and those of the steps at fault and of all steps: absolute paths and lines.
    place: tuple[str, int] | None = None
    culprits: tuple[tuple[str, int], ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    perturbations: int = 0
    #: It is violated by the end of a run, or by a run that has none: then the end of such a run is nothing to keep.
    concerns_the_end: bool = False


@dataclass(frozen=True, slots=True)
class Explored:
    """The outcome of one scenario."""

    name: str
    violations: tuple[Violated, ...]
    untested: tuple[str, ...]
    exhausted: bool
    stopped: str
    states: int
    effects: Effects
    #: The most perturbations with which all runs were explored, where the search was not exhausted; -1 for none.
    certain: int = -1
    #: The lines that made calls: absolute paths and numbers.
    reached: frozenset[tuple[str, int]] = frozenset()

    @property
    def broken(self) -> frozenset[str]:
        """The names of the properties that do not hold."""
        return frozenset({*(violated.property for violated in self.violations), *self.untested})


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a trial; ``error`` says why there is none."""

    explored: tuple[Explored, ...] = ()
    error: str = ""
    timed_out: bool = False
    sources: tuple[UserSource, ...] = ()


def tried(order: Order, seconds: float) -> Result:
    """Carry out an order in a process of its own, for at most some seconds."""
    executor = Processes(1, default_method(), timeout=max(seconds, 0.1))
    with closing(executor.run(Work(_carried_out), [order], Unwatched())) as results:
        _, result = next(results)
    if not isinstance(result, Ended):
        assert isinstance(result, Result)
        return result
    return Result(error=result.message, timed_out=result.is_late)


def _carried_out(order: Order, report: Callable[[object], None]) -> Result:
    del report
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        return _result(order)


def _result(order: Order) -> Result:
    forget_users()  # a process that was forked has them, and they may import what has changed
    try:
        build_instead({source.file: source.text for source in order.changed if is_go(source)})
        UserCode([source for source in order.changed if not is_go(source)], sys.path).install()
        scenarios = scenarios_in(order.file, order.inputs, names=order.names)
        explored = []
        for name in order.names or scenarios:
            if name not in scenarios:
                return Result(error=f"the scenario {name} is gone")
            scenario = scenarios[name]
            scenario = replace(scenario, bounds=order.bounds.applied(scenario.bounds))
            explored.append(_explored(name, scenario, order))
    except _ERRORS as error:
        return Result(error=str(error))
    except Exception as error:  # code that was changed may raise whatever it likes
        return Result(error=f"{type(error).__name__}: {error}")
    return Result(tuple(explored), sources=(*loaded_sources(), *_go_sources(explored)) if order.explained else ())


def is_go(source: UserSource) -> bool:
    """Return whether a source is a file of Go code."""
    return Path(source.file).suffix == ".go"


def _go_sources(explored: Sequence[Explored]) -> Iterator[UserSource]:
    """Yield the files of the Go packages that traces go through."""
    places = {
        Path(name).parent
        for each in explored
        for violated in each.violations
        for name, _ in violated.lines
        if name.endswith(".go")
    }
    for directory in sorted(places):
        for file in sorted(directory.glob("*.go")):
            if not file.name.endswith("_test.go"):
                yield UserSource("", str(file), file.read_text(encoding="utf-8", errors="replace"))


def _explored(name: str, scenario: Scenario, order: Order) -> Explored:
    file = Path(order.file).resolve()
    reached: set[tuple[str, int]] = set()

    def look(model: Model) -> None:
        lines = (line for program in model.programs for line in program.lines())
        reached.update((str(Path(line.file).resolve()), line.line) for line in lines)

    verdict = explore(
        scenario,
        SearchOptions(until_first=order.until_first),
        inspect=look,
        origin=Origin(file, name, order.inputs.to_json()),
    )
    return Explored(
        name,
        tuple(_violations(scenario, verdict, project_root(file), explained=order.explained)),
        tuple(verdict.untested),
        verdict.exhausted,
        verdict.stopped,
        verdict.states,
        effects_of(scenario, verdict),
        verdict.certain,
        frozenset(reached),
    )


def _violations(scenario: Scenario, verdict: Verdict, root: Path, *, explained: bool) -> Sequence[Violated]:
    if not explained:
        return [
            Violated(each.property, " ".join(each.sentence.split()), perturbations=each.perturbations)
            for each in verdict.violations
        ]
    of_the_end = {prop.name for prop in scenario.properties if prop.mode == "eventually"} | _OF_THE_END
    return [
        replace(_violated(document, root, violation.perturbations), concerns_the_end=violation.property in of_the_end)
        for document, violation in zip(verdict.documents, verdict.violations, strict=True)
    ]


def _violated(document: Document, root: Path, perturbations: int) -> Violated:
    violation = document.violation
    places = {
        step.number: (str((root / step.line.file).resolve()), step.line.line)
        for step in document.steps
        if step.line is not None
    }
    fix = violation.fix
    line = fix.line if fix is not None else None
    return Violated(
        violation.property,
        violation.sentence,
        fix.remedy if fix is not None else "",
        fix.text if fix is not None else "",
        (str((root / line.file).resolve()), line.line) if line is not None else None,
        tuple(places[number] for number in violation.culprits if number in places),
        tuple(dict.fromkeys(places.values())),
        perturbations,
    )
