"""The local states of one instance: everywhere it may have come without anybody else noticing.

Deliveries to its views, starts, reads and refused writes change nothing but the instance itself. What they lead to
depends on the instance and on the cluster alone, so the local states of one instance combine with those of every other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import xxhash

from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import Instance, World
from kontend.explore.model.step import Step, Transition
from kontend.kube.meta.names import Key


class Unprovable(Exception):
    """Sets of states do not show that everything holds: something is violated, or only single states can tell."""


class Effort:
    """The transitions that may still be computed."""

    def __init__(self, most: int) -> None:
        self._left = most

    def spend(self) -> None:
        """Count one. Raises ``Unprovable`` beyond the last one."""
        self._left -= 1
        if self._left < 0:
            raise Unprovable


@dataclass(frozen=True, slots=True)
class Exit:
    """A step of an instance that changes more than the instance."""

    #: The number of the local state in which it is taken.
    member: int
    before: World
    step: Step
    transition: Transition


@dataclass(frozen=True, slots=True)
class LocalStates:
    """The local states that one instance may be in, within one state of everything else."""

    members: tuple[Instance, ...]
    keys: tuple[bytes, ...]
    #: For each member, the members that it becomes by one step of its own that need happen.
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
    for at, within in enumerate(worlds):  # it grows meanwhile
        reached: list[int] = []
        for step, transition in _transitions(model, within, index):
            effort.spend()
            failure, is_optional = transition.failure, step.action in OPTIONAL
            if failure is not None and failure.is_bug:
                raise Unprovable
            is_local = _is_local(within, transition.world)
            if not is_optional and (failure is not None or not is_local):
                restless.add(at)
            if not is_local:
                exits.append(Exit(at, within, step, transition))
                continue
            number = number_of(transition.world)
            if not is_optional:
                reached.append(number)
        successors.append(tuple(reached))
    _spread(restless, successors)
    quiet = tuple(at not in restless for at in range(len(members)))
    return LocalStates(tuple(members), tuple(numbers), tuple(successors), quiet, tuple(exits))


def _transitions(model: Model, world: World, index: int) -> Iterator[tuple[Step, Transition]]:
    """The steps of an instance. A timer may be early or not, which depends on others: both are taken for possible."""
    for step in model.steps_of_instance(world, index):
        if step.action == "timer" and isinstance(step.subject, Key):
            for is_early in (False, True):
                yield step, Transition(model.timers.fired(world, index, step.subject, is_early=is_early), "")
        else:
            yield step, model.next(world, step)


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
