"""Settling: wait until the process is idle, make the move that follows, and wait again until it may rest."""

from __future__ import annotations

import asyncio
from typing import Final

from kontend.live.gate.perturbation import HandOver
from kontend.live.process.process import Process
from kontend.live.process.quiescence import Rest, Wait, wait_until_idle
from kontend.live.runs import silence
from kontend.live.runs.moves import Move, Situation, next_move
from kontend.live.runs.recording import Recording
from kontend.live.runs.setting import PRIMARY, SECOND
from kontend.live.runs.stage import Stage

#: The seconds in which a process prints its stacks.
_ANSWER: Final = 3.0


class Over(Exception):
    """The run cannot go on: a process has exited, or does not become idle."""


async def settle(stage: Stage, recording: Recording) -> None:
    """Let the process come to rest; raises :class:`Over` if it does not."""
    move, stage.retries = None, 0
    while move is not Move.REST:
        wait, ended = await _wait(stage)
        facts = _situation(stage, wait, ended)
        move = next_move(facts)
        recording.note_silence(wait)
        if move not in (Move.RESTART, Move.HAND_OVER):
            rest = Rest.IDLE if facts.is_idle else facts.rest
            recording.note_rest(rest, wait)
            if rest is Rest.IDLE:
                stage.decisions.end_repetitions()
            stage.fresh = False
        await _make(move, stage, recording, ended)


async def _wait(stage: Stage) -> tuple[Wait, Process]:
    """Wait, and return how that has ended, and the process that has: the current one, if none has exited."""
    stage.gate.activity.begin_wait(stage.current)
    subjects = stage.instances.subjects(stage.current)
    wait = await wait_until_idle(
        stage.gate,
        subjects,
        silence.patience(stage),
        ready=lambda: silence.may_be_idle(stage),
        # The processor time of polling cannot be told from that of work.
        longer=lambda: silence.longer_silence(stage),
        counts_time=not stage.setting.background,
        interrupted=lambda: stage.killed or stage.asked or stage.late_write is not None or silence.is_stuck(stage),
    )
    return wait, next((each for each in subjects.values() if each.exited), stage.instances[stage.current])


def _situation(stage: Stage, wait: Wait, ended: Process) -> Situation:
    return Situation(
        wait.rest,
        killed=stage.killed,
        asked=stage.asked,
        hands_over=stage.late_write is not None,
        gives_up_its_start=ended.name == stage.current and stage.gives_up_its_start,
        has_slow_writes=bool(stage.slow_writes),
        doomed=stage.gate.doomed and stage.current == PRIMARY,
        action_is_refused=stage.user.is_refused,
        fails_inside=stage.fails_inside,
        holds_events=not stage.holds.are_over,
    )


async def _make(move: Move, stage: Stage, recording: Recording, ended: Process) -> None:
    match move:
        case Move.RESTART:
            await stage.restart()
        case Move.HAND_OVER:
            await _hand_over(stage, recording)
        case Move.START_AGAIN:
            await stage.start_again()
        case Move.LET_WRITE_ARRIVE:
            stage.slow_writes.pop(0)()
        case Move.KILL:
            stage.crash()
        case Move.RELEASE_EVENTS:
            stage.holds.end_all()
        case Move.REPEAT_ACTION:
            stage.user.repeat()
        case Move.RETRY_INSIDE:
            stage.retry_inside()
        case Move.END:
            if stage.asked:
                await ended.wait(_ANSWER)
            elif recording.rest is Rest.EXITED:
                recording.note_exit(ended)
            recording.silent = not any(True for _ in stage.gate.log.requests())
            raise Over
        case Move.REST:
            pass


async def _hand_over(stage: Stage, recording: Recording) -> None:
    """Let another instance take over while a write of the first one is delayed, then let that write arrive."""
    release, stage.late_write = stage.late_write, None
    plan = next(perturbation for perturbation in stage.plan.perturbations if isinstance(perturbation, HandOver))
    first = stage.instances[PRIMARY]
    first.pause()
    stage.instances.note(PRIMARY, "pause", f"{PRIMARY} is paused with {plan.at.call} in flight")
    stage.instances.expire_leases()
    stage.current = SECOND
    await stage.start(SECOND)
    try:
        await settle(stage, recording)
    except Over:
        recording.note_no_successor()
        raise
    for _ in range(plan.actions):
        if not stage.user.is_done:
            stage.user.act_until(stage.gate.action + 1)
            await settle(stage, recording)
    stage.instances.note(PRIMARY, "resume", f"the delayed {plan.at.call} of {PRIMARY} arrives")
    if release is not None:
        release()
    await asyncio.sleep(0)
    await first.kill()
    stage.gate.forget_process(PRIMARY)
