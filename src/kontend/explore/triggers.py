"""Which reconciles an event asks for."""

from __future__ import annotations

from collections.abc import Callable

from kontend.cluster.resources import Resource
from kontend.cluster.state import Change
from kontend.cluster.storage import read_back
from kontend.explore.cached_reads import seen
from kontend.explore.world import Pilot, World
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.controller import Controller, requests_for
from kontend.runtime.predicates import Event


class Triggers:
    """What events mean to one controller. The same event in the same world is looked at once."""

    def __init__(self, controller: Controller, resource: Callable[[str], Resource]) -> None:
        self.controller = controller
        self._resource = resource
        self._resources = tuple(resource(kind).key for kind in controller.kinds)
        self._known: dict[tuple[object, ...], frozenset[Key]] = {}

    def of(self, world: World, pilot: Pilot, kind: str, change: Change) -> frozenset[Key]:
        """The requests that a change queues once a pilot's cache has it."""
        old = change.old.digest if change.old is not None else b""
        new = change.new.digest if change.new is not None else b""
        # Only a mapping function can look at other objects than the one that changed.
        others = (world.objects, pilot.key(world.state, self._resources)) if self.controller.watches != {} else ()
        question = (kind, change.key, old, new, *others)
        found = self._known.get(question)
        if found is None:
            served = self._resource(kind)
            event = Event(
                kind,
                read_back(served, change.old) if change.old is not None else None,
                read_back(served, change.new) if change.new is not None else None,
            )
            found = self._known[question] = self.requests(world, pilot, event)
        return found

    def requests(self, world: World, pilot: Pilot, event: Event) -> frozenset[Key]:
        """The requests that an event makes, for a pilot whose cache has it."""
        cache = self._cache(world, pilot) if self.controller.watches != {} else Cache()
        namespaced = self._resource(self.controller.kind).namespaced
        found = requests_for(self.controller, event, cache, namespaced=namespaced)
        return frozenset(Key(*request) for request in found)

    def _cache(self, world: World, pilot: Pilot) -> Cache:
        """What a pilot's cache shows, for mapping functions."""
        cache = Cache(monotonic=False)
        indexes = self.controller.indexes
        for at, kind in enumerate(self.controller.kinds):
            served = self._resource(kind)
            view = cache.view(kind, plural=served.plural)
            for name, indexer in indexes.get(kind, {}).items():
                view.add_index(name, indexer)
            objects = seen(world, pilot, at, served.key)
            view.replace([read_back(served, version) for version in objects.values()], pilot.positions[at])
        return cache
