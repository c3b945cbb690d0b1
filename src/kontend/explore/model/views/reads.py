"""Cached reads of an instance: which view answers, when a read must wait, and when an informer starts.

A kind that a controller does not declare gets a view at the first read of it, as in controller-runtime: that read lists
the kind from the server, and later ones are cached and lag like any other. Its events enqueue nothing.
"""

from __future__ import annotations

import orjson

from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.model.answer import Answer, Refusal
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.process import NOT_STARTED, InFlight, Process
from kontend.explore.model.state.world import World
from kontend.explore.model.views.cached_reads import CachedRead, CachedReader
from kontend.explore.model.views.delivery import Delivery
from kontend.explore.program.pure_functions import guarded_indexes
from kontend.runtime.client.call import Call


class Reads:
    """Answers cached reads."""

    def __init__(self, layout: Layout, delivery: Delivery) -> None:
        self._layout = layout
        self._delivery = delivery
        programs = {program.number: program for program in layout.programs}
        self._indexes = {number: guarded_indexes(program.controller) for number, program in programs.items()}

    def is_local(self, process: Process, index: int, call: Call) -> bool:
        """The view that answers a call was started before."""
        if not call.cached or call.subresource:
            return False
        kinds = self._layout.kinds[index]
        return call.view in kinds and process.view(kinds.index(call.view)) != NOT_STARTED

    def must_wait(self, process: Process, index: int, call: Call) -> bool:
        """A cached read must wait until its view has seen an own write of the process."""
        if not process.own or not self.is_local(process, index, call):
            return False
        for write in process.own:
            if write.uid or write.kind != call.kind:
                continue
            if call.verb == "get":
                if write.key == call.key:
                    return True
            elif call.namespace in ("", write.key.namespace):
                return True
        return False

    def caught_up(self, world: World, index: int, call: Call) -> World:
        """The state after the deliveries that a cached read waits for."""
        while self.must_wait(world.process(index), index, call):
            at = self._layout.kinds[index].index(call.view)
            world, _ = self._delivery.delivered(world, self._layout.places[index][0], at)
        return world

    def misses(self, world: World, index: int, call: Call, until: int) -> bool:
        """A cached read misses a change up to a version."""
        at = self._layout.kinds[index].index(call.view)
        return any(
            change.resource_version <= until
            and call.namespace in ("", change.key.namespace)
            and call.name in ("", change.key.name)
            for change in world.undelivered(index, at, self._layout.resources[index][at])
        )

    def read(self, world: World, index: int, in_flight: InFlight, call: Call) -> tuple[CachedRead, World]:
        """The outcome of a cached read, and the state in which its view is started."""
        layout = self._layout
        try:
            resource = layout.server.resource(world.state, call.view)
        except UnknownKind as error:
            status = error.status()
            answer = Answer(Refusal(404, "NotFound"), is_cached=True)
            return CachedRead(("404",), lambda: b"!" + orjson.dumps(status), in_flight.versions, answer), world
        if call.view not in layout.kinds[index]:
            layout.kinds[index].append(call.view)
            layout.resources[index].append(resource.key)
        at = layout.kinds[index].index(call.view)
        process = world.process(index)
        if process.view(at) == NOT_STARTED:
            views = list(process.views) + [NOT_STARTED] * (at + 1 - len(process.views))
            views[at] = world.state.resource_version
            world = world.with_process(layout.places[index][0], process.changed(views=tuple(views)))
        indexes = self._indexes[layout.programs[index].number].get(call.view, {})
        reader = CachedReader(world, index, at, resource, indexes, exact=layout.is_exact)
        return reader.read(in_flight, call), world
