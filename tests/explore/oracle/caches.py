"""The caches of instances: their objects, the events that they have not seen, and the requests that events ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explore.oracle.model import Instance, World
from kontend.cluster.resources import Resource
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.state import Change, State
from kontend.cluster.storage import read_back
from kontend.kube.meta.names import Key, key_of, parse_kind
from kontend.runtime.cache.views import Cache
from kontend.runtime.controller import Controller, requests_for
from kontend.runtime.predicates import Event


class Caches:
    """Brings the caches of instances forward."""

    controllers: Sequence[Controller]
    lag: int

    def _resource(self, state: State, kind: str) -> Resource:
        return resource_of(state.registry, parse_kind(kind))

    def _objects(self, state: State, kind: str, position: int) -> list[dict[str, Any]]:
        """The objects of a kind as they were at a version."""
        resource = self._resource(state, kind)
        return [read_back(resource, version) for _, version in sorted(state.objects_at(resource.key, position).items())]

    def pending(self, state: State, kind: str, position: int) -> list[Change]:
        """The changes that a cache has not seen."""
        return state.changes_since(position, self._resource(state, kind).key)

    def _cache(self, state: State, instance: Instance) -> Cache:
        cache = Cache(monotonic=False)
        indexes = self.controllers[instance.controller].indexes
        for kind, position in instance.positions:
            view = cache.view(kind, plural=self._resource(state, kind).plural)
            for name, indexer in indexes.get(kind, {}).items():
                view.add_index(name, indexer)
            view.replace(self._objects(state, kind, position), position)
        return cache

    def _requests(self, state: State, instance: Instance, event: Event) -> list[Key]:
        controller = self.controllers[instance.controller]
        if event.kind not in controller.kinds:
            return []
        cache = self._cache(state, instance) if controller.watches.get(event.kind) is not None else Cache()
        namespaced = self._resource(state, controller.kind).namespaced
        return [Key(*request) for request in requests_for(controller, event, cache, namespaced=namespaced)]

    def _delivered(self, state: State, instance: Instance, kind: str, change: Change) -> Instance:
        """An instance whose cache has seen one more event."""
        resource = self._resource(state, kind)
        old = read_back(resource, change.old) if change.old is not None else None
        new = read_back(resource, change.new) if change.new is not None else None
        if new is None and old is not None:
            old["metadata"]["resourceVersion"] = str(change.resource_version)
        positions = dict(instance.positions) | {kind: change.resource_version}
        instance = replace(instance, positions=tuple(positions.items()))
        requests = self._requests(state, instance, Event(kind, old, new))
        return replace(instance, queue=instance.queue | set(requests))

    def _relisted(self, state: State, instance: Instance, kind: str, position: int) -> Instance:
        """An instance whose cache has listed a kind again: all events since then as one for each object."""
        old, new = (
            {key_of(obj): obj for obj in self._objects(state, kind, version)}
            for version in (position, state.resource_version)
        )
        positions = dict(instance.positions) | {kind: state.resource_version}
        instance = replace(instance, positions=tuple(positions.items()))
        events = [Event(kind, old.get(key), obj) for key, obj in new.items() if obj != old.get(key)]
        events += [Event(kind, obj, None) for key, obj in old.items() if key not in new]
        requests = [request for event in events for request in self._requests(state, instance, event)]
        return replace(instance, queue=instance.queue | set(requests))

    def _informed(self, world: World, process: int, kind: str, change: Change) -> World:
        """The world after the cache of a process has seen one more event: all its controllers are told."""
        for index in world.members(process):
            world = world.with_instance(index, self._delivered(world.state, world.instances[index], kind, change))
        return world

    def _within_lag(self, world: World) -> World:
        """Deliver, oldest first, what keeps a cache further behind than the bound."""
        for process in sorted({instance.process for instance in world.instances}):
            while True:
                positions = world.instances[world.members(process)[0]].positions
                late = [
                    (changes[0].resource_version, index, kind, changes[0])
                    for index, (kind, position) in enumerate(positions)
                    if len(changes := self.pending(world.state, kind, position)) > self.lag
                ]
                if not late:
                    break
                _, _, kind, change = min(late, key=lambda entry: entry[:2])
                world = self._informed(world, process, kind, change)
        return world
