"""Faults: crashes of processes, calls that fail, and responses that are lost.

A crash stops a process between two calls; nothing of its reconciles runs after it. All its controllers restart with
empty memory, and with lists that are up to date or, as a lagging API server gives them, a few changes old, or from
before an object was deleted and created again. A call fails before the server carries it out, or its response is lost
afterwards; it fails with 429 and 503 only where code tells them from 500 (:mod:`kontend.explore.program.failures`). In
a hand-over a process is replaced while a write of it is on its way: the write arrives some time later.

Faults need not happen, so whatever never ends without them never ends: see :data:`OPTIONAL`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import xxhash

from kontend.cluster.state import Change, State
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.state.process import Instance, Process
from kontend.explore.model.state.world import LateWrite, World
from kontend.explore.model.step import Step
from kontend.explore.model.uuids import Uuids
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.program.failures import FAILED, THROTTLED, UNAVAILABLE, refusal
from kontend.explore.program.symbols import Assumption, bind_call
from kontend.kube.errors import Conflict
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

#: The actions of steps that need not happen, however long a run goes on.
OPTIONAL: Final = frozenset({"crash", "fail", "throttle", "unavailable", "conflict", "timeout", "lose", "depose"})
#: Verbs that the server may refuse because of another write at the same time.
_VERSIONED: Final = frozenset({"update", "patch", "apply"})
#: The responses that a run gets, by action. A response that begins with ``?`` is one that never arrives.
RESPONSES: Final = {
    "fail": FAILED,
    "throttle": THROTTLED,
    "unavailable": UNAVAILABLE,
    "conflict": refusal(Conflict("the object has been modified; please apply your changes to the latest version")),
    "timeout": b'?"the request timed out"',
    "lose": b'?"the connection was closed before the response"',
}


class Faults:
    """Lists the faults of a state, and restarts processes."""

    def __init__(self, layout: Layout, delivery: Delivery, uuids: Uuids, initial: State) -> None:
        self._layout = layout
        self._delivery = delivery
        self._uuids = uuids
        #: No list is older than the initial state.
        self._oldest = initial.resource_version
        self._rewind = layout.scenario.bounds.rewind
        self._atomic = layout.scenario.bounds.atomic
        #: The failures that are tried beside that with 500.
        self._codes = () if Assumption.SAME_FAILURES in layout.assumptions else ("throttle", "unavailable")
        together = [[index for at in ats for index in layout.processes[at].indexes] for ats in layout.together]
        self._resources = [
            frozenset(layout.resources[index][at] for index in indexes for at in layout.declared[index])
            for indexes in together
        ]
        #: For each process, the resources that its controllers reconcile.
        self._reconciled = [
            {layout.resources[index][layout.declared[index][0]] for index in indexes} for indexes in together
        ]
        #: One process of those that are alike.
        self._watching = sorted({id(process.kinds): at for at, process in enumerate(layout.processes)}.values())
        self._recent: tuple[State | None, bytes] = (None, b"")

    def steps(self, world: World) -> list[Step]:
        """The faults that can happen in a state, in a fixed order."""
        return [step for number in range(len(world.processes)) for step in self.of_process(world, number)]

    def of_process(self, world: World, number: int) -> list[Step]:
        """The faults that can happen to one process."""
        budget = world.budget
        if not budget.total:
            return []
        steps = [step for index in self._layout.processes[number].indexes for step in self._of_calls(world, index)]
        if budget.crashes:
            first = self._layout.first(number)
            if not self._is_fresh(world, number):
                steps.append(Step("crash", first))
            steps += [Step("crash", first, None, age) for age in self._ages(world.state, number)]
        return steps

    def _of_calls(self, world: World, index: int) -> list[Step]:
        """The faults of the calls of one instance."""
        budget = world.budget
        steps: list[Step] = []
        if (budget.failed or budget.lost) and not self._atomic:
            for number, in_flight in enumerate(world.instances[index].running):
                for at, call in enumerate(in_flight.node.calls):
                    steps += [
                        Step(action, index, in_flight.request, at)
                        for action in self._of_call(world, index, number, at, call)
                    ]
        if budget.handovers and not self._atomic:
            steps += [
                Step("depose", index, in_flight.request, at)
                for in_flight in world.instances[index].running
                for at, call in enumerate(in_flight.node.calls)
                if call.writes
            ]
        return steps

    def _of_call(self, world: World, index: int, number: int, at: int, call: Call) -> list[str]:
        if call.cached and not call.subresource:
            return []  # answered by a view
        actions: list[str] = []
        if world.budget.failed:
            actions += ["fail", *self._codes, "timeout"]
            if call.verb in _VERSIONED:
                actions.append("conflict")
        if world.budget.lost and call.writes:
            world = self._uuids.assigned(world, index, number)
            in_flight = world.instances[index].running[number]
            bound = bind_call(call, in_flight.uuids) if in_flight.uuids else call
            outcome, _ = self._layout.server.call(world, self._layout.programs[index], in_flight, at, bound)
            if outcome.writes:
                actions.append("lose")
        return actions

    def crashed(self, world: World, index: int, age: int) -> tuple[World, Callable[[], str]]:
        """The state after a crash of an instance's process and a restart with lists that are ``age`` changes old.

        And a description.
        """
        number = self._layout.places[index][0]
        process = world.processes[number]
        position = world.state.resource_version
        if age:
            position = self._changes(world.state, number)[age - 1].resource_version - 1
        after = self._restarted(world, number, position).with_budget(world.budget.without("crashes"))

        def described() -> str:
            running = [in_flight for instance in process.instances for in_flight in instance.running]
            requests = " and ".join(str(in_flight.request) for in_flight in running)
            during = f" while it reconciles {requests}" if requests else ""
            old = f", with lists that are {age} change{'s' * (age > 1)} old" if age else ""
            return f"{self._layout.processes[number].name} crashes{during} and restarts{old}"

        return after, described

    def deposed(self, world: World, index: int, number: int, at: int) -> tuple[World, str]:
        """The state after an instance's process was replaced while a write was on its way, and a description."""
        world = self._uuids.assigned(world, index, number)
        in_flight = world.instances[index].running[number]
        world = world.with_late((*world.late, LateWrite(index, in_flight, at)))
        place = self._layout.places[index][0]
        after = self._restarted(world, place, world.state.resource_version)
        name = self._layout.processes[place].name
        text = f"{name} is replaced by another process, while its {in_flight.node.text[at]} is on its way"
        return after.with_budget(world.budget.without("handovers")), text

    def reserve(self, world: World) -> Reserve:
        """The faults left in a state, and the changes that a restart could go back to."""
        budget = world.budget
        if not budget.total:
            return NO_RESERVE
        if not budget.crashes or not self._rewind:
            return Reserve(budget)
        if self._recent[0] is not world.state:
            digest = self._layout.keys.digest
            parts = [
                (change.resource, change.key, change.old and digest(change.old), change.new and digest(change.new))
                for change in self.recent_changes(world)
            ]
            self._recent = (world.state, xxhash.xxh3_64_digest(repr(parts).encode()))
        return Reserve(budget, self._recent[1])

    def recent_changes(self, world: World) -> list[Change]:
        """The changes that a restart could go back to, for one process of those that are alike."""
        if not world.budget.crashes or not self._rewind:
            return []
        return [change for process in self._watching for change in self._changes(world.state, process)]

    def _changes(self, state: State, number: int) -> list[Change]:
        """The last changes of the kinds of a process, newest first, as far as a list may miss them."""
        return self._missed(state, number)[0]

    def _ages(self, state: State, number: int) -> list[int]:
        """The numbers of changes by which a list may be old."""
        return self._missed(state, number)[1]

    def _missed(self, state: State, number: int) -> tuple[list[Change], list[int]]:
        """The changes that a list may miss, and how many of them.

        A list may be ``rewind`` changes old. It may also be so old that it shows the last of an object in whose place
        there is another one of the same name now: a delete and a create take several changes, and are missed together.
        Only the youngest such list is tried, and for each object of the kind that is reconciled the youngest that
        shows its predecessor.
        """
        changes: list[Change] = []
        ages: list[int] = []
        if not self._rewind:
            return changes, ages
        resources, own = self._resources[number], self._reconciled[number]
        replaced: set[tuple[str, Key] | None] = set()
        for change in state.backwards():
            if change.resource_version <= self._oldest:
                break
            if change.resource not in resources:
                continue
            changes.append(change)
            is_replaced = change.new is None and state.find(change.resource, change.key) is not None
            thing = (change.resource, change.key) if change.resource in own else None
            is_new = is_replaced and (not replaced or (thing is not None and thing not in replaced))
            if len(changes) <= self._rewind or is_new:
                ages.append(len(changes))
            if is_replaced:
                replaced.add(thing)
        return changes[: ages[-1] if ages else 0], ages

    def all_started(self, world: World) -> World:
        """The state in which all processes have started: every view has listed its kind."""
        idle = Process((), ())
        world = world.with_processes((idle,) * len(self._layout.processes))
        for number in range(len(self._layout.processes)):
            world = self._restarted(world, number, world.state.resource_version)
        return world

    def _restarted(self, world: World, number: int, position: int) -> World:
        layout = self._layout.processes[number]
        instances = tuple(
            Instance(frozenset(), frozenset(), (), self._layout.programs[index].initial_memory)
            for index in layout.indexes
        )
        world = world.with_process(number, Process((position,) * layout.declared, instances))
        for index, instance in zip(layout.indexes, instances, strict=True):
            world = world.with_instance(index, instance.changed(queue=self._delivery.listed(world, index)))
        return world

    def _is_fresh(self, world: World, number: int) -> bool:
        """A crash would change nothing."""
        process, layout = world.processes[number], self._layout.processes[number]
        if process.own or len(process.views) > layout.declared:
            return False
        if any(process.undelivered(world.state, at, layout.resources[at]) for at in range(len(process.views))):
            return False
        for index, instance in zip(layout.indexes, process.instances, strict=True):
            if instance.running or instance.delayed or instance.timers or instance.bugs:
                return False
            if instance.memory != self._layout.programs[index].initial_memory:
                return False
            if instance.queue != self._delivery.listed(world, index):
                return False
        return True
