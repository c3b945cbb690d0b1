"""Macro-steps: several steps as one, where no other instance and no property could tell a stop in between.

Others see nothing of a reconcile but its writes. Delivering an event to a view, starting a reconcile and reading a view
can be put off until just before the reconcile's next request to the server, past everything that others do, and nothing
comes out differently. So they are taken together with that request, in every combination, and states in which an
instance has stopped half way are not visited.

There is one exception. A write that pushes a view beyond the bound on lag forces a delivery, and putting off a start
or a read past that would change what it sees. So before such a write, every instance whose view it pushes may have
come half way. The sequence of writes is never changed, which is why a property holds with these reductions exactly
when it holds without them.

Controllers of one process share its views, so a delivery before a read of one may come after a start or a read of
another one, which it would change. So before such a delivery the others may have come half way, too; where no delivery
follows that they can tell, they are put off.

A process with several calls or several reconciles of one controller in flight is not reduced: each of its steps is a
macro-step.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.state.process import Process
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.problems import BadScenario
from kontend.explore.program.symbols import Assumption
from kontend.explore.reduction.deliveries import Deliveries
from kontend.explore.reduction.local_steps import LocalSteps
from kontend.explore.reduction.macro_step import LocalMacroStep, MacroStep, after_local_steps
from kontend.explore.reduction.reducible import Reducible

#: A reconcile that has read its views in more ways than these without a request to the server never makes one.
_MOST_READS: Final = 10_000
#: As long as these hold, no reconcile sees a value that depends on what was handed out before.
_SHOWN: Final = frozenset({Assumption.TIMELESS, Assumption.SETTLED_STAMPS, Assumption.WHOLE_UUIDS})


class MacroSteps:
    """Lists the macro-steps of a state."""

    def __init__(self, model: Reducible, *, shares: bool = True) -> None:
        """``shares`` keeps local steps for other states in which a process is in the same situation."""
        self._model = model
        self._mechanics = model.mechanics
        self._layout = layout = model.layout
        reductions, bounds = layout.scenario.reductions, layout.scenario.bounds
        self._deliveries = Deliveries(model)
        # An atomic reconcile pushes views in its middle, where mapping functions can tell what was delivered before.
        self._is_reduced = reductions.deliveries and not (bounds.atomic and any(self._deliveries.mapped))
        self._atomic = bounds.atomic
        self._processes, self._places = layout.processes, layout.places
        self._guards_reads = layout.scenario.guards.read_your_writes
        self._is_concurrent = [
            any(layout.programs[index].controller.max_concurrent > 1 for index in process.indexes)
            for process in layout.processes
        ]
        self._reads = self._is_reduced and reductions.reads and not bounds.atomic
        self._lag = bounds.lag
        #: A restart may leave views further behind than that, until the next write.
        self._is_rewound = bool(bounds.rewind and bounds.faults and bounds.crashes)
        self._shares = shares and reductions.local
        #: A reconcile that starts sees the time or real uuids, which depend on what was handed out before.
        self._shows_issued = layout.assumptions & _SHOWN != _SHOWN
        self._known: dict[tuple[object, ...], list[LocalSteps] | None] = {}

    def forget(self) -> None:
        """Forget the local steps that were computed."""
        self._known.clear()

    def of(self, world: World) -> list[MacroStep]:
        """All macro-steps of a state, in a fixed order."""
        origin = MacroStep(world)
        if not self._is_reduced:
            return [origin.then(step, self._model.next(world, step)) for step in self._model.steps(world)]
        if self._model.is_stuck(world):
            return []
        different = self._mechanics.keys.different_processes(world)
        macros = [macro for number in different for macro in self._of_process(origin, number)]
        for action in self._mechanics.users.steps(world):
            macros += self._global(origin, action)
        for number, late in enumerate(world.late):
            macros += self._global(origin, Step("land", late.instance, late.in_flight.request, number))
        return macros

    def is_reduced(self, world: World, number: int) -> bool:
        """The macro-steps of a process are more than its single steps."""
        return self._is_reduced and self._is_simple(world, number)

    def of_process(self, world: World, number: int) -> list[MacroStep]:
        """The macro-steps of one process in a state in which no other one has views."""
        return self._of_process(MacroStep(world), number)

    def before_push(self, world: World, number: int, changes: Sequence[Change]) -> Iterator[World]:
        """The states of a process in which a write of others may find it."""
        yield world
        if self._is_reduced and self._is_pushed(world, changes, number):
            for macro in self._unseen(MacroStep(world), number, changes):
                yield macro.world

    def _of_process(self, origin: MacroStep, number: int) -> list[MacroStep]:
        world = origin.world
        if not self._is_simple(world, number):
            return self._each(origin, number)
        macros = list(self._dropping(origin, number))
        if world.budget.total:
            for fault in self._mechanics.faults.of_process(world, number):
                macros += self._global(origin, fault)
        for index in self._processes[number].indexes:
            instance = world.instances[index]
            if instance.timers:
                for step in self._timers_by_themselves(world, index):
                    macros += self._global(origin, step)
            if instance.running and self._asks_server(world, index):
                for step in self._retries(world, index):
                    macros += self._global(origin, step)
                macros += self._global(origin, Step("call", index, instance.running[0].request))
            elif self._atomic:
                macros += [macro for macro, _ in self._observations(origin, index)]
        if not self._atomic:
            macros += self._local(origin, number, half_way=False)
        return macros

    def _dropping(self, origin: MacroStep, number: int) -> Iterator[MacroStep]:
        """Deliveries by themselves, where a start need not follow and others could tell.

        A relist takes several events as one, and a mapping function can tell in which order events came: they may
        enqueue less than others would. And a timer is early as long as an event is undelivered that enqueues nothing.
        """
        world = origin.world
        if not self._deliveries.can_relist(world, number) and (
            not world.processes[number].is_resting
            or not (self._deliveries.depend_on_order(world, number) or _has_timers(world))
        ):
            return
        for macro in self._deliveries.of(origin, number, range(len(world.processes[number].views))):
            if macro is origin:
                continue
            after = macro.world.processes[number]
            if macro.steps[-1].action == "relist" or not any(
                instance.queue or instance.delayed or instance.running for instance in after.instances
            ):
                yield macro

    def _is_simple(self, world: World, number: int) -> bool:
        """Of each controller at most one reconcile with one call is in flight, and no second one can start."""
        if self._is_concurrent[number]:
            return False
        for instance in world.processes[number].instances:  # a loop, because this runs for every state
            if instance.running and len(instance.running[0].node.calls) != 1:
                return False
        return True

    def _each(self, origin: MacroStep, number: int) -> list[MacroStep]:
        """Every step of a process by itself."""
        macros: list[MacroStep] = []
        for step in self._model.steps(origin.world):
            if step.instance >= 0 and step.action != "land" and self._places[step.instance][0] == number:
                macros += self._global(origin, step)
        return macros

    # Local steps

    def _local(self, origin: MacroStep, number: int, *, half_way: bool) -> list[MacroStep]:
        """The local steps of a process, up to a request to the server or the end, or (``half_way``) before it."""
        world = origin.world
        process = world.processes[number]
        if not any(instance.is_waiting for instance in process.instances) and not self._is_behind(world, number):
            return []
        # Before a push every controller may have come half way; else only those that a delivery to another one hurries.
        all_half_way = half_way and len(process.instances) > 1
        known: list[LocalSteps] | None = None
        if self._shares:
            issued = world.issued_sum if self._shows_issued else 0
            # Which of two ways is the cheaper one depends on others where a timer fires.
            timers = sorted(timer for instance in process.instances for timer in instance.timers)
            early = tuple([self._early(world, number, seconds) for seconds, _ in timers])
            key = self._mechanics.keys.of_process(world, number)
            question = (number, key, world.objects, issued, early, all_half_way)
            if question not in self._known:
                reached = list(self._reached(MacroStep(world), number, all_half_way=all_half_way))
                self._known[question] = self._recorded(world, number, reached)
                if self._known[question] is None and not origin.steps:
                    return [macro for macro in reached if self._stopped_half_way(macro) == half_way]
            known = self._known[question]
        if known is None:  # they change more than the process
            again = self._reached(origin, number, all_half_way=all_half_way)
            return [macro for macro in again if self._stopped_half_way(macro) == half_way]
        start_cost = int(process.is_resting and not world.is_resting)
        return [self._joined(origin, number, local, start_cost) for local in known if local.is_half_way == half_way]

    def _recorded(self, world: World, number: int, reached: Sequence[MacroStep]) -> list[LocalSteps] | None:
        """The local steps of a process that lead to these states; None where they cannot be applied in others."""
        mechanics = self._mechanics
        if any(
            macro.world.issued_sum != world.issued_sum
            or any(in_flight.uuids for now in macro.world.processes[number].instances for in_flight in now.running)
            for macro in reached
        ):
            return None
        start_cost = int(world.processes[number].is_resting and not world.is_resting)
        return [
            LocalSteps(
                world,
                macro.world,
                number,
                mechanics.keys,
                mechanics.similarity,
                self._processes[number].resources,
                steps=macro.steps,
                failure=macro.failure,
                stale=macro.cost - start_cost - self._early(world, number, macro.timer),
                timer=macro.timer,
                is_half_way=self._stopped_half_way(macro),
            )
            for macro in reached
        ]

    def _joined(self, origin: MacroStep, number: int, local: LocalSteps, start_cost: int) -> MacroStep:
        """A macro-step followed by local steps, the first of which may be a start that perturbs others."""
        world = origin.world
        cost = origin.cost + local.stale + start_cost
        if local.timer:
            cost += self._early(world, number, local.timer)
        if not origin.steps:
            return LocalMacroStep(world, number, local, cost, self._model)
        return MacroStep(
            after_local_steps(world, number, local, self._model),
            origin.steps + local.steps,
            cost,
            origin.writes,
            local.failure or origin.failure,
            origin.refused,
        )

    def _early(self, world: World, number: int, timer: float) -> int:
        """1 if other processes make a timer of a process an early one, else 0."""
        return int(bool(timer) and not self._mechanics.timers.other_processes_are_idle(world, number, timer))

    def _reached(self, origin: MacroStep, number: int, *, all_half_way: bool) -> Iterator[MacroStep]:
        """Everything that a process can reach without the server, half way too; the cheapest way to each.

        Where one of its controllers stops, the others have come half way only if a delivery that followed made a
        difference to their last step; with ``all_half_way``, wherever they may be.
        """
        heap: list[tuple[int, int, int, MacroStep, dict[int, str]]] = []
        count = 0
        indexes = self._processes[number].indexes

        def push(before: MacroStep, index: int, hurried: dict[int, str]) -> None:
            """Add all that an instance can do next. ``hurried`` are those whose last step could be put off so far."""
            nonlocal count
            for macro, kind in self._observations(before, index):
                count += 1
                left = {index: kind}
                for other, read in hurried.items():
                    if other != index and not self._hurries(before, macro, number, other, read):
                        left[other] = read
                heapq.heappush(heap, (macro.cost, len(macro.steps), count, macro, left))

        for index in indexes:
            if self._can_go_on(origin.world, index):
                push(origin, index, {})
        seen: set[tuple[object, ...]] = set()
        while heap:
            _, _, _, macro, hurried = heapq.heappop(heap)
            # A reconcile that fails may lead back to the same state as one that finds nothing to do.
            signature = (*_signature(macro.world.processes[number]), macro.failure and macro.failure.text)
            if signature in seen:
                continue
            seen.add(signature)
            last = macro.steps[-1].instance
            if len(seen) > _MOST_READS:
                raise BadScenario(
                    f"{self._layout.names[last]}: a reconcile read its cache in {_MOST_READS:,} ways without a request "
                    "to the server; does it wait for something in a loop?"
                )
            is_half_way = self._is_half_way(macro.world, last)
            if is_half_way or len(hurried) == 1:
                yield macro
            if not is_half_way:
                continue
            push(macro, last, hurried)
            if len(indexes) > 1 and (all_half_way or self._is_behind(macro.world, number)):
                for index in indexes:
                    if index != last and self._can_go_on(macro.world, index):
                        push(macro, index, hurried)

    def _can_go_on(self, world: World, index: int) -> bool:
        """An instance can take a local step: it is idle or half way."""
        return not world.instances[index].running or not self._asks_server(world, index)

    def _hurries(self, before: MacroStep, after: MacroStep, number: int, index: int, read: str) -> bool:
        """Steps of another controller of a process make a difference to the last start or read of an instance."""
        position = self._places[index][1]
        one, other = (macro.world.processes[number].instances[position] for macro in (before, after))
        delivered = [step for step in after.steps[len(before.steps) :] if step.action in ("deliver", "relist")]
        return one is not other or any(self._deliveries.mapped[number] or step.subject == read for step in delivered)

    def _stopped_half_way(self, macro: MacroStep) -> bool:
        return self._is_half_way(macro.world, macro.steps[-1].instance)

    def _is_half_way(self, world: World, index: int) -> bool:
        instance = world.instances[index]
        return (
            self._reads
            and bool(instance.running)
            and len(instance.running[0].node.calls) == 1
            and not self._asks_server(world, index)
        )

    def _asks_server(self, world: World, index: int) -> bool:
        """The next call of the reconcile goes to the server."""
        call = world.instances[index].running[0].node.calls[0]
        return not self._mechanics.reads.is_local(world.process(index), index, call)

    def _observations(self, origin: MacroStep, index: int) -> Iterator[tuple[MacroStep, str]]:
        """One start or one cached read, after any deliveries that it can tell; and the kind that was read."""
        model, timers = self._model, self._mechanics.timers
        number = self._places[index][0]
        running = origin.world.instances[index].running
        every = self._deliveries.depend_on_order(origin.world, number)
        if running:
            call = running[0].node.calls[0]
            kinds = [at for at, kind in enumerate(self._layout.kinds[index]) if every or kind == call.view]
            step = Step("call", index, running[0].request)
            for macro in self._deliveries.of(origin, number, kinds):
                if not self._mechanics.reads.must_wait(macro.world.process(index), index, call):
                    yield macro.then(step, model.next(macro.world, step)), call.view
            for step in (*self._timers(origin.world, index), *self._retries(origin.world, index)):
                yield origin.then(step, model.next(origin.world, step)), ""
            return
        # Events of other kinds enqueue nothing: they are delivered before the read, or here if nothing comes between,
        # or if a mapping function may look at them.
        declared = range(len(self._layout.kinds[index])) if every or self._atomic else self._layout.declared[index]
        for macro in self._deliveries.of(origin, number, declared):
            instance = macro.world.instances[index]
            for request in sorted(instance.queue):
                step = Step("start", index, request)
                yield macro.then(step, model.next(macro.world, step)), ""
            for request in sorted(instance.delayed):
                retry, step = Step("retry", index, request), Step("start", index, request)
                due = macro.then(retry, model.next(macro.world, retry))
                yield due.then(step, model.next(due.world, step)), ""
            for seconds, request in sorted(instance.timers):
                if self._shows_issued and timers.is_idle(macro.world, index, seconds):
                    continue  # it fires by itself
                fire, step = Step("timer", index, request), Step("start", index, request)
                due = macro.then(fire, model.next(macro.world, fire))
                due.timer = seconds if timers.process_is_idle(macro.world, number, seconds) else 0.0
                yield due.then(step, model.next(due.world, step)), ""

    def _timers(self, world: World, index: int) -> list[Step]:
        """The timers of an instance, which may fire in the middle of a reconcile: its end then sets another one."""
        return [Step("timer", index, request) for _, request in sorted(world.instances[index].timers)]

    def _retries(self, world: World, index: int) -> list[Step]:
        """A delay that ends in the middle of a reconcile of the same request, whose end may begin another one."""
        instance = world.instances[index]
        request = instance.running[0].request
        return [Step("retry", index, request)] if request in instance.delayed else []

    def _timers_by_themselves(self, world: World, index: int) -> list[Step]:
        """Those that fire before a request to the server, or that advance a clock if others are idle."""
        if world.instances[index].running:
            return self._timers(world, index) if self._asks_server(world, index) else []
        return [
            Step("timer", index, request)
            for seconds, request in sorted(world.instances[index].timers)
            if self._shows_issued and self._mechanics.timers.is_idle(world, index, seconds)
        ]

    def _is_behind(self, world: World, number: int) -> bool:
        """Some event of a kind that a controller of a process reads or declares is undelivered."""
        resources, process = self._processes[number].resources, world.processes[number]
        return any(process.undelivered(world.state, at, resources[at]) for at in range(len(process.views)))

    # Requests to the server

    def _global(self, origin: MacroStep, step: Step) -> list[MacroStep]:
        """A step that others may see; before a write, processes whose views it pushes may have come half way."""
        transition = self._model.next(origin.world, step)
        macros = [origin.then(step, transition)]
        if transition.changes:
            before = [origin]
            # A late write is one of a process that is gone.
            own = self._places[step.instance][0] if step.instance >= 0 and step.action != "land" else -1
            for number, process in enumerate(self._processes):
                # Own writes make cached reads wait, so those of other controllers of the process may come before.
                waits = number == own and self._guards_reads and len(process.indexes) > 1
                if waits or self._is_pushed(origin.world, transition.changes, number):
                    before += [half for macro in before for half in self._unseen(macro, number, transition.changes)]
            macros += [self._after_half_way(origin, macro, step, transition) for macro in before[1:]]
        return macros

    def _after_half_way(self, origin: MacroStep, macro: MacroStep, step: Step, transition: Transition) -> MacroStep:
        """A step whose transition from ``origin`` is known, taken after local steps of other instances."""
        world, before = macro.world, origin.world
        own = self._places[step.instance][0] if step.instance >= 0 else -1
        if world.issued_sum != before.issued_sum or any(
            self._places[other.instance][0] == own for other in macro.steps
        ):
            return macro.then(step, self._model.next(world, step))
        # The step writes the same; only the views of the processes that have come half way are pushed anew.
        after = transition.world
        for number, process in enumerate(world.processes):
            if process is not before.processes[number]:
                after = self._mechanics.delivery.pushed_process(after.with_process(number, process), number)
        cost = macro.cost + (1 if step.action == "act" else transition.cost)
        return MacroStep(
            after, (*macro.steps, step), cost, (), transition.failure or macro.failure, transition.refused, wrote=True
        )

    def _unseen(self, origin: MacroStep, number: int, changes: Sequence[Change]) -> Iterator[MacroStep]:
        """The local steps of a process after which a push makes a difference."""
        world = origin.world
        if not self._is_simple(world, number):
            return  # each of its steps is a macro-step
        deliveries = self._deliveries.of(origin, number, range(len(self._processes[number].kinds)))
        if self._deliveries.depend_on_order(world, number, changes):
            yield from (macro for macro in deliveries if macro is not origin)
        elif self._deliveries.can_relist(
            world, number
        ):  # a forced delivery takes away what a relist would deliver as one
            yield from (macro for macro in deliveries if any(step.action == "relist" for step in macro.steps))
        if self._reads and any(self._can_go_on(world, index) for index in self._processes[number].indexes):
            yield from self._local(origin, number, half_way=True)

    def _is_pushed(self, world: World, changes: Sequence[Change], number: int) -> bool:
        """The writes make a view fall further behind than it may, so that it gets events."""
        process = world.processes[number]
        for at, resource in enumerate(self._processes[number].resources[: len(process.views)]):
            new = sum(change.resource == resource for change in changes)
            if (new or self._is_rewound) and len(process.undelivered(world.state, at, resource)) + new > self._lag:
                return True
        return False


def _has_timers(world: World) -> bool:
    """Some instance waits for a timer."""
    for instance in world.instances:  # noqa: SIM110 - a loop, because this runs for every state
        if instance.timers:
            return True
    return False


def _signature(process: Process) -> tuple[object, ...]:
    """Tells apart what a process can reach in one state of the cluster."""
    return (
        process.views,
        *[
            (
                instance.queue,
                instance.delayed,
                instance.timers,
                instance.memory,
                instance.bugs,
                *[(in_flight.node.id, in_flight.versions, in_flight.uuids) for in_flight in instance.running],
            )
            for instance in process.instances
        ],
    )
