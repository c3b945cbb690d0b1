"""Shows that everything holds, by a search of sets of states.

A set of states is a cluster, what users and faults have left to do, and for each instance the local states that it may
be in; all combinations of these belong to it. Only steps that others can notice lead from one set to another: writes,
actions of users, faults. Whatever local state an instance is in when another one writes, the write is the same, and so
is what it does to the views of the others. So each local state is followed by itself, once for each cluster.

The sets hold all states that a search of single states finds, and others: two local states that were reached with the
same cluster by different runs are combined, though no run may have both. So the sets show that nothing is violated,
and never that something is.

- Sets of processes with copies also differ in the last authors of each object: :mod:`kontend.explore.factored.authors`.
- Local states that differ only in what wants a request are one: :mod:`kontend.explore.factored.wanted`.
- Controllers of one process are followed apart: :mod:`kontend.explore.factored.separation`.
- Sets that repeat others but for generations are put aside: :mod:`kontend.explore.factored.repeated`.
- Writes, clusters and final states are judged as there, but for one thing: whoever asks compares the final states with
  those of unperturbed runs.
- A run must be able to settle from everywhere, users and faults apart: see :mod:`kontend.explore.factored.settling`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kontend.cluster.state import Change, State
from kontend.explore.factored.authors import NOBODY, Authors, copied, written
from kontend.explore.factored.local_states import Effort, LocalStates, LocalStep, Unprovable, is_local, steps_of
from kontend.explore.factored.repeated import RepeatedSets
from kontend.explore.factored.separation import Inseparable, Separation, all_delivered
from kontend.explore.factored.settling import Ways, show_settling
from kontend.explore.factored.wanted import ReadNow, Wanted
from kontend.explore.model.model import Model
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.process import Instance, Process
from kontend.explore.model.state.world import World
from kontend.explore.properties.judge import Judge
from kontend.explore.properties.leaks import Leaks
from kontend.explore.reduction.macro_step import MacroStep, Write
from kontend.explore.reduction.macro_steps import MacroSteps


@dataclass(slots=True)
class Proof:
    """Everything holds."""

    sets: int = 0
    steps: int = 0
    #: The different final states by canonical form, and how many sets end in each.
    final_states: dict[bytes, State] = field(default_factory=dict)
    reached: dict[bytes, int] = field(default_factory=dict)
    #: The positions of the actions that may be possible, and of those that may be refused.
    taken: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)


class _Passage:
    """Equal steps of one instance, or of a user (-1), from one set to another."""

    __slots__ = ("after", "before", "changes", "crash", "index", "pushed", "states", "target")

    def __init__(
        self,
        index: int,
        before: State,
        after: World,
        changes: Sequence[Change],
        target: int,
        instances: int,
        crash: int | None,
    ) -> None:
        self.index = index
        self.before = before
        self.after = after
        self.changes = changes
        self.target = target
        #: The age of the lists with which a process restarts, for a crash.
        self.crash = crash
        #: For each instance, how many of its members have been taken to the target.
        self.pushed = [0] * instances
        #: The clusters of members, with their own histories, after the step; None where the target is another one.
        self.states: dict[int, State | None] = {id(before): after.state}


class _Set:
    """States that agree in everything but the local states of instances."""

    __slots__ = ("authors", "instances", "is_waiting", "must_go_on", "passages", "reserve", "world")

    def __init__(self, world: World, reserve: object, authors: Authors, instances: int) -> None:
        #: One of them.
        self.world = world
        #: The faults that are left.
        self.reserve = reserve
        #: The processes that wrote the objects last.
        self.authors = authors
        self.instances = tuple(LocalStates() for _ in range(instances))
        self.passages: dict[tuple[object, ...], _Passage] = {}
        #: It waits to be expanded.
        self.is_waiting = False
        #: Users have something left to do.
        self.must_go_on = False


class Prover:
    """Searches sets of states until none of them grows. It can stop at any time and go on later."""

    def __init__(self, model: Model, leaks: Leaks, effort: Effort, *, most_objects: int) -> None:
        """Give up where there are more than ``most_objects`` objects."""
        self._whole = model.with_uuids_by_instance()
        self._leaks = leaks
        self._effort = effort
        self._most_objects = most_objects
        self._separation: Separation | None = None
        if model.scenario.reductions.separated and model.layout.has_shared_views:
            with suppress(Inseparable):
                self._separation = Separation(self._whole)
        self._begin()

    def _begin(self) -> None:
        """Have no sets."""
        self._model = model = self._whole if self._separation is None else self._separation.model
        self._together = model.layout.together
        self._judge = Judge(model)
        self._mechanics = model.mechanics
        self._macro_steps = MacroSteps(model, shares=False)  # no local state is met twice with one cluster
        self._eventually = [
            self._judge.positions[prop.name] for prop in model.scenario.properties if prop.mode == "eventually"
        ]
        self._copied = copied(model)
        self._wanted = Wanted(self._model, self._macro_steps)
        self._repeated = RepeatedSets(self._model)
        #: The sets so far.
        self.sets: list[_Set] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._waiting: deque[int] = deque()
        self._proof = Proof()

    def run(self) -> Proof | None:
        """Search all sets; None where the effort does not suffice. Raises ``Unprovable``.

        The caller must compare the final states with those of unperturbed runs.
        """
        self._effort.begin(self._runs())
        while True:
            try:
                return self._searched()
            except Unprovable:
                if self._separation is None:
                    raise
                self._separation = None  # views that are shared may show it
                self._begin()

    def _searched(self) -> Proof | None:
        if not self.sets:
            self._start()
        while self._waiting or self._go_on_with_uncovered():
            number = self._waiting[0]
            try:
                if not self._expand(number):
                    return None
            except ReadNow:
                self._begin()
                self._start()
                continue
            self._waiting.popleft()
            state_set = self.sets[number]
            state_set.is_waiting = False
            if any(len(members.successors) < len(members.worlds) for members in state_set.instances):
                self._wait(number)  # a passage leads to the set itself
        self._judge_settling()
        self._proof.sets = len(self.sets) - len(self._repeated.covers)
        return self._proof

    def _go_on_with_uncovered(self) -> bool:
        """Follow the sets that repeat others and are not covered by them; reports whether there are any."""
        uncovered = self._repeated.uncovered(lambda number: self.sets[number].instances)
        for number in uncovered:
            self._act(number)
            self._wait(number)
        return bool(uncovered)

    def _start(self) -> None:
        initial = self._model.initial()
        if initial.budget.handovers or not self._mechanics.uuids.are_independent:
            raise Unprovable  # a late write would need a history of its own
        number = self._number(initial, NOBODY, -1)
        for index in range(len(initial.processes)):
            self._add(number, index, _alone(initial, index))

    # Sets

    def _number(self, world: World, authors: Authors, origin: int) -> int:
        """The number of the set that a state belongs to, to which the set ``origin`` leads."""
        reserve = self._mechanics.faults.reserve(world)
        key = (self._mechanics.keys.shared_part(world), reserve, authors)
        number = self._numbers.get(key)
        if number is None:
            if world.size > self._most_objects:
                raise Unprovable
            number = self._numbers[key] = len(self.sets)
            self.sets.append(_Set(world, reserve, authors, len(world.processes)))
            if not self._repeated.add(origin, world, authors):
                self._act(number)
        return number

    def _act(self, number: int) -> None:
        """Take the actions of users in a new set."""
        model, users, state_set = self._model, self._mechanics.users, self.sets[number]
        world = state_set.world
        for step in users.steps(world):
            state_set.must_go_on = True
            macro = MacroStep(world).then(step, model.next(world, step))
            (self._proof.refused if macro.refused else self._proof.taken).add(
                self._mechanics.users.position(world, step)
            )
            self._judge_writes(macro.writes, -1)
            self._passage(number, -1, world, macro.world)

    def _add(self, number: int, index: int, world: World) -> int:
        """The number of a local state within a set. A new one waits to be expanded."""
        state_set = self.sets[number]
        members = state_set.instances[index]
        world = self._wanted.joined(world, index)
        count = len(members.worlds)
        member = members.add(self._mechanics.keys.of_process(world, index), world)
        if member == count:
            self._wait(number)
        return member

    def _wait(self, number: int) -> None:
        state_set = self.sets[number]
        if not state_set.is_waiting and number not in self._repeated.covers:
            state_set.is_waiting = True
            self._waiting.append(number)

    def _expand(self, number: int) -> bool:
        """Expand the local states of a set that are new, and take them to other sets with the steps of others.

        False where the effort does not suffice: what is left is done the next time.
        """
        state_set = self.sets[number]
        for index, members in enumerate(state_set.instances):
            while len(members.successors) < len(members.worlds):
                if not self._effort.is_left:
                    return False
                self._expand_member(number, index, len(members.successors))
        for passage in list(state_set.passages.values()):
            for index, members in enumerate(state_set.instances):
                if index != passage.index and passage.pushed[index] < len(members.worlds):
                    if not self._effort.is_left:
                        return False
                    for world in members.worlds[passage.pushed[index] :]:
                        self._push(passage, index, world)
                    passage.pushed[index] = len(members.worlds)
        return True

    def _expand_member(self, number: int, index: int, member: int) -> None:
        model, members = self._model, self.sets[number].instances[index]
        world = members.worlds[member]
        reached: list[int] = []
        for step in steps_of(model, self._macro_steps, world, index):
            self._effort.spend()
            after = step.world
            if step.failure is not None and step.failure.is_bug:
                raise Unprovable
            stays = is_local(world, after)
            if not step.is_optional and (step.failure is not None or not stays):
                members.restless.add(member)
            afters = [after] if step.is_optional else list(self._wanted.still_wanted(world, after, index))
            if stays:
                successors = [self._add(number, index, each) for each in afters]
                if step.is_certain and not step.is_optional:
                    reached += successors
                continue
            self._proof.steps += 1
            self._judge_writes(step.writes, step.instance)
            for each in afters:
                self._leave(number, index, member, step._replace(world=each))
        if len(self._together[index]) > 1:
            delivered = all_delivered(model, world, index)
            if delivered is not world:
                self._effort.spend()
                members.delivered[member] = self._add(number, index, delivered)
        self._wanted.check()
        if self._separation is not None:
            self._separation.check()
        members.successors.append(tuple(reached))
        self._effort.spend_on_runs(self._runs())

    def _runs(self) -> int:
        return sum(len(program.ids) for program in self._model.programs)

    # Steps that others notice

    def _leave(self, number: int, index: int, member: int, step: LocalStep) -> None:
        """Follow a step of an instance to another set."""
        members = self.sets[number].instances[index]
        target = self._passage(number, index, members.worlds[member], step.world, step.crash)
        self._add(target, index, step.world)
        if step.is_optional:
            return
        if step.is_certain:
            members.certain.setdefault(member, set()).add(target)
        elif step.is_timer:
            members.idle.setdefault(member, set()).add(target)

    def _passage(self, number: int, index: int, before: World, after: World, crash: int | None = None) -> int:
        """Note a step that leads to another set; returns the number of that."""
        state_set = self.sets[number]
        changes = after.state.changes_since(before.state.resource_version) if after.state is not before.state else []
        author = min(self._together[index]) if index >= 0 else index
        target = self._number(after, written(state_set.authors, changes, author, self._copied), number)
        key = (index, target, self._digests(changes), crash)
        if key not in state_set.passages:
            instances = len(state_set.instances)
            state_set.passages[key] = _Passage(index, before.state, after, changes, target, instances, crash)
            self._wait(number)
        return target

    def _digests(self, changes: Sequence[Change]) -> tuple[object, ...]:
        digest = self._mechanics.keys.digest
        return tuple(
            (change.resource, change.key, change.old and digest(change.old), change.new and digest(change.new))
            for change in changes
        )

    def _push(self, passage: _Passage, index: int, world: World) -> None:
        """Take a local state of another instance to the target of a passage."""
        self._effort.spend()
        if id(world.state) not in passage.states:
            passage.states[id(world.state)] = self._replayed(passage, world)
        state = passage.states[id(world.state)]
        if state is None:
            return
        if passage.crash is not None and index in self._together[passage.index]:
            restarted, _ = self._mechanics.faults.crashed(world, index, passage.crash)
            self._add(passage.target, index, restarted)
            return
        if state is world.state:
            self._add(passage.target, index, world.within(passage.after, state))
            return
        for delivered in self._macro_steps.before_push(world, index, passage.changes):
            moved = delivered.within(passage.after, state)
            self._add(passage.target, index, self._mechanics.delivery.pushed_process(moved, index))

    def _replayed(self, passage: _Passage, world: World) -> State | None:
        """The cluster of a local state after the step; None where that leaves other faults than the target has."""
        before, after, state = passage.before, passage.after.state, world.state
        for change in passage.changes:
            if change.new is None:
                state = state.remove(change.resource, change.key)
            else:
                new = change.new
                state, _ = state.write(change.resource, change.key, new.body, new.managed, filled=new.filled)
        if after.registry is not before.registry:
            state = state.replace(registry=after.registry)
        reserve = self._mechanics.faults.reserve(world.within(passage.after, state))
        return state if reserve == self.sets[passage.target].reserve else None

    # Judging

    def _judge_writes(self, writes: Sequence[Write], index: int) -> None:
        for _, before, transition in writes:
            for _ in self._judge.of_write(before, transition, index):
                raise Unprovable

    def _judge_settling(self) -> None:
        ways: dict[int, list[Ways]] = {}
        covers = self._repeated.covers
        for number, state_set in enumerate(self.sets):
            if number in covers:
                continue
            quiet = [members.quiet() for members in state_set.instances]
            ways[number] = [
                Ways.of(members, index, quiet[index], covers) for index, members in enumerate(state_set.instances)
            ]
            if not state_set.must_go_on and all(any(members) for members in quiet):
                self._judge_final(state_set.world)
        show_settling(ways)

    def _judge_final(self, world: World) -> None:
        form, holds = final_form(world, self._model.ignored), self._judge.holds(world)
        if not all(holds[position] for position in self._eventually):
            raise Unprovable
        if form not in self._proof.final_states:
            if any(self._leaks.of(world.state)):
                raise Unprovable
            self._proof.final_states[form] = world.state
        self._proof.reached[form] = self._proof.reached.get(form, 0) + 1


def _alone(world: World, index: int) -> World:
    """A state in which all processes but one see nothing and do nothing."""
    idle = Instance(frozenset(), frozenset(), (), b"")
    return world.with_processes(
        tuple(
            process if at == index else Process((), (idle,) * len(process.instances))
            for at, process in enumerate(world.processes)
        )
    )
