"""Simpler plans: fewer perturbations, fewer user actions, shorter holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kontend.live.baseline import Baseline
from kontend.live.gate.perturbation import Act, Crash, Down, Fail, HandOver, Hold, Perturbation, Rewind, Skip
from kontend.live.gate.plan import Plan
from kontend.live.properties.findings import Finding, nearest_differences
from kontend.live.runs.outcome import Run

#: Holds that end after these numbers of writes are tried before those that end when the process is idle.
_WRITES = (1, 2, 3)


def simpler(plan: Plan, actions: int) -> Iterator[Plan]:
    """Plans that do less than a plan for a workload with ``actions`` actions, the least first.

    >>> [each.actions for each in simpler(Plan((Down(1, 1),)), 3)]
    [1, 2]
    """
    perturbations = plan.perturbations
    if len(perturbations) > 1:
        for index in range(len(perturbations)):
            yield replace(plan, perturbations=perturbations[:index] + perturbations[index + 1 :])
    needed = max(map(_last_action, perturbations), default=0)
    for count in range(max(1, needed), actions if plan.actions is None else plan.actions):
        yield replace(plan, actions=count)
    for index, perturbation in enumerate(perturbations):
        for less in _less(perturbation):
            yield replace(plan, perturbations=(*perturbations[:index], less, *perturbations[index + 1 :]))


def _last_action(perturbation: Perturbation) -> int:
    """Return the last user action that a perturbation waits for."""
    if isinstance(perturbation, Hold | Down | Skip):
        return perturbation.last
    return perturbation.after if isinstance(perturbation, Rewind) else 0


def _less(perturbation: Perturbation) -> Iterator[Perturbation]:
    """Perturbations of the same kind that do less."""
    if isinstance(perturbation, Hold):
        longest = perturbation.writes or max(_WRITES) + 1
        yield from (replace(perturbation, writes=writes) for writes in _WRITES if writes < longest)
        if not perturbation.writes:
            shorter = range(perturbation.first, perturbation.last)
            yield from (replace(perturbation, last=last) for last in shorter)
    elif isinstance(perturbation, Act) and perturbation.unseen:
        yield replace(perturbation, unseen=False)
    elif isinstance(perturbation, HandOver):
        yield from (replace(perturbation, actions=count) for count in range(perturbation.actions))
    elif isinstance(perturbation, Rewind):
        yield from (replace(perturbation, events=events) for events in range(1, perturbation.events))
    elif isinstance(perturbation, Down) and perturbation.last > perturbation.first:
        yield replace(perturbation, last=perturbation.first)
    elif isinstance(perturbation, Fail):
        yield from (replace(perturbation, times=times) for times in range(1, perturbation.times))
    elif isinstance(perturbation, Crash) and perturbation.answered:
        yield replace(perturbation, answered=False)


def shorter_plans(baseline: Baseline, outcomes: Sequence[tuple[Plan, Run, Sequence[Finding]]]) -> Iterator[Plan]:
    """Plans in which the user stops where a run was not in the state of unperturbed ones.

    The next action of the user may have made up for it, and on a cluster it may never come. Not so for hand-overs: no
    lock keeps a former leader from a late create, which only a later reconcile can undo.
    """
    actions = len(baseline.setting.workload.actions)
    expected = {number: baseline.expected_after(number) for number in range(actions)}
    for plan, run, found in outcomes:
        if found or run.blocked or run.missed or plan.actions is not None:
            continue
        if plan.hands_over:
            continue
        for number, state in run.settled.items():
            if number < actions and nearest_differences(run, state, expected[number]):
                yield replace(plan, actions=number)
                break
