"""Triggers: the reconciles that an event enqueues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.cluster.storage import read_back
from kontend.explore.model.state.process import NOT_STARTED
from kontend.explore.model.state.world import World
from kontend.explore.model.views.cached_reads import viewed
from kontend.explore.problems import BadScenario
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.pure_functions import PureFunction, guarded_indexes
from kontend.explore.program.user_code import UserCode
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.controller import Controller, Request, requests_for
from kontend.runtime.predicates import Event
from kontend.runtime.source_location import raised_at


class _Looked(BaseException):
    """A mapping function has looked at the cache."""


class _ClosedCache(Cache):
    """Stands for a cache, to find out whether a mapping function looks at it. It has no content."""

    def __init__(self) -> None:
        self.looked = False

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        self.looked = True
        raise _Looked


def has_mappers(controller: Controller) -> bool:
    """A controller has mapping functions. Its ``watches`` may answer for any kind without listing one."""
    return any(controller.watches.get(kind) is not None for kind in controller.kinds)


def has_functions(controller: Controller) -> bool:
    """A controller has functions of the user in this process that decide what an event enqueues."""
    return not isinstance(controller, ForeignController) and bool(controller.predicates or controller.watches)


class Triggers:
    """The predicates and mapping functions of one controller. Each is called once for the same event."""

    def __init__(
        self,
        controller: Controller,
        resource: Callable[[State, str], Resource],
        kinds: Sequence[str],
        *,
        exact: bool,
    ) -> None:
        """``kinds`` are those of the views: the declared ones, and then those that are read."""
        self.controller = controller
        self._kinds = kinds
        self._resource = resource
        self._exact = exact
        #: Only a mapping function can look at other objects than the one that changed.
        self.is_mapped = has_mappers(controller)
        self._known: dict[tuple[object, ...], frozenset[Key] | None] = {}
        who = f"{controller.name}: a predicate or a mapping function"
        self._functions = PureFunction(who, UserCode(controller)) if has_functions(controller) else None
        self._indexes = guarded_indexes(controller)
        #: Some mapping function has looked at the cache.
        self.has_looked = False

    def requests(
        self,
        world: World,
        index: int,
        kind: str,
        key: Key,
        old: Version | None,
        new: Version | None,
        context: Callable[[], bytes],
    ) -> frozenset[Key]:
        """The requests that a change enqueues once a view of an instance has it.

        ``context`` stands for all that a mapping function could see.
        """
        requests = self.without_looking(world, kind, key, old, new)
        if requests is not None:
            return requests
        question = (*self._question(kind, key, old, new), world.objects, context())
        requests = self._known.get(question)
        if requests is None:
            event = self._event(world, kind, old, new)
            requests = self._known[question] = self._called(world, event, self._cache(world, index))
        return requests

    def without_looking(
        self, world: World, kind: str, key: Key, old: Version | None, new: Version | None
    ) -> frozenset[Key] | None:
        """The requests that a change enqueues whatever else there is; None where a mapping function looks further."""
        question = self._question(kind, key, old, new)
        if question in self._known:
            return self._known[question]
        cache = _ClosedCache() if self.is_mapped else Cache()
        try:
            requests: frozenset[Key] | None = self._called(world, self._event(world, kind, old, new), cache)
        except _Looked:
            requests = None
        if vars(cache).get("looked"):  # also where the function has caught the exception
            requests = None
        self.has_looked = self.has_looked or requests is None
        self._known[question] = requests
        return requests

    def _question(self, kind: str, key: Key, old: Version | None, new: Version | None) -> tuple[object, ...]:
        versions = (old and old.resource_version, new and new.resource_version) if self._exact else ()
        return (kind, key, old.digest if old else b"", new.digest if new else b"", *versions)

    def _event(self, world: World, kind: str, old: Version | None, new: Version | None) -> Event:
        resource = self._resource(world.state, kind)
        return Event(
            kind,
            read_back(resource, old) if old is not None else None,
            read_back(resource, new) if new is not None else None,
        )

    def _called(self, world: World, event: Event, cache: Cache) -> frozenset[Key]:
        namespaced = self._resource(world.state, self.controller.kind).namespaced
        try:
            requests = self._asked(lambda: requests_for(self.controller, event, cache, namespaced=namespaced))
        except Exception as error:
            raise BadScenario(
                f"{self.controller.name}: a predicate or a mapping function raised {type(error).__name__}: {error} for "
                f"{event.type} {event.kind} {event.key}; it must handle every object",
                raised_at(error),
            ) from error
        return frozenset(Key(*request) for request in requests)

    def _asked(self, call: Callable[[], list[Request]]) -> list[Request]:
        return call() if self._functions is None else self._functions.answer(call)

    def _cache(self, world: World, index: int) -> Cache:
        """The views of an instance, for mapping functions."""
        cache = Cache(monotonic=False)
        for at, kind in enumerate(self._kinds):
            if world.process(index).view(at) == NOT_STARTED:
                continue
            resource = self._resource(world.state, kind)
            view = cache.view(kind, plural=resource.plural)
            for name, indexer in self._indexes.get(kind, {}).items():
                view.add_index(name, indexer)
            objects = viewed(world, index, at, resource.key)
            view.replace([read_back(resource, version) for version in objects.values()], world.process(index).view(at))
        return cache
