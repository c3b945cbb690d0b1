"""Requests that a process wants to reconcile, whatever it is that wants them.

A request may be in the queue, wait for the end of a backoff, or be enqueued by an event that is undelivered. All of
these end in a start at any time, and several of them in several starts. So a local state says only that a request is
wanted. Once its reconcile starts, it may be wanted still, if something else has wanted it as well, or not.

An event of a kind that no controller of the process reads from its cache can do nothing but enqueue. It counts as
delivered, as long as it is the only one that the view misses: two could be delivered as one. As soon as code reads such
a kind, the search of sets has to start again.

A run is followed step by step by one of these local states: as long as something wants a request, it is wanted. The
other way round, a request that is wanted still may lack anything that wants it. Such a reconcile is one that no run
makes, and sets may hold those. It does not keep a run from settling either, because the same local state without it is
there as well, and a run comes to that: what wants a request gets less with every start, unless others write.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.views.triggers import has_mappers
from kontend.explore.reduction.macro_steps import MacroSteps
from kontend.kube.meta.names import Key


class ReadNow(Exception):
    """User code reads a kind from its cache that none has read before."""


class Wanted:
    """Joins local states that differ only in what it is that wants a request."""

    def __init__(self, model: Model, macro_steps: MacroSteps) -> None:
        self._model = model
        self._macro_steps = macro_steps
        bounds = model.scenario.bounds
        self._layouts = model.layout.processes
        self._places = model.layout.places
        self._seen = [0 for _ in model.programs]
        #: For each process, whether its controllers have mapping functions, which may look at other objects.
        self._mapped = [
            any(has_mappers(model.programs[index].controller) for index in process.indexes) for process in self._layouts
        ]
        self._has_looked = model.mechanics.delivery.has_looked
        #: For each process, whether its local states are joined.
        self._joins = [
            model.scenario.reductions.wanted
            and not bounds.atomic
            and bounds.lag <= 1
            and not (is_mapped and self._has_looked)
            for is_mapped in self._mapped
        ]
        read = self._read()
        #: For each process, the views that nobody reads.
        self._unread = [
            [at for at in range(process.declared) if (number, process.kinds[at]) not in read]
            for number, process in enumerate(self._layouts)
        ]

    def _read(self) -> set[tuple[int, str]]:
        """The kinds that were read since the last time, with their processes."""
        found = set()
        for index, program in enumerate(self._model.programs):
            count, self._seen[index] = self._seen[index], len(program.ids)
            for node in islice(program.ids.values(), count, None):
                found |= {(self._places[index][0], call.view) for call in node.calls if call.cached}
        return found

    def check(self) -> None:
        """Raise :class:`ReadNow` if code reads a kind now whose events may count as delivered."""
        if any(len(program.ids) != seen for program, seen in zip(self._model.programs, self._seen, strict=True)):
            unread = {
                (number, self._layouts[number].kinds[at]) for number, ats in enumerate(self._unread) for at in ats
            }
            if self._read() & unread:
                raise ReadNow
        if self._model.mechanics.delivery.has_looked and not self._has_looked and any(self._mapped):
            raise ReadNow

    def joined(self, world: World, number: int) -> World:
        """A state in which a process only wants requests."""
        if not self._joins[number] or not self._macro_steps.is_reduced(world, number):
            return world
        layout = self._layouts[number]
        for at in self._unread[number]:
            if len(world.processes[number].undelivered(world.state, at, layout.resources[at])) == 1:
                world, _ = self._model.mechanics.delivery.delivered(world, number, at)
        for index in layout.indexes:
            instance = world.instances[index]
            if instance.queue:
                wanted = instance.queue | instance.delayed
                world = world.with_instance(index, instance.changed(queue=frozenset(), delayed=wanted))
        return world

    def still_wanted(self, before: World, after: World, number: int) -> Iterator[World]:
        """The states after a step, in some of which requests that it has taken up are wanted still."""
        yield after
        if not self._joins[number]:
            return
        started: list[tuple[int, Key]] = []
        for index in self._layouts[number].indexes:
            instance = after.instances[index]
            left = before.instances[index].delayed - instance.delayed
            started += [(index, request) for request in sorted(left)]
        for count in range(1, len(started) + 1):
            for some in combinations(started, count):
                world = after
                for index, request in some:
                    instance = world.instances[index]
                    world = world.with_instance(index, instance.changed(delayed=instance.delayed | {request}))
                yield world
