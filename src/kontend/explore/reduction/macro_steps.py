"""Macro-steps: several steps as one, where no other instance and no property could tell a stop in between.

Others see nothing of a reconcile but its writes. Delivering an event to a view, starting a reconcile and reading a view
can be put off until just before the reconcile's next request to the server, past everything that others do, and nothing
comes out differently. So they are taken together with that request, in every combination, and states in which an
instance has stopped half way are not visited.

There is one exception. A write that pushes a view beyond the bound on lag forces a delivery, and putting off a start
or a read past that would change what it sees. So before such a write, every instance whose view it pushes may have
come half way. The sequence of writes is never changed, which is why a property holds with these reductions exactly
when it holds without them.

An instance with several calls or several reconciles in flight is not reduced: each of its steps is a macro-step.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import Instance, World
from kontend.explore.model.step import Step, Transition
from kontend.explore.problems import BadScenario
from kontend.explore.program.symbols import Assumption
from kontend.explore.reduction.deliveries import Deliveries
from kontend.explore.reduction.local_steps import LocalSteps
from kontend.explore.reduction.macro_step import LocalMacroStep, MacroStep, after_local_steps

#: A reconcile that has read its views in so many ways without a request to the server never makes one.
_MOST_READS: Final = 10_000
#: As long as these hold, no reconcile sees a value that depends on what was handed out before.
_SHOWN: Final = frozenset({Assumption.TIMELESS, Assumption.SETTLED_STAMPS, Assumption.WHOLE_UUIDS})


class MacroSteps:
    """Lists the macro-steps of a state."""

    def __init__(self, model: Model, *, shares: bool = True) -> None:
        """``shares`` keeps local steps for other states in which an instance is in the same situation."""
        self.model = model
        layout = model.layout
        reductions, bounds = layout.scenario.reductions, layout.scenario.bounds
        self._deliveries = Deliveries(model)
        # An atomic reconcile pushes views in its middle, where mapping functions can tell what was delivered before.
        self._is_reduced = reductions.deliveries and not (bounds.atomic and any(self._deliveries.mapped))
        self._atomic = bounds.atomic
        self._is_concurrent = [program.controller.max_concurrent > 1 for program in model.programs]
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
            return [origin.then(step, self.model.next(world, step)) for step in self.model.steps(world)]
        if self.model.is_stuck(world):
            return []
        different = self.model.layout.keys.different_instances(world)
        macros = [macro for index in different for macro in self._of_instance(origin, index)]
        for action in self.model.users.steps(world):
            macros += self._global(origin, action)
        for number, late in enumerate(world.late):
            macros += self._global(origin, Step("land", late.instance, late.in_flight.request, number))
        return macros

    def is_reduced(self, world: World, index: int) -> bool:
        """The macro-steps of an instance are more than its single steps."""
        return self._is_reduced and self._is_simple(world.instances[index], index)

    def of_instance(self, world: World, index: int) -> list[MacroStep]:
        """The macro-steps of one instance in a state in which no other one has views."""
        return self._of_instance(MacroStep(world), index)

    def before_push(self, world: World, index: int, changes: Sequence[Change]) -> Iterator[World]:
        """The states of an instance in which a write of others may find it."""
        yield world
        if self._is_reduced and self._is_pushed(world, changes, index):
            for macro in self._unseen(MacroStep(world), index, changes, is_own=False):
                yield macro.world

    def _of_instance(self, origin: MacroStep, index: int) -> list[MacroStep]:
        world = origin.world
        instance = world.instances[index]
        if not self._is_simple(instance, index):
            return self._each(origin, index)
        macros = list(self._dropping(origin, index))
        if world.budget.total:
            for fault in self.model.faults.of_instance(world, index):
                macros += self._global(origin, fault)
        if instance.timers:
            for step in self._timers_by_themselves(world, index):
                macros += self._global(origin, step)
        if instance.running and self._asks_server(world, index):
            for step in self._retries(world, index):
                macros += self._global(origin, step)
            macros += self._global(origin, Step("call", index, instance.running[0].request))
        elif self._atomic:
            macros += self._observations(origin, index)
        else:
            macros += self._local(origin, index, half_way=False)
        return macros

    def _dropping(self, origin: MacroStep, index: int) -> Iterator[MacroStep]:
        """Deliveries by themselves, where a start need not follow and others could tell.

        A relist takes several events as one, and a mapping function can tell in which order events came: they may
        enqueue less than others would. And a timer is early as long as an event is undelivered that enqueues nothing.
        """
        world = origin.world
        if not self._deliveries.can_relist(world, index) and (
            world.instances[index].running or not (self._deliveries.depend_on_order(world, index) or _has_timers(world))
        ):
            return
        for macro in self._deliveries.of(origin, index, list(range(len(world.instances[index].views)))):
            if macro is origin:
                continue
            after = macro.world.instances[index]
            if macro.steps[-1].action == "relist" or not (after.queue or after.delayed or after.running):
                yield macro

    def _is_simple(self, instance: Instance, index: int) -> bool:
        """At most one reconcile with one call is in flight, and no second one can start."""
        if self._is_concurrent[index]:
            return False
        return not instance.running or len(instance.running[0].node.calls) == 1

    def _each(self, origin: MacroStep, index: int) -> list[MacroStep]:
        """Every step of an instance by itself."""
        macros: list[MacroStep] = []
        for step in self.model.steps(origin.world):
            if step.instance == index:
                macros += self._global(origin, step)
        return macros

    # Local steps

    def _local(self, origin: MacroStep, index: int, *, half_way: bool) -> list[MacroStep]:
        """The local steps of an instance, up to a request to the server or the end, or (``half_way``) before it."""
        world = origin.world
        instance = world.instances[index]
        waits = instance.queue or instance.delayed or instance.timers
        if not instance.running and not waits and not self._is_behind(world, index):
            return []
        known: list[LocalSteps] | None = None
        if self._shares:
            issued = world.issued_sum if self._shows_issued else 0
            # Which of two ways is the cheaper one depends on others where a timer fires.
            timers = sorted(instance.timers) if instance.timers else ()
            early = tuple([self._early(world, index, seconds) for seconds, _ in timers])
            question = (index, self.model.layout.keys.of_instance(world, index), world.objects, issued, early)
            if question not in self._known:
                reached = list(self._reached(MacroStep(world), index))
                self._known[question] = self._recorded(world, index, reached)
                if self._known[question] is None and not origin.steps:
                    return [macro for macro in reached if self._is_half_way(macro.world, index) == half_way]
            known = self._known[question]
        if known is None:  # they change more than the instance
            again = self._reached(origin, index)
            return [macro for macro in again if self._is_half_way(macro.world, index) == half_way]
        start_cost = int(not instance.running and not world.is_resting)
        return [self._joined(origin, index, local, start_cost) for local in known if local.is_half_way == half_way]

    def _recorded(self, world: World, index: int, reached: Sequence[MacroStep]) -> list[LocalSteps] | None:
        """The local steps of an instance that lead to these states; None where they cannot be applied in others."""
        layout = self.model.layout
        if any(
            macro.world.issued_sum != world.issued_sum
            or any(in_flight.uuids for in_flight in macro.world.instances[index].running)
            for macro in reached
        ):
            return None
        start_cost = int(not world.instances[index].running and not world.is_resting)
        return [
            LocalSteps(
                world,
                macro.world,
                index,
                layout.keys,
                self.model.similarity,
                layout.resources[index],
                steps=macro.steps,
                failure=macro.failure,
                stale=macro.cost - start_cost - self._early(world, index, macro.timer),
                timer=macro.timer,
                is_half_way=self._is_half_way(macro.world, index),
            )
            for macro in reached
        ]

    def _joined(self, origin: MacroStep, index: int, local: LocalSteps, start_cost: int) -> MacroStep:
        """A macro-step followed by local steps, the first of which may be a start that perturbs others."""
        layout, delivery, world = self.model.layout, self.model.delivery, origin.world
        cost = origin.cost + local.stale + start_cost
        if local.timer:
            cost += self._early(world, index, local.timer)
        if not origin.steps:
            return LocalMacroStep(world, index, local, cost, layout, delivery)
        return MacroStep(
            after_local_steps(world, index, local, layout, delivery),
            origin.steps + local.steps,
            cost,
            origin.writes,
            local.failure or origin.failure,
            origin.refused,
        )

    def _early(self, world: World, index: int, timer: float) -> int:
        """1 if others make a timer of an instance an early one, else 0."""
        return int(bool(timer) and not self.model.timers.others_are_idle(world, index, timer))

    def _reached(self, origin: MacroStep, index: int) -> Iterator[MacroStep]:
        """Everything that an instance can reach without the server, half way too; the cheapest way to each."""
        heap: list[tuple[int, int, int, MacroStep]] = []
        count = 0
        for macro in self._observations(origin, index):
            count += 1
            heapq.heappush(heap, (macro.cost, len(macro.steps), count, macro))
        seen: set[tuple[object, ...]] = set()
        while heap:
            macro = heapq.heappop(heap)[-1]
            signature = _signature(macro.world.instances[index])
            if signature in seen:
                continue
            seen.add(signature)
            if len(seen) > _MOST_READS:
                raise BadScenario(
                    f"{self.model.names[index]}: a reconcile read its cache in {_MOST_READS:,} ways without a request "
                    "to the server; does it wait for something in a loop?"
                )
            yield macro
            if self._is_half_way(macro.world, index):
                for further in self._observations(macro, index):
                    count += 1
                    heapq.heappush(heap, (further.cost, len(further.steps), count, further))

    def _is_half_way(self, world: World, index: int) -> bool:
        instance = world.instances[index]
        return (
            self._reads
            and bool(instance.running)
            and self._is_simple(instance, index)
            and not self._asks_server(world, index)
        )

    def _asks_server(self, world: World, index: int) -> bool:
        """The next call of the reconcile goes to the server."""
        return not self.model.is_local(world, index, world.instances[index].running[0].node.calls[0])

    def _observations(self, origin: MacroStep, index: int) -> Iterator[MacroStep]:
        """One start or one cached read, after any deliveries that it can tell."""
        model = self.model
        running = origin.world.instances[index].running
        if running:
            call = running[0].node.calls[0]
            every = self._deliveries.depend_on_order(origin.world, index)
            kinds = [at for at, kind in enumerate(model.kinds[index]) if every or kind == call.kind]
            step = Step("call", index, running[0].request)
            for macro in self._deliveries.of(origin, index, kinds):
                if not model.must_wait(macro.world, index, call):
                    yield macro.then(step, model.next(macro.world, step))
            for step in (*self._timers(origin.world, index), *self._retries(origin.world, index)):
                yield origin.then(step, model.next(origin.world, step))
            return
        # Events of other kinds enqueue nothing: they are delivered before the read, or here if nothing comes between,
        # or if a mapping function may look at them.
        every = self._atomic or self._deliveries.depend_on_order(origin.world, index)
        many = len(model.kinds[index]) if every else model.layout.declared(index)
        for macro in self._deliveries.of(origin, index, list(range(many))):
            instance = macro.world.instances[index]
            for request in sorted(instance.queue):
                step = Step("start", index, request)
                yield macro.then(step, model.next(macro.world, step))
            for request in sorted(instance.delayed):
                retry, step = Step("retry", index, request), Step("start", index, request)
                due = macro.then(retry, model.next(macro.world, retry))
                yield due.then(step, model.next(due.world, step))
            for seconds, request in sorted(instance.timers):
                if self._shows_issued and model.timers.is_idle(macro.world, index, seconds):
                    continue  # it fires by itself
                fire, step = Step("timer", index, request), Step("start", index, request)
                due = macro.then(fire, model.next(macro.world, fire))
                due.timer = seconds if model.timers.is_idle(macro.world, index, seconds) else 0.0
                yield due.then(step, model.next(due.world, step))

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
            if self._shows_issued and self.model.timers.is_idle(world, index, seconds)
        ]

    def _is_behind(self, world: World, index: int) -> bool:
        resources = self.model.resources[index]
        declared = range(self.model.layout.declared(index))
        return any(world.undelivered(index, at, resources[at]) for at in declared)

    # Requests to the server

    def _global(self, origin: MacroStep, step: Step) -> list[MacroStep]:
        """A step that others may see; before a write, instances whose views it pushes may have come half way."""
        transition = self.model.next(origin.world, step)
        macros = [origin.then(step, transition)]
        if transition.changes:
            before = [origin]
            for index in range(len(origin.world.instances)):
                if self._is_pushed(origin.world, transition.changes, index):
                    # A late write is one of an instance that is gone.
                    is_own = index == step.instance and step.action != "land"
                    before += [
                        half
                        for macro in before
                        for half in self._unseen(macro, index, transition.changes, is_own=is_own)
                    ]
            macros += [self._after_half_way(origin, macro, step, transition) for macro in before[1:]]
        return macros

    def _after_half_way(self, origin: MacroStep, macro: MacroStep, step: Step, transition: Transition) -> MacroStep:
        """A step whose transition from ``origin`` is known, taken after local steps of other instances."""
        world, before = macro.world, origin.world
        if world.issued_sum != before.issued_sum or any(other.instance == step.instance for other in macro.steps):
            return macro.then(step, self.model.next(world, step))
        # The step writes the same; only the views of the instances that have come half way are pushed anew.
        after = transition.world
        for index, instance in enumerate(world.instances):
            if instance is not before.instances[index]:
                after = self.model.delivery.pushed_instance(after.with_instance(index, instance), index)
        cost = macro.cost + (1 if step.action == "act" else transition.cost)
        return MacroStep(
            after, (*macro.steps, step), cost, (), transition.failure or macro.failure, transition.refused, wrote=True
        )

    def _unseen(self, origin: MacroStep, index: int, changes: Sequence[Change], *, is_own: bool) -> Iterator[MacroStep]:
        """The local steps of an instance after which a push makes a difference."""
        world = origin.world
        instance = world.instances[index]
        if not self._is_simple(instance, index):
            return  # each of its steps is a macro-step
        deliveries = self._deliveries.of(origin, index, list(range(len(self.model.kinds[index]))))
        if self._deliveries.depend_on_order(world, index, changes):
            yield from (macro for macro in deliveries if macro is not origin)
        elif self._deliveries.can_relist(
            world, index
        ):  # a forced delivery takes away what a relist would deliver as one
            yield from (macro for macro in deliveries if any(step.action == "relist" for step in macro.steps))
        if not self._reads or is_own or (instance.running and self._asks_server(world, index)):
            return
        yield from self._local(origin, index, half_way=True)

    def _is_pushed(self, world: World, changes: Sequence[Change], index: int) -> bool:
        """The writes make a view fall further behind than it may, so that it gets events."""
        instance = world.instances[index]
        for at in range(len(instance.views)):
            resource = self.model.resources[index][at]
            new = sum(change.resource == resource for change in changes)
            if (new or self._is_rewound) and len(world.undelivered(index, at, resource)) + new > self._lag:
                return True
        return False


def _has_timers(world: World) -> bool:
    """Some instance waits for a timer."""
    for instance in world.instances:  # noqa: SIM110 - a loop, because this runs for every state
        if instance.timers:
            return True
    return False


def _signature(instance: Instance) -> tuple[object, ...]:
    """Tells apart what an instance can reach in one state of the cluster."""
    running = tuple((in_flight.node.id, in_flight.versions, in_flight.uuids) for in_flight in instance.running)
    return instance.views, instance.queue, instance.delayed, instance.timers, instance.memory, instance.bugs, running
