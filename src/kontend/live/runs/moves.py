"""Moves of a run: the next thing to do when a wait for the process has ended.

A wait ends because the process is idle, has exited, stays busy, or because the gate has done something that must be
dealt with first. One table says what follows, from facts alone, so that it can be read and tested without a process.
The order of its lines is the order of precedence: a killed process comes first, because nothing else can be asked of
it; held events come before repeated actions, because an action may be refused for what the process has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kontend.live.process.quiescence import Rest


class Move(Enum):
    """The next thing that a run does."""

    #: The gate has killed the process: start it again.
    RESTART = "restart"
    #: A write of the process waits until another instance has taken over.
    HAND_OVER = "hand over"
    #: The process has ended as it started, because of an injected failure: whatever supervises it starts it again.
    START_AGAIN = "start again"
    #: A write that takes long arrives, now that the process has nothing else to do.
    LET_WRITE_ARRIVE = "let a slow write arrive"
    #: The process was to be killed at its next write, and makes none.
    KILL = "kill"
    #: Events that are held back may be the reason for which an action of the user is refused.
    RELEASE_EVENTS = "release events"
    #: An action of the user that was refused is taken again.
    REPEAT_ACTION = "repeat an action"
    #: The cluster's own controllers try again what has failed.
    RETRY_INSIDE = "retry inside of the cluster"
    #: The phase is over.
    REST = "rest"
    #: The run is over: the process has exited, or does not become idle.
    END = "end"


@dataclass(frozen=True, slots=True)
class Situation:
    """Facts about a run at the end of a wait."""

    rest: Rest
    killed: bool = False
    #: The process was asked for its stacks, which is all that the run is for.
    asked: bool = False
    hands_over: bool = False
    #: It has ended while it started, because of an injected failure, for the first time.
    gives_up_its_start: bool = False
    has_slow_writes: bool = False
    #: It is to be killed at its next write.
    doomed: bool = False
    #: An action of the user was refused and is to be taken again; events are held back meanwhile.
    action_is_refused: bool = False
    holds_events: bool = False
    #: The cluster's own controllers have failed at something, which they may try again.
    fails_inside: bool = False

    @property
    def is_idle(self) -> bool:
        """Return whether the process has nothing to do as things are.

        A wait that is interrupted without a kill or a hand-over has found a process that repeats a call in vain: what
        is held back from it comes next, as if it were idle.
        """
        return self.rest in (Rest.IDLE, Rest.INTERRUPTED)


def next_move(facts: Situation) -> Move:
    """Return what follows.

    >>> next_move(Situation(Rest.IDLE)), next_move(Situation(Rest.BUSY, has_slow_writes=True))
    (<Move.REST: 'rest'>, <Move.END: 'end'>)
    >>> next_move(Situation(Rest.IDLE, action_is_refused=True, holds_events=True))
    <Move.RELEASE_EVENTS: 'release events'>
    """
    idle = facts.is_idle
    table = (
        (facts.asked, Move.END),
        (facts.rest is Rest.INTERRUPTED and facts.killed, Move.RESTART),
        (facts.rest is Rest.INTERRUPTED and facts.hands_over, Move.HAND_OVER),
        (facts.rest is Rest.EXITED and facts.gives_up_its_start, Move.START_AGAIN),
        (idle and facts.has_slow_writes, Move.LET_WRITE_ARRIVE),
        (idle and facts.doomed, Move.KILL),
        (idle and facts.action_is_refused and facts.holds_events, Move.RELEASE_EVENTS),
        (idle and facts.action_is_refused, Move.REPEAT_ACTION),
        (idle and facts.fails_inside, Move.RETRY_INSIDE),
        (idle, Move.REST),
    )
    return next((move for holds, move in table if holds), Move.END)
