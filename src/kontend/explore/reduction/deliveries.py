"""Deliveries of events to a process, in every combination that makes a difference."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from kontend.cluster.state import Change
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.model.views.triggers import has_mappers
from kontend.explore.reduction.macro_step import MacroStep
from kontend.explore.reduction.reducible import Reducible


class Deliveries:
    """Lists the deliveries to the processes of a model."""

    def __init__(self, model: Reducible) -> None:
        self._model = model
        self._views = model.mechanics.delivery
        layout = model.layout
        self._processes = layout.processes
        bounds = layout.scenario.bounds
        #: A view may have more than one undelivered event of an object: by the bound on lag, or after a restart.
        self._relists = bounds.lag > 1 or bool(bounds.rewind and bounds.faults and bounds.crashes)
        #: For each process, whether it has mapping functions, which may tell in which order events were delivered.
        self.mapped = [
            any(has_mappers(layout.programs[index].controller) for index in process.indexes)
            for process in layout.processes
        ]

    def of(self, origin: MacroStep, number: int, kinds: Sequence[int]) -> Iterator[MacroStep]:
        """No delivery, or some of these kinds: each set once, or each order for mapping functions; relists too."""
        layout, world = self._processes[number], origin.world
        resources, process = layout.resources, world.processes[number]
        if not any(process.undelivered(world.state, at, resources[at]) for at in kinds):
            yield origin
            return
        heap: list[tuple[int, int, int, MacroStep]] = [(origin.cost, len(origin.steps), 0, origin)]
        count = 0
        seen: set[tuple[object, ...]] = set()
        while heap:
            macro = heapq.heappop(heap)[-1]
            process = macro.world.processes[number]
            reached = (process.views, *[instance.queue for instance in process.instances])
            if reached in seen:
                continue
            seen.add(reached)
            yield macro
            for at in kinds:
                if not process.undelivered(world.state, at, resources[at]):
                    continue
                actions = ["deliver"]
                if self._relists and self._views.can_relist(macro.world, number, at):
                    actions.append("relist")
                for action in actions:
                    step = Step(action, layout.indexes[0], layout.kinds[at])
                    further = macro.then(step, self._model.next(macro.world, step))
                    count += 1
                    heapq.heappush(heap, (further.cost, len(further.steps), count, further))

    def depend_on_order(self, world: World, number: int, further: Sequence[Change] = ()) -> bool:
        """A mapping function can tell in which order events are delivered, ``further`` ones among them."""
        return self.mapped[number] and self._views.depends_on_order(world, number, further)

    def can_relist(self, world: World, number: int) -> bool:
        """A view of a process may get several events as one."""
        if not self._relists:
            return False
        newest, can_relist = world.state.resource_version, self._views.can_relist
        for at, position in enumerate(world.processes[number].views):  # a loop, because this runs for every state
            if newest - position > 1 and can_relist(world, number, at):
                return True
        return False
