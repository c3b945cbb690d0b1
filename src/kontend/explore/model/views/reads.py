"""Cached reads of an instance: which view answers, when a read must wait, and when an informer starts.

A kind that a controller does not declare gets a view at the first read of it, as in controller-runtime: that read lists
the kind from the server, and later ones are cached and lag like any other. Its events enqueue nothing.
"""

from __future__ import annotations

import orjson

from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.model.answer import Answer, Refusal
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.world import NOT_STARTED, InFlight, Instance, World
from kontend.explore.model.views.cached_reads import CachedRead, CachedReader
from kontend.explore.model.views.delivery import Delivery
from kontend.runtime.client.call import Call


class Reads:
    """Answers cached reads."""

    def __init__(self, layout: Layout, delivery: Delivery) -> None:
        self._layout = layout
        self._delivery = delivery

    def is_local(self, instance: Instance, index: int, call: Call) -> bool:
        """The view that answers a call was started before."""
        if not call.cached or call.subresource:
            return False
        kinds = self._layout.kinds[index]
        return call.kind in kinds and instance.view(kinds.index(call.kind)) != NOT_STARTED

    def must_wait(self, instance: Instance, index: int, call: Call) -> bool:
        """A cached read must wait until its view has seen an own write of the instance."""
        if not instance.own or not self.is_local(instance, index, call):
            return False
        for write in instance.own:
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
        while self.must_wait(world.instances[index], index, call):
            world, _ = self._delivery.delivered(world, index, self._layout.kinds[index].index(call.kind))
        return world

    def misses(self, world: World, index: int, call: Call, until: int) -> bool:
        """A cached read misses a change up to a version."""
        at = self._layout.kinds[index].index(call.kind)
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
            resource = layout.server.resource(world.state, call.kind)
        except UnknownKind as error:
            status = error.status()
            answer = Answer(Refusal(404, "NotFound"), is_cached=True)
            return CachedRead(("404",), lambda: b"!" + orjson.dumps(status), in_flight.versions, answer), world
        if call.kind not in layout.kinds[index]:
            layout.kinds[index].append(call.kind)
            layout.resources[index].append(resource.key)
        at = layout.kinds[index].index(call.kind)
        instance = world.instances[index]
        if instance.view(at) == NOT_STARTED:
            views = list(instance.views) + [NOT_STARTED] * (at + 1 - len(instance.views))
            views[at] = world.state.resource_version
            world = world.with_instance(index, instance.changed(views=tuple(views)))
        indexes = layout.programs[index].controller.indexes.get(call.kind, {})
        reader = CachedReader(world, index, at, resource, indexes, exact=layout.is_exact)
        return reader.read(in_flight, call), world
