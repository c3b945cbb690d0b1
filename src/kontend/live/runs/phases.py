"""Phases of a run, as its plan has them: how each begins, and what is done to the process at its end.

A run goes from phase to phase until the user has taken all actions. Which phase comes next depends only on the plan
and on the number of actions so far, so it is decided here, without a process: a perturbation at a call may have taken
an action of the user already, which is why phases are not listed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kontend.live.gate.perturbation import Down, Rewind, Skip
from kontend.live.gate.plan import Plan


@dataclass(frozen=True, slots=True)
class Begin:
    """The process is started. The first phase of every run."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """The user takes an action while the process is idle."""

    number: int


@dataclass(frozen=True, slots=True)
class ActWhileDown:
    """The process is killed, the user acts until an action, and the process is started again."""

    number: int
    last: int


@dataclass(frozen=True, slots=True)
class ActUnwatched:
    """The user acts while nothing of a resource reaches the process, whose watch expires then."""

    number: int
    skip: Skip


Phase = Begin | Act | ActWhileDown | ActUnwatched


def next_phase(plan: Plan, taken: int, actions: int) -> Phase | None:
    """Return the phase that follows when the user has taken some of the actions; None when none are left.

    >>> next_phase(Plan((Down(2, 3),)), 0, 3), next_phase(Plan((Down(2, 3),)), 1, 3), next_phase(Plan(()), 3, 3)
    (Act(number=1), ActWhileDown(number=2, last=3), None)
    """
    number = taken + 1
    if number > actions:
        return None
    for perturbation in plan.perturbations:
        if isinstance(perturbation, Down) and perturbation.first == number <= perturbation.last:
            return ActWhileDown(number, perturbation.last)
        if isinstance(perturbation, Skip) and perturbation.first == number:
            return ActUnwatched(number, perturbation)
    return Act(number)


def restarts(plan: Plan, number: int) -> Iterator[Down | Rewind]:
    """Return how the idle process is restarted at the end of the phase that began with an action.

    >>> [*map(str, restarts(Plan((Down(2, 1), Rewind("pods", 1, 2))), 1))]
    ['restart after action 1', 'restart after action 1 onto a list of pods that is 2 events old']
    """
    for perturbation in plan.perturbations:
        if isinstance(perturbation, Down) and perturbation.last < perturbation.first and perturbation.last == number:
            yield perturbation
        if isinstance(perturbation, Rewind) and perturbation.after == number:
            yield perturbation
