"""Triggers: the reconciles that an event enqueues."""

from __future__ import annotations

from collections.abc import Callable

from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.cluster.storage import read_back
from kontend.explore.model.cached_reads import viewed
from kontend.explore.model.world import World
from kontend.explore.problems import BadScenario
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.controller import Controller, requests_for
from kontend.runtime.predicates import Event
from kontend.runtime.source_location import raised_at


def has_mappers(controller: Controller) -> bool:
    """A controller has mapping functions. Its ``watches`` may answer for any kind without listing one."""
    return any(controller.watches.get(kind) is not None for kind in controller.kinds)


class Triggers:
    """The predicates and mapping functions of one controller. Each is called once for the same event."""

    def __init__(self, controller: Controller, resource: Callable[[State, str], Resource], *, exact: bool) -> None:
        self.controller = controller
        self._resource = resource
        self._exact = exact
        #: Only a mapping function can look at other objects than the one that changed.
        self.is_mapped = has_mappers(controller)
        self._known: dict[tuple[object, ...], frozenset[Key]] = {}

    def requests(
        self, world: World, index: int, kind: str, key: Key, old: Version | None, new: Version | None, context: bytes
    ) -> frozenset[Key]:
        """The requests that a change enqueues once a view of an instance has it.

        ``context`` stands for all that a mapping function could see.
        """
        versions = (old and old.resource_version, new and new.resource_version) if self._exact else ()
        others = (world.objects, context) if self.is_mapped else ()
        question = (kind, key, old.digest if old else b"", new.digest if new else b"", *versions, *others)
        requests = self._known.get(question)
        if requests is None:
            resource = self._resource(world.state, kind)
            event = Event(
                kind,
                read_back(resource, old) if old is not None else None,
                read_back(resource, new) if new is not None else None,
            )
            requests = self._known[question] = self._called(world, index, event)
        return requests

    def _called(self, world: World, index: int, event: Event) -> frozenset[Key]:
        cache = self._cache(world, index) if self.is_mapped else Cache()
        namespaced = self._resource(world.state, self.controller.kind).namespaced
        try:
            requests = requests_for(self.controller, event, cache, namespaced=namespaced)
        except Exception as error:
            raise BadScenario(
                f"{self.controller.name}: a predicate or a mapping function raised {type(error).__name__}: {error} for "
                f"{event.type} {event.kind} {event.key}; it must handle every object",
                raised_at(error),
            ) from error
        return frozenset(Key(*request) for request in requests)

    def _cache(self, world: World, index: int) -> Cache:
        """The views of an instance, for mapping functions."""
        cache = Cache(monotonic=False)
        indexes = self.controller.indexes
        for at, kind in enumerate(self.controller.kinds):
            resource = self._resource(world.state, kind)
            view = cache.view(kind, plural=resource.plural)
            for name, indexer in indexes.get(kind, {}).items():
                view.add_index(name, indexer)
            objects = viewed(world, index, at, resource.key)
            view.replace(
                [read_back(resource, version) for version in objects.values()], world.instances[index].view(at)
            )
        return cache
