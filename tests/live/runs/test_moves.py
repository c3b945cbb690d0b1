"""The phases of a run and the moves between them, without a process."""

from __future__ import annotations

import pytest

from kontend.live.gate.perturbation import Down, Hold, Rewind, Skip
from kontend.live.gate.plan import Plan
from kontend.live.process.quiescence import Rest
from kontend.live.runs.moves import Move, Situation, next_move
from kontend.live.runs.phases import Act, ActUnwatched, ActWhileDown, Phase, next_phase, restarts

SKIP = Skip("pods", 2, 3)


def phases(plan: Plan, actions: int, *, taken: int = 0) -> list[Phase]:
    """All phases after the start; each takes the actions that it names."""
    listed = []
    while (phase := next_phase(plan, taken, actions)) is not None:
        listed.append(phase)
        taken = phase.last if isinstance(phase, ActWhileDown) else phase.number
        taken = phase.skip.last if isinstance(phase, ActUnwatched) else taken
    return listed


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Plan(()), [Act(1), Act(2), Act(3)]),
        (Plan((Hold("pods", 1, 2),)), [Act(1), Act(2), Act(3)]),
        (Plan((Down(2, 3),)), [Act(1), ActWhileDown(2, 3)]),
        (Plan((Down(2, 1),)), [Act(1), Act(2), Act(3)]),
        (Plan((SKIP,)), [Act(1), ActUnwatched(2, SKIP)]),
    ],
    ids=str,
)
def test_phases_follow_from_the_plan(plan: Plan, expected: list[Phase]) -> None:
    assert phases(plan, 3) == expected


def test_an_action_that_the_gate_has_taken_begins_no_phase() -> None:
    assert phases(Plan((Down(2, 2),)), 3, taken=2) == [Act(3)]


def test_restarts_come_at_the_end_of_the_phase_that_the_plan_names() -> None:
    plan = Plan((Down(2, 1), Rewind("pods", 2, 1), Down(3, 3)))
    assert [list(restarts(plan, number)) for number in range(4)] == [[], [Down(2, 1)], [Rewind("pods", 2, 1)], []]


@pytest.mark.parametrize(
    ("facts", "move"),
    [
        (Situation(Rest.IDLE), Move.REST),
        (Situation(Rest.BUSY), Move.END),
        (Situation(Rest.EXITED), Move.END),
        # A process that repeats a call in vain gets what it lacks, as if it were idle.
        (Situation(Rest.INTERRUPTED), Move.REST),
        (Situation(Rest.INTERRUPTED, killed=True, hands_over=True), Move.RESTART),
        (Situation(Rest.INTERRUPTED, hands_over=True, has_slow_writes=True), Move.HAND_OVER),
        (Situation(Rest.EXITED, gives_up_its_start=True), Move.START_AGAIN),
        (Situation(Rest.IDLE, gives_up_its_start=True), Move.REST),
        (Situation(Rest.IDLE, has_slow_writes=True, doomed=True), Move.LET_WRITE_ARRIVE),
        (Situation(Rest.IDLE, doomed=True, action_is_refused=True), Move.KILL),
        (Situation(Rest.IDLE, action_is_refused=True, holds_events=True), Move.RELEASE_EVENTS),
        (Situation(Rest.IDLE, action_is_refused=True, fails_inside=True), Move.REPEAT_ACTION),
        (Situation(Rest.IDLE, fails_inside=True), Move.RETRY_INSIDE),
        (Situation(Rest.BUSY, fails_inside=True), Move.END),
        (Situation(Rest.INTERRUPTED, asked=True, killed=True), Move.END),
        (Situation(Rest.IDLE, holds_events=True), Move.REST),
        (Situation(Rest.BUSY, has_slow_writes=True, doomed=True), Move.END),
    ],
    ids=str,
)
def test_a_move_follows_from_facts_alone(facts: Situation, move: Move) -> None:
    assert next_move(facts) is move
