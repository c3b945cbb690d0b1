"""Divides a scenario into candidates for independent parts.

An object belongs to the same part as its owners, as the requests that its events enqueue, and as the actions on it.
That is only a guess: the footprints of the parts show whether it is right (:mod:`kontend.explore.parts.footprint`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.model.model import Model
from kontend.explore.model.part import Part
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.program.symbols import Assumption
from kontend.kube.meta.names import Key

#: Assumptions without which what one object sees depends on what others do.
_ASSUMPTIONS: Final = frozenset(Assumption) - {Assumption.SAME_FAILURES}

#: An object, a uid or a request.
Member = tuple[Any, ...]


class _Groups:
    """Sets of members that belong together (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[Member, Member] = {}

    def add(self, member: Member) -> Member:
        """Add a member; returns the one that stands for its group."""
        parent = self._parents.setdefault(member, member)
        while parent != member:
            member, parent = parent, self._parents[parent]
        return member

    def join(self, one: Member, other: Member) -> None:
        """Make two groups one."""
        self._parents[self.add(one)] = self.add(other)

    def all(self) -> list[frozenset[Member]]:
        """All groups."""
        groups: dict[Member, set[Member]] = {}
        for member in self._parents:
            groups.setdefault(self.add(member), set()).add(member)
        return [frozenset(group) for group in groups.values()]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A part before it is explored."""

    #: The number of the controller, and the request.
    requests: frozenset[tuple[int, Key]]
    #: For each user the actions, from one position up to another.
    actions: tuple[tuple[int, int], ...]

    @property
    def position(self) -> tuple[int, ...]:
        """Sorts candidates in the order in which users get to them."""
        return tuple(begin for begin, _ in self.actions)

    def joined(self, other: Candidate) -> Candidate:
        """Both as one, with the actions in between."""
        actions = tuple(_hull(mine, others) for mine, others in zip(self.actions, other.actions, strict=True))
        return Candidate(self.requests | other.requests, actions)


def can_be_divided(model: Model) -> bool:
    """Nothing in a scenario concerns all objects: memory, time, properties of every state."""
    scenario = model.scenario
    return (
        scenario.reductions.parts
        and model.layout.assumptions >= _ASSUMPTIONS
        and all(prop.mode == "eventually" for prop in scenario.properties)
        and all(program.initial_memory == b"{}" for program in model.programs)
        and not any(action.when or action.retry for action in model.mechanics.users.all_actions)
    )


def candidates(model: Model) -> list[Candidate]:
    """The parts of a scenario, as far as its initial objects and actions show them; in the order of the actions."""
    world = model.initial()
    groups = _Groups()
    for index, program in enumerate(model.programs):
        own = model.resource(world, program.controller.kind)
        for resource, key, requests in model.mechanics.delivery.listed_objects(world, index):
            for request in requests:
                groups.join(("request", program.number, request), ("object", resource, key))
                groups.join(("request", program.number, request), ("object", own, request))
    _join_owners(world, groups)
    targets = [
        [_target(model, world, action.kind, action.key) for action in user.actions] for user in model.layout.users
    ]
    for target in (target for user in targets for target in user):
        groups.add(target)
    parts = [
        Candidate(
            frozenset((member[1], member[2]) for member in group if member[0] == "request"),
            tuple(_span(user, group) for user in targets),
        )
        for group in groups.all()
    ]
    parts = [part for part in parts if part.requests or any(begin < end for begin, end in part.actions)]
    return neighbours(parts)


def neighbours(parts: Iterable[Candidate]) -> list[Candidate]:
    """Join parts whose actions do not follow each other: users take their actions in order."""
    todo = sorted(parts, key=lambda part: (part.position, sorted(part.requests)))
    for at, part in enumerate(todo):
        for other in todo[at + 1 :]:
            if any(_cross(mine, others) for mine, others in zip(part.actions, other.actions, strict=True)):
                rest = [remaining for remaining in todo if remaining is not part and remaining is not other]
                return neighbours([part.joined(other), *rest])
    return todo


def started(model: Model, candidate: Candidate, others: Iterable[Candidate]) -> tuple[Part, tuple[Step, ...]]:
    """A candidate as a part, and the steps of the whole scenario that lead to its start: earlier actions of users."""
    world = model.initial()
    steps: list[Step] = []
    for user, (begin, end) in enumerate(candidate.actions):
        if begin == end:
            continue
        for _ in range(begin):
            world = _taken(model, world, Step("act", at=user), steps)
            while deliveries := [step for step in model.steps(world) if step.action == "deliver"]:
                world = _taken(model, world, deliveries[0], steps)
    own = [
        frozenset(request for number, request in candidate.requests if number == program.number)
        for program in model.programs
    ]
    foreign = [
        frozenset(request for other in others for number, request in other.requests if number == program.number)
        | (instance.queue - own[index])
        for index, (program, instance) in enumerate(zip(model.programs, world.instances, strict=True))
    ]
    for index, instance in enumerate(world.instances):
        world = world.with_instance(index, instance.changed(queue=instance.queue & own[index]))
    ends = tuple(end if begin < end else 0 for begin, end in candidate.actions)
    return Part(world, model.initial().state, tuple(foreign), ends), tuple(steps)


def _taken(model: Model, world: World, step: Step, steps: list[Step]) -> World:
    steps.append(step)
    return model.next(world, step).world


def _target(model: Model, world: World, kind: str, key: Key) -> tuple[str, str, Key]:
    try:
        return "object", model.resource(world, kind), key
    except UnknownKind:
        return "object", kind, key


def _join_owners(world: World, groups: _Groups) -> None:
    for resource in world.state.kinds:
        for key, version in world.state.objects(resource).items():
            member = ("object", resource, Key(*key))
            metadata = orjson.loads(version.body)["metadata"]
            groups.join(member, ("uid", metadata.get("uid")))
            for owner in metadata.get("ownerReferences") or ():
                groups.join(member, ("uid", owner.get("uid")))


def _span(user: list[tuple[str, str, Key]], group: frozenset[Member]) -> tuple[int, int]:
    positions = [at for at, target in enumerate(user) if target in group]
    return (positions[0], positions[-1] + 1) if positions else (0, 0)


def _cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _hull(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    if one[0] == one[1] or other[0] == other[1]:
        return other if one[0] == one[1] else one
    return min(one[0], other[0]), max(one[1], other[1])
