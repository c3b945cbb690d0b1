"""Runs the units of a campaign: what is known from before is not run again, and outcomes come out in a fixed order.

Units run side by side and end in any order. Their outcomes are recorded at once, and handed on in the order of the
campaign, so that everything that is printed is the same whatever the number of processes.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from kontend.campaign.journal import Journal
from kontend.campaign.unit import Exploration, LiveCommand, Unit, UnitOutcome, Unusable
from kontend.campaign.work import WORK
from kontend.executors.work import Ended, Executor, Unwatched, Watch
from kontend.explore.problems import BadScenario
from kontend.report.document import Document
from kontend.report.saving import save

#: Below the directory of a campaign.
_CHECKPOINTS: Final = "checkpoints"
_FAILURES: Final = "failures"


class Result(NamedTuple):
    """A unit and its outcome."""

    unit: Unit
    outcome: UnitOutcome
    #: It is known from an earlier run of the campaign.
    is_known: bool = False


class Observer(Watch, Protocol):
    """Follows a campaign."""

    def begun(self, units: Sequence[Unit]) -> None:
        """The units that are going to run are known; other calls name them by their position."""

    def ended(self, at: int, outcome: UnitOutcome) -> None:
        """A unit has an outcome."""


def run_units(
    units: Sequence[Unit], executor: Executor, journal: Journal, observer: Observer, *, is_remote: bool = False
) -> Generator[Result, None, None]:
    """Yield the outcomes of all units, in their order. Closing the iterator ends the units that are under way.

    Where they run on other machines, which may not have the directory, none goes on from a checkpoint. Raises
    :class:`BadScenario` for one that needs this machine.
    """
    results: dict[int, Result] = {}
    waiting: list[int] = []
    tasks: list[Exploration | LiveCommand] = []
    for at, unit in enumerate(units):
        known = journal.known(unit)
        if known is not None:
            results[at] = Result(unit, known, is_known=True)
            _tidy(_placed(unit, journal.directory))  # the end of the process may have come between the two
        elif isinstance(unit, Unusable):
            results[at] = Result(unit, UnitOutcome(unit.status, unit.summary))
        else:
            waiting.append(at)
            if is_remote and isinstance(unit, LiveCommand):
                raise BadScenario("live commands run on this machine: leave --executor out")
            placed = unit if is_remote else _placed(unit, journal.directory)
            assert not isinstance(placed, Unusable)
            tasks.append(placed)
    observer.begun(tasks)
    following = 0
    while following in results:
        yield results.pop(following)
        following += 1
    running = executor.run(WORK, tasks, observer)
    try:
        for position, answer in running:
            unit = units[waiting[position]]
            outcome = _saved(_outcome(answer), journal.directory)
            journal.record(unit, outcome)
            _tidy(tasks[position])
            observer.ended(position, outcome)
            results[waiting[position]] = Result(unit, outcome)
            while following in results:
                yield results.pop(following)
                following += 1
    finally:
        running.close()


def _placed(unit: Unit, directory: Path) -> Unit:
    """Return a unit with the directories that it writes to."""
    if isinstance(unit, LiveCommand):
        return replace(unit, failures=str((directory / _FAILURES).absolute()))
    if isinstance(unit, Unusable) or unit.search != "breadth" or unit.plan is not None:
        return unit
    return replace(unit, checkpoint=str((directory / _CHECKPOINTS / unit.key).absolute()))


def _tidy(unit: Unit) -> None:
    """Remove the checkpoint of a unit that has an outcome."""
    if isinstance(unit, Exploration) and unit.checkpoint:
        shutil.rmtree(unit.checkpoint, ignore_errors=True)


def _outcome(answer: UnitOutcome | Ended) -> UnitOutcome:
    if isinstance(answer, UnitOutcome):
        return answer
    message = " ".join(answer.message.split()) or "it raised an exception without a message"
    return UnitOutcome("refused" if answer.is_refusal else "crashed", message, details=answer.output)


def _saved(outcome: UnitOutcome, directory: Path) -> UnitOutcome:
    """Return an outcome whose traces are files. Where one cannot be written, its details say so: the outcome counts."""
    violations = list(outcome.violations)
    details = outcome.details
    for at, document in enumerate(outcome.documents):
        try:
            path = save(directory / _FAILURES, Document.load(document))
        except OSError as error:
            details += f"\nthe counterexample is not saved: {error}"
            continue
        violations[at] = replace(violations[at], replay=str(path))
    return replace(outcome, violations=tuple(violations), details=details, documents=())


class Unobserved(Unwatched):
    """Observes nothing."""

    def begun(self, units: Sequence[Unit]) -> None:
        """Do nothing."""

    def ended(self, at: int, outcome: UnitOutcome) -> None:
        """Do nothing."""
