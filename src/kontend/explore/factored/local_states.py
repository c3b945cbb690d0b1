"""The local states of one process: everywhere it may have come without anybody else noticing.

Deliveries to its views, starts, reads and refused writes change nothing but the instance itself. What they lead to
depends on the instance and on the cluster alone, so the local states of one instance combine with those of every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.program.progress import Failure
from kontend.explore.reduction.macro_step import MacroStep, Write
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.kube.meta.names import Key

#: The effort of one run of user code, in local states.
_RUN: Final = 50
#: After how much effort other limits are asked.
_ASK_AFTER: Final = 1_000


class Unprovable(Exception):
    """Sets of states do not show that everything holds: something is violated, or only single states can tell."""


class Effort:
    """The effort that is left: local states that are looked at, however often, and user code that runs."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        """``is_over`` is asked from time to time whether another limit was reached."""
        self._is_over = is_over
        self._left = 0
        self._ask_at = 0
        self._runs = 0

    def add(self, count: int) -> None:
        """Allow for more."""
        self._left += count
        self._ask_at = self._left - _ASK_AFTER

    def spend(self, count: int = 1) -> None:
        """Count some."""
        self._left -= count

    def begin(self, runs: int) -> None:
        """Count reconcile runs from here on: those so far were made by others."""
        self._runs = runs

    def spend_on_runs(self, runs: int) -> None:
        """Count the reconcile runs so far."""
        if runs > self._runs:
            self.spend(_RUN * (runs - self._runs))
            self._runs = runs

    @property
    def is_left(self) -> bool:
        """There is some, and no other limit was reached."""
        if self._left < self._ask_at:
            self._ask_at = self._left - _ASK_AFTER
            if self._is_over():
                self._left = 0
        return self._left > 0


class LocalStates:
    """The local states of one process within a set of states. They grow while sets are searched."""

    __slots__ = ("certain", "delivered", "idle", "numbers", "restless", "successors", "worlds")

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        #: For each member, a state that it belongs to, with its own history; the other processes there do not count.
        self.worlds: list[World] = []
        #: For each member that was expanded, the members that it becomes by one step that is certain and no fault.
        self.successors: list[tuple[int, ...]] = []
        #: The members that leave the set or fail by one step that is no fault.
        self.restless: set[int] = set()
        #: The sets that a member leads to: in any case, and by a timer once all others are idle.
        self.certain: dict[int, set[int]] = {}
        self.idle: dict[int, set[int]] = {}
        #: The members that others become once all events are delivered, where views are shared with other instances.
        self.delivered: dict[int, int] = {}

    def add(self, key: bytes, world: World) -> int:
        """The number of a member, which may be new."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.worlds)
            self.worlds.append(world)
        return number

    def quiet(self) -> list[bool]:
        """For each member: neither it nor any that it can become leaves the set or fails. It has nothing to do."""
        restless = set(self.restless)
        changed = True
        while changed:
            changed = False
            for at in range(len(self.successors) - 1, -1, -1):
                if at not in restless and not restless.isdisjoint(self.successors[at]):
                    restless.add(at)
                    changed = True
        return [at not in restless for at in range(len(self.worlds))]


class LocalStep(NamedTuple):
    """A step of one process, or several that are taken as one."""

    world: World
    writes: tuple[Write, ...]
    failure: Failure | None
    #: The instance that takes the last of them.
    instance: int
    #: It need not be taken, however long a run goes on.
    is_optional: bool = False
    #: It can be taken whatever the other processes do.
    is_certain: bool = True
    #: It is a timer that fires.
    is_timer: bool = False
    #: It is a crash: how many changes old the lists are with which the process restarts.
    crash: int | None = None


def steps_of(model: Model, macro_steps: MacroSteps, world: World, number: int) -> Iterator[LocalStep]:
    """The steps of a process, as macro-steps where they are reduced."""
    if macro_steps.is_reduced(world, number):
        macros = macro_steps.of_process(world, number)
    else:
        origin = MacroStep(world)
        macros = [origin.then(step, model.next(world, step)) for step in model.steps_of_process(world, number)]
    for macro in macros:
        first = macro.steps[0]
        if len(macro.steps) == 1 and first.action == "timer" and isinstance(first.subject, Key):
            yield from _firing(model, world, first.instance, first.subject)
        else:
            last = macro.steps[-1]
            crash = last.at if last.action == "crash" else None
            yield LocalStep(macro.world, macro.writes, macro.failure, last.instance, macro.is_optional, crash=crash)


def _firing(model: Model, world: World, index: int, request: Key) -> Iterator[LocalStep]:
    """A timer that fires by itself.

    One of an instance that has nothing else to do is early if others have. Where that makes a difference, both are
    taken for possible, and neither for certain. Within a macro-step the instance has something else to do.
    """
    timers = model.mechanics.timers
    early = timers.fired(world, index, request, is_early=True)
    late = timers.fired(world, index, request, is_early=False)
    seconds = timers.seconds(world, index, request)
    is_certain = early.issued_sum == late.issued_sum or not timers.is_idle(world, index, seconds)
    yield LocalStep(early, (), None, index, is_certain=is_certain, is_timer=True)
    if not is_certain:
        yield LocalStep(late, (), None, index, is_certain=False, is_timer=True)


def is_local(before: World, after: World) -> bool:
    """Nothing has changed but one process."""
    return (
        after.state is before.state
        and after.issued_sum == before.issued_sum
        and after.budget == before.budget
        and after.acted == before.acted
    )
