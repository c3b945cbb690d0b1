"""Shows that everything holds, by a search of sets of states.

A set of states is a cluster, what users and faults have left to do, and for each instance the local states that it may
be in; all combinations of these belong to it. Only steps that others can notice lead from one set to another: writes,
actions of users, faults. Whatever local state an instance is in when another one writes, the write is the same. So the
combinations after it are again those of single local states, and the sets together hold exactly the states that a
search of single states finds. (Only where a controller looks at the time and sets timers they may hold a few more.)

- Writes, clusters and final states are judged as there, but for one thing: whoever asks compares the final states with
  those of unperturbed runs.
- A run must be able to settle from everywhere, users and faults apart. :func:`_settling` shows that for whole sets.

Sets say nothing of the number of perturbations that lead to a violation, so they are used only to show that there is
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash

from kontend.cluster.state import State
from kontend.explore.factored.local_states import Effort, Exit, LocalStates, Unprovable, local_states
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.world import Instance, World
from kontend.explore.model.step import Transition
from kontend.explore.properties.judge import Judge
from kontend.explore.properties.leaks import Leaks


@dataclass(frozen=True, slots=True)
class StateSet:
    """States that agree in everything but the local states of instances."""

    #: One of them.
    world: World
    instances: tuple[LocalStates, ...]


@dataclass(slots=True)
class Proof:
    """Everything holds."""

    sets: int = 0
    steps: int = 0
    #: The different final states by canonical form, and how many sets end in each.
    final_states: dict[bytes, State] = field(default_factory=dict)
    reached: dict[bytes, int] = field(default_factory=dict)
    #: The answers of the properties of clusters, in all states.
    answers: set[tuple[bool, ...]] = field(default_factory=set)
    #: The actions that were possible, by their positions; and why others were refused.
    taken: set[int] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)
    wrote: bool = False


def prove(model: Model, leaks: Leaks, effort: Effort, *, most_objects: int) -> Proof | None:
    """Show that everything holds; None where that fails, for whatever reason.

    The caller must compare the final states with those of unperturbed runs. The search is given up after
    so much effort, or where there are more than ``most_objects`` objects.
    """
    try:
        return _Prover(model, leaks, effort, most_objects).run()
    except Unprovable:
        return None


class _Prover:
    """Searches sets of states, in the order in which they are found."""

    def __init__(self, model: Model, leaks: Leaks, effort: Effort, most_objects: int) -> None:
        self._model = model
        self._leaks = leaks
        self._effort = effort
        self._most_objects = most_objects
        self._judge = Judge(model)
        self._eventually = [
            self._judge.positions[each.name] for each in model.scenario.properties if each.mode == "eventually"
        ]
        self._sets: list[StateSet] = []
        #: The numbers of sets, by the local states that they were reached with, and by all of them.
        self._by_start: dict[bytes, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._ways: list[list[_Ways]] = []
        self._proof = Proof()

    def run(self) -> Proof:
        """Search all sets. Raises ``Unprovable``."""
        initial = self._model.initial()
        self._number(initial, [[instance] for instance in initial.instances])
        for state_set in self._sets:  # it grows meanwhile
            self._expand(state_set)
        _settling(self._ways)
        self._proof.sets = len(self._sets)
        return self._proof

    def _number(self, world: World, start: list[list[Instance]]) -> int:
        """The number of the set of states that some local states lead to."""
        model, keys = self._model, self._model.layout.keys
        shared = self._shared(world)
        self._effort.spend(sum(map(len, start)))
        starts = [
            {keys.of_instance(world.with_instance(index, instance), index): instance for instance in instances}
            for index, instances in enumerate(start)
        ]
        key = keys.joined(shared, [xxhash.xxh3_128_digest(b"".join(sorted(some))) for some in starts])
        number = self._by_start.get(key)
        if number is not None:
            return number
        instances = tuple(
            local_states(model, world, index, some.values(), self._effort) for index, some in enumerate(starts)
        )
        whole = keys.joined(shared, [some.digest for some in instances])
        number = self._numbers.get(whole)
        if number is None:
            if world.size > self._most_objects:
                raise Unprovable
            number = self._numbers[whole] = len(self._sets)
            self._sets.append(StateSet(world, instances))
            self._proof.answers.add(self._judge.holds(world))
        self._by_start[key] = number
        return number

    def _shared(self, world: World) -> bytes:
        """All of the key of a state that is not about instances."""
        reserve = self._model.faults.reserve(world)
        return self._model.layout.keys.shared_part(world) + repr(reserve).encode()

    def _expand(self, state_set: StateSet) -> None:
        model, world = self._model, state_set.world
        ways = [
            _Ways.of(instances, self._followed(state_set, index, instances.exits))
            for index, instances in enumerate(state_set.instances)
        ]
        actions, late = model.users.steps(world), model.late_steps(world)
        for step in actions:
            leaving = Exit(0, world, step, model.next(world, step))
            self._followed(state_set, -1, [leaving])
            self._note_action(leaving)
        for step in late:  # they arrive in any case, so nothing has settled before
            targets = self._followed(state_set, -1, [Exit(0, world, step, model.next(world, step))])
            number = frozenset(targets.certain[0])
            ways.append(_Ways(((False, number, number),), has_timers=False))
        if not actions and not late and all(any(instances.quiet) for instances in state_set.instances):
            self._settled(world)
        self._ways.append(ways)

    def _note_action(self, leaving: Exit) -> None:
        position = self._model.users.position(leaving.before, leaving.step)
        if leaving.transition.refused:
            self._proof.refused[position] = leaving.transition.refused
        else:
            self._proof.taken.add(position)

    def _followed(self, state_set: StateSet, index: int, exits: Sequence[Exit]) -> _Targets:
        """Follow steps of one instance, or of a user (-1); returns the sets that each member leads to."""
        groups: dict[tuple[object, ...], list[Exit]] = {}
        for leaving in exits:
            self._proof.steps += 1
            self._judge_writes(leaving)
            same = (self._shared(leaving.transition.world), self._changes(leaving.transition))
            groups.setdefault(same, []).append(leaving)
        targets = _Targets({}, {})
        for group in groups.values():
            number = self._number(*self._after(state_set, index, group))
            for leaving in group:
                if leaving.is_certain:
                    targets.certain.setdefault(leaving.member, set()).add(number)
                elif leaving.step.action == "timer":
                    targets.idle.setdefault(leaving.member, set()).add(number)
        return targets

    def _after(self, state_set: StateSet, index: int, group: list[Exit]) -> tuple[World, list[list[Instance]]]:
        """The state after equal steps, and the local states of all instances."""
        model, after = self._model, group[0].transition.world
        start = []
        for other, instances in enumerate(state_set.instances):
            if other == index:
                start.append([leaving.transition.world.instances[index] for leaving in group])
            elif after.state is state_set.world.state:
                start.append(list(instances.members))
            else:
                start.append(
                    [
                        model.delivery.pushed_instance(after.with_instance(other, instance), other).instances[other]
                        for instance in instances.members
                    ]
                )
        return after, start

    def _changes(self, transition: Transition) -> tuple[object, ...]:
        digest = self._model.layout.keys.digest
        return tuple(
            (change.resource, change.key, change.old and digest(change.old), change.new and digest(change.new))
            for change in transition.changes
        )

    def _judge_writes(self, leaving: Exit) -> None:
        for before, part in leaving.transition.calls or ((leaving.before, leaving.transition),):
            if part.changes:
                self._proof.wrote = True
                self._proof.answers.add(self._judge.holds(part.world))
                for _ in self._judge.of_write(before, part, leaving.step.instance):
                    raise Unprovable

    def _settled(self, world: World) -> None:
        """Judge a final state."""
        form, holds = final_form(world), self._judge.holds(world)
        if not all(holds[position] for position in self._eventually):
            raise Unprovable
        if form not in self._proof.final_states:
            if any(self._leaks.of(world.state)):
                raise Unprovable
            self._proof.final_states[form] = world.state
        self._proof.reached[form] = self._proof.reached.get(form, 0) + 1


class _Targets(NamedTuple):
    """The sets that the members of an instance lead to: in any case, and by timers once all others are idle."""

    certain: dict[int, set[int]]
    idle: dict[int, set[int]]


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways of one instance on from a set."""

    #: For each local state: whether it can come to rest, the sets it leads to, and those once all others are idle.
    of_members: tuple[tuple[bool, frozenset[int], frozenset[int]], ...]
    has_timers: bool

    @classmethod
    def of(cls, instances: LocalStates, targets: _Targets) -> _Ways:
        """The ways of all members, each different one once."""
        rests = list(instances.quiet)
        certain = [set(targets.certain.get(at, ())) for at in range(len(rests))]
        idle = [known | targets.idle.get(at, set()) for at, known in enumerate(certain)]
        changed = True
        while changed:
            changed = False
            for at in range(len(rests) - 1, -1, -1):
                for successor in instances.successors[at]:
                    if rests[successor] and not rests[at]:
                        rests[at] = changed = True
                    for reached in (certain, idle):
                        if not reached[successor] <= reached[at]:
                            reached[at] |= reached[successor]
                            changed = True
        members = zip(rests, map(frozenset, certain), map(frozenset, idle), strict=True)
        return cls(tuple(dict.fromkeys(members)), any(instance.timers for instance in instances.members))

    def can_settle(self, shown: set[int], *, others_have_timers: bool) -> bool:
        """Every local state can come to rest, or leads to a set that was shown, if all others are at rest."""
        return all(
            rests or not (certain if others_have_timers else idle).isdisjoint(shown)
            for rests, certain, idle in self.of_members
        )

    def leads_on(self, shown: set[int]) -> bool:
        """Every local state leads to a set that was shown, whatever the others do."""
        return all(not certain.isdisjoint(shown) for _, certain, _ in self.of_members)


def _settling(ways: list[list[_Ways]]) -> None:
    """Show that runs can settle from every state of every set. Raises ``Unprovable``.

    A set is shown by others that are. All instances can come to rest by themselves, or else one that cannot leads on to
    a set that was shown, if need be by a timer once the others are at rest; or one of them leads on to such sets
    whatever local state it is in.
    """
    left = list(range(len(ways)))
    shown: set[int] = set()
    while left:
        rest = []
        for number in reversed(left):
            instances = ways[number]
            timers = sum(each.has_timers for each in instances)
            if any(each.leads_on(shown) for each in instances) or all(
                each.can_settle(shown, others_have_timers=timers > each.has_timers) for each in instances
            ):
                shown.add(number)
            else:
                rest.append(number)
        rest.reverse()
        if len(rest) == len(left):
            raise Unprovable
        left = rest
