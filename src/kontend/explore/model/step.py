"""Steps of the model, and the transitions that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kontend.cluster.state import Change
from kontend.explore.model.answer import OK, Answer, Refusal
from kontend.explore.model.state.process import InFlight
from kontend.explore.model.state.world import World
from kontend.explore.program.progress import Failure
from kontend.kube.meta.names import Key

#: The order of steps in an unperturbed run.
UNPERTURBED: Final = ("deliver", "land", "call", "start", "act", "retry", "timer", "relist")

#: Steps of a process, which belong to its first instance; a hand-over belongs to the instance whose write is late.
OF_PROCESSES: Final = frozenset({"deliver", "relist", "crash", "depose"})


class Step(NamedTuple):
    """One thing that can happen."""

    #: start, call, deliver, relist, retry, timer, act, land; or a fault: crash, fail, throttle, unavailable, conflict,
    #: timeout, lose, depose
    action: str
    instance: int = -1
    #: The request (start, retry, timer, call, faults of calls), or the kind (deliver, relist).
    subject: Key | str | None = None
    #: For a call and its faults: which of the pending calls of the reconcile. For a crash: the age of the new lists.
    #: For an action: which user. For a late write that lands: which of them.
    at: int = 0


class Transition:
    """A step that was taken: the state after it, and a description."""

    __slots__ = (
        "_text",
        "answer",
        "at",
        "calls",
        "changes",
        "cost",
        "failure",
        "forced",
        "in_flight",
        "refused",
        "world",
    )

    def __init__(
        self,
        world: World,
        text: str | Callable[[], str],
        *,
        forced: tuple[Callable[[], str], ...] = (),
        changes: Sequence[Change] = (),
        in_flight: InFlight | None = None,
        at: int = 0,
        answer: Answer = OK,
        failure: Failure | None = None,
        refused: Refusal | None = None,
        calls: tuple[tuple[World, Transition], ...] = (),
        cost: int = 0,
    ) -> None:
        self.world = world
        # Most descriptions are never read, so those that cost something are made when they are.
        self._text = text
        #: Describe the deliveries that the bound on lag has forced.
        self.forced = forced
        #: The writes, oldest first.
        self.changes = changes
        #: For a call: the reconcile before it, and which of its calls it was.
        self.in_flight = in_flight
        self.at = at
        #: For a call: what the caller gets.
        self.answer = answer
        #: The exception with which a reconcile ended in this step.
        self.failure = failure
        #: The server's answer to a user's action that it has refused.
        self.refused = refused
        #: For an atomic reconcile: its calls, each with the state before it.
        self.calls = calls
        #: The number of perturbations: 0 for what happens in an unperturbed run.
        self.cost = cost

    @property
    def text(self) -> str:
        """Describes the step."""
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    @property
    def line(self) -> str:
        """The step in a trace."""
        return self.text + "".join(f", and {described()}" for described in self.forced)


def landings(world: World) -> list[Step]:
    """The arrivals of writes whose instances were replaced."""
    return [Step("land", late.instance, late.in_flight.request, number) for number, late in enumerate(world.late)]
