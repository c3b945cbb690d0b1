"""The local states of one instance: everywhere it may have come without anybody else noticing.

Deliveries to its views, starts, reads and refused writes change nothing but the instance itself. What they lead to
depends on the instance and on the cluster alone, so the local states of one instance combine with those of every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import xxhash

from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import Instance, World
from kontend.explore.model.step import Step, Transition
from kontend.kube.meta.names import Key

#: The effort of one run of user code, in local states.
_RUN: Final = 50
#: After how much effort other limits are asked.
_ASK_AFTER: Final = 1_000


class Unprovable(Exception):
    """Sets of states do not show that everything holds: something is violated, or only single states can tell."""


class Effort:
    """The effort that is left: local states that are looked at, however often, and user code that runs."""

    def __init__(self, most: int, is_over: Callable[[], bool]) -> None:
        """``is_over`` is asked from time to time whether another limit was reached."""
        self._left = most
        self._is_over = is_over
        self._ask_at = most - _ASK_AFTER

    def spend(self, count: int = 1) -> None:
        """Count some. Raises ``Unprovable`` beyond the last one."""
        self._left -= count
        if self._left < self._ask_at:
            self._ask_at = self._left - _ASK_AFTER
            if self._left < 0 or self._is_over():
                raise Unprovable


@dataclass(frozen=True, slots=True)
class Exit:
    """A step of an instance that changes more than the instance."""

    #: The number of the local state in which it is taken.
    member: int
    before: World
    step: Step
    transition: Transition
    #: It can be taken whatever the other instances do.
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class LocalStates:
    """The local states that one instance may be in, within one state of everything else."""

    members: tuple[Instance, ...]
    keys: tuple[bytes, ...]
    #: For each member, the members that it becomes by one step that is certain and no fault.
    successors: tuple[tuple[int, ...], ...]
    #: For each member, whether neither it nor any that it can become leaves them or fails: there is nothing to do.
    quiet: tuple[bool, ...]
    exits: tuple[Exit, ...]

    @property
    def digest(self) -> bytes:
        """Equal for equal sets."""
        return xxhash.xxh3_128_digest(b"".join(sorted(self.keys)))


def local_states(model: Model, world: World, index: int, start: Iterable[Instance], effort: Effort) -> LocalStates:
    """All local states that an instance can reach from some; ``world`` is a state with any instances."""
    keys = model.layout.keys
    numbers: dict[bytes, int] = {}
    members: list[Instance] = []
    worlds: list[World] = []

    def number_of(within: World) -> int:
        key = keys.of_instance(within, index)
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(members)
            members.append(within.instances[index])
            worlds.append(within)
        return number

    for instance in start:
        number_of(world.with_instance(index, instance))
    successors: list[tuple[int, ...]] = []
    restless: set[int] = set()
    exits: list[Exit] = []
    ids = model.programs[index].ids
    runs = len(ids)
    for at, within in enumerate(worlds):  # it grows meanwhile
        reached: list[int] = []
        for step, transition, is_certain in _transitions(model, within, index):
            effort.spend()
            failure, is_optional = transition.failure, step.action in OPTIONAL
            if failure is not None and failure.is_bug:
                raise Unprovable
            is_local = _is_local(within, transition.world)
            if not is_optional and (failure is not None or not is_local):
                restless.add(at)
            if not is_local:
                exits.append(Exit(at, within, step, transition, is_certain and not is_optional))
                continue
            number = number_of(transition.world)
            if is_certain and not is_optional:
                reached.append(number)
        successors.append(tuple(reached))
        if len(ids) > runs:
            effort.spend(_RUN * (len(ids) - runs))
            runs = len(ids)
    _spread(restless, successors)
    quiet = tuple(at not in restless for at in range(len(members)))
    return LocalStates(tuple(members), tuple(numbers), tuple(successors), quiet, tuple(exits))


def _transitions(model: Model, world: World, index: int) -> Iterator[tuple[Step, Transition, bool]]:
    """The steps of an instance, and whether each is certain.

    A timer of an instance that has nothing else to do is early if others have. Where that makes a difference, both are
    taken for possible, and neither for certain.
    """
    for step in model.steps_of_instance(world, index):
        if step.action == "timer" and isinstance(step.subject, Key):
            seconds = model.timers.seconds(world, index, step.subject)
            early = model.timers.fired(world, index, step.subject, is_early=True)
            late = model.timers.fired(world, index, step.subject, is_early=False)
            is_certain = early.issued_sum == late.issued_sum or not model.timers.is_idle(world, index, seconds)
            yield step, Transition(early, ""), is_certain
            if not is_certain:
                yield step, Transition(late, ""), False
        else:
            yield step, model.next(world, step), True


def _spread(members: set[int], successors: list[tuple[int, ...]]) -> None:
    """Add all members that lead to some."""
    changed = True
    while changed:
        changed = False
        for at in range(len(successors) - 1, -1, -1):
            if at not in members and any(successor in members for successor in successors[at]):
                members.add(at)
                changed = True


def _is_local(before: World, after: World) -> bool:
    """Nothing has changed but one instance."""
    return (
        after.state is before.state
        and after.issued_sum == before.issued_sum
        and after.budget == before.budget
        and after.late == before.late
        and after.acted == before.acted
    )
