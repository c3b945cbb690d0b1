"""The model of a scenario under a plan: the same transition function, with fewer steps enabled.

One reconcile runs at a time, from its first call to its last. Events are delivered at once, except to views that the
plan keeps stale; their events come when the interval ends. The counters that the plan refers to are part of the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.planned.plan import FOREVER, Plan, check_plan
from kontend.explore.preflight import checked_cluster, resolved_controllers
from kontend.explore.scenario import Reductions, Scenario

#: Views are kept back by the plan alone, not by the bound.
_ANY_LAG: Final = 10_000
#: The positions of the counters in a state. Behind them each instance has two: its writes, and its crashes.
_DEPTH, _SEQUENCE, _EVENT, _WRITES = range(4)
#: Sets a counter back.
_BACK: Final = -1_000_000
_OPERATIONS: Final = {"ADDED": "CREATE", "MODIFIED": "UPDATE", "DELETED": "DELETE"}


def planned_scenario(scenario: Scenario, plan: Plan) -> Scenario:
    """The scenario with the bounds that a plan needs. Raises ``BadScenario`` for names that it does not have."""
    controllers = resolved_controllers(scenario, checked_cluster(scenario))
    kinds = {controller.name: tuple(controller.kinds) for controller in controllers}
    check_plan(plan, kinds, len(scenario.actions))
    crashes = len(plan.faultInjection) * 10
    bounds = replace(
        scenario.bounds,
        lag=_ANY_LAG, concurrent=1, instances={}, atomic=False, faults=crashes, crashes=crashes,
        rewind=0, failed=0, lost=0, handovers=0, perturbations=None,
    )  # fmt: skip
    off = Reductions(symmetry=False, deliveries=False, reads=False, local=False)
    # A plan holds back the events of single controllers.
    processes = {name: [name] for name in kinds}
    return replace(scenario, bounds=bounds, reductions=off, processes=processes)


class PlannedModel(Model):
    """The transition function of a scenario under a plan."""

    def __init__(self, scenario: Scenario, plan: Plan, knowledge: Knowledge | None = None) -> None:
        super().__init__(scenario, knowledge)
        self._plan = plan
        # Beyond the last moment that the plan refers to, counting would only keep states apart.
        depths = [*plan.userActionReadyDepths.values(), *(fault.triggerAfterDepth for fault in plan.faultInjection)]
        if plan.permuteDepthRange is not None:
            depths += [plan.permuteDepthRange.min, plan.permuteDepthRange.max + 1]
        self._deepest = max(depths, default=0)
        sequences = [
            moment for interval in plan.stalenessIntervals for moment in (interval.staleAt, interval.catchUpAt)
        ]
        self._latest = max(sequences, default=0)
        #: The perturbations of the plan that have taken effect somewhere.
        self._triggered: set[object] = set()

    def steps(self, world: World) -> list[Step]:
        """The enabled steps that the plan allows."""
        steps = super().steps(world)
        depth = self._count(world, _DEPTH)
        delivered = [step for step in steps if step.action == "deliver" and not self._is_held(world, step)]
        if delivered:
            return delivered[:1]
        calls = [step for step in steps if step.action == "call"]
        if calls:
            # A fault need not happen, so the run without it is explored as well.
            crashes = [step for step in steps if step.action == "crash" and self._crashes(world, step, depth)]
            return [*crashes[:1], calls[0]]
        actions = [step for step in steps if step.action == "act"]
        for step in actions:
            ready = self._plan.userActionReadyDepths.get(self.mechanics.users.position(world, step))
            if ready is not None and depth >= ready:
                self._triggered.add(self.mechanics.users.position(world, step))
                return [step]
        starts = [step for step in steps if step.action == "start"]
        if starts:
            return self._ordered(world, starts, depth)
        retries = [step for step in steps if step.action == "retry"]
        # Nothing else is left: the user acts, then requests are retried, then time passes.
        return actions[:1] or retries[:1] or [step for step in steps if step.action == "timer"][:1]

    def next(self, world: World, step: Step) -> Transition:
        """Take a step, and count what the plan refers to."""
        transition = super().next(world, step)
        after = transition.world
        if step.action == "start":
            after = self._counted(after, _DEPTH, 1, self._deepest)
            after = self._counted(after, self._writes_of(step.instance), _BACK, 0)
        if transition.changes:
            after = self._counted(after, _SEQUENCE, len(transition.changes), self._latest)
            if any(self._is_event(change) for change in transition.changes):
                after = self._counted(after, _EVENT, 1, 1)
            if step.action == "call":
                most = max((fault.crashAfterEffect for fault in self._plan.faultInjection), default=0)
                after = self._counted(after, self._writes_of(step.instance), len(transition.changes), most)
        if step.action == "crash":
            after = self._counted(after, self._crashed(step.instance), 1, 1)
            after = self._counted(after, self._writes_of(step.instance), _BACK, 0)
        transition.world = after
        return transition

    def unused(self) -> Iterator[str]:
        """Describe the perturbations of the plan that have never taken effect."""
        plan = self._plan
        for fault in plan.faultInjection:
            if fault not in self._triggered:
                when = (
                    f"after {fault.crashAfterEffect} writes of one reconcile, from depth {fault.triggerAfterDepth} on"
                )
                yield f"faultInjection: no run comes to a crash of {fault.reconciler} {when}"
        for interval in plan.stalenessIntervals:
            if interval not in self._triggered:
                view = f"{interval.kind} in {interval.reconciler}"
                yield f"stalenessIntervals: {view} misses nothing from sequence {interval.staleAt} on"
        for at, depth in sorted(plan.userActionReadyDepths.items()):
            if at not in self._triggered:
                yield f"userActionReadyDepths: action {at} is not taken because of depth {depth}"
        if plan.permuteControllers and "orders" not in self._triggered:
            yield f"permuteControllers: there is no moment to start {' or '.join(plan.permuteControllers)} out of order"

    # The plan

    def _ordered(self, world: World, starts: list[Step], depth: int) -> list[Step]:
        """The first start; where orders are permuted, also the first of each controller that takes part."""
        plan = self._plan
        permuted = bool(plan.permuteControllers)
        if plan.permuteDepthRange is not None:
            permuted &= plan.permuteDepthRange.min <= depth <= plan.permuteDepthRange.max
        if plan.permuteAfterEvent is not None:
            permuted &= bool(self._count(world, _EVENT))
        if not permuted:
            return starts[:1]
        taking_part = [step for step in starts if self._name(step.instance) in plan.permuteControllers]
        self._triggered.add("orders")
        return list(dict.fromkeys([*taking_part, starts[0]]))

    def _is_held(self, world: World, step: Step) -> bool:
        """A view is stale, so that this event is not delivered yet."""
        sequence = self._count(world, _SEQUENCE)
        for interval in self._plan.stalenessIntervals:
            if interval.reconciler != self._name(step.instance) or interval.kind != step.subject:
                continue
            if interval.staleAt <= sequence and (interval.catchUpAt == FOREVER or sequence < interval.catchUpAt):
                at = self.layout.kinds[step.instance].index(interval.kind)
                waiting = len(world.undelivered(step.instance, at, self.layout.resources[step.instance][at]))
                if interval.lag < 0 or waiting <= interval.lag:
                    self._triggered.add(interval)
                    return True
        return False

    def _crashes(self, world: World, step: Step, depth: int) -> bool:
        if step.at or not world.instances[step.instance].running:
            return False
        writes = self._count(world, self._writes_of(step.instance))
        crashed = bool(self._count(world, self._crashed(step.instance)))
        due = [
            fault
            for fault in self._plan.faultInjection
            if fault.reconciler == self._name(step.instance)
            and writes == fault.crashAfterEffect
            and depth >= fault.triggerAfterDepth
            and not (fault.triggerOnce and crashed)
        ]
        self._triggered.update(due)
        return bool(due)

    def _is_event(self, change: Change) -> bool:
        wanted = self._plan.permuteAfterEvent
        if wanted is None or _OPERATIONS[change.type] != wanted.opType:
            return False
        return self.resource(self.initial(), wanted.kind) == change.resource

    # Counters, as parts of the state

    def _name(self, index: int) -> str:
        return self.programs[index].controller.name

    def _writes_of(self, index: int) -> int:
        return _WRITES + 2 * index

    def _crashed(self, index: int) -> int:
        return _WRITES + 2 * index + 1

    def _count(self, world: World, at: int) -> int:
        return world.counts[at] if world.counts else 0

    def _counted(self, world: World, at: int, more: int, most: int) -> World:
        before = self._count(world, at)
        after = max(0, min(before + more, most))
        if after == before:
            return world
        counts = world.counts or (0,) * self._writes_of(len(self.programs))
        return world.with_counts((*counts[:at], after, *counts[at + 1 :]))
