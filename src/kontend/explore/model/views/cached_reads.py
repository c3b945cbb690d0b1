"""Cached reads: the objects of one kind, as far as their events were delivered to a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects, Version
from kontend.cluster.storage import read_back
from kontend.explore.model.answer import Answer, Refusal
from kontend.explore.model.outcome import meet
from kontend.explore.model.state.process import InFlight, MetVersion
from kontend.explore.model.state.world import World
from kontend.explore.program.symbols import unbind, version_token
from kontend.kube.errors import ApiError, not_found
from kontend.kube.meta.names import Key, key_of, parse_kind
from kontend.runtime.cache.views import Cache, View
from kontend.runtime.client.call import Call
from kontend.runtime.indexes import Indexer

_MISSING: Final = Refusal(404, "NotFound")
#: The answers of a cache, by whether it was behind.
_FOUND: Final = (Answer(is_cached=True), Answer(is_cached=True, is_stale=True))
_NOT_FOUND: Final = tuple(replace(found, refusal=_MISSING) for found in _FOUND)


@dataclass(slots=True)
class CachedRead:
    """The outcome of a cached read."""

    #: Stands for the response in the program tree; and the response itself, made when the program needs it.
    key: Any
    response: Callable[[], bytes]
    #: The versions that the run has met then.
    versions: tuple[MetVersion, ...]
    #: It is stale if an event about what was read was still undelivered.
    answer: Answer


class CachedReader:
    """Reads one view of one instance."""

    def __init__(
        self,
        world: World,
        index: int,
        at: int,
        resource: Resource,
        indexes: Mapping[str, Indexer],
        *,
        exact: bool,
    ) -> None:
        """``at`` is the view; ``exact`` shows real versions."""
        self._world = world
        self._index = index
        self._at = at
        self._resource = resource
        self._indexes = indexes
        self._exact = exact
        self._deleted = {write.uid for write in world.process(index).own if write.uid}

    def read(self, in_flight: InFlight, call: Call) -> CachedRead:
        """The response to a cached read."""
        return self._get(in_flight, call) if call.verb == "get" else self._list(in_flight, call)

    def _get(self, in_flight: InFlight, call: Call) -> CachedRead:
        key, uuids, resource = call.key, in_flight.uuids, self._resource
        version = self._world.state.find(resource.key, key)
        stale = False
        for change in self._world.undelivered(self._index, self._at, resource.key):
            if change.key == key:
                version, stale = change.old, True
                break
        if version is None or self._is_deleted(version):
            plural = resource.plural if version is None else parse_kind(call.kind).kind.lower()
            status = not_found(resource.group, plural, call.name).status()
            return CachedRead(
                ("404", plural),
                lambda: unbind(b"!" + orjson.dumps(status), uuids),
                in_flight.versions,
                _NOT_FOUND[stale],
            )
        shown = version
        versions, token = self._met(in_flight.versions, key, shown)

        def response() -> bytes:
            return unbind(b"=" + orjson.dumps(self._shown(shown, token)), uuids)

        return CachedRead((shown.digest, token, *uuids), response, versions, _FOUND[stale])

    def _list(self, in_flight: InFlight, call: Call) -> CachedRead:
        versions, uuids = in_flight.versions, in_flight.uuids
        try:
            selected = self._selected(call)
        except ApiError as error:
            status = error.status()
            answer = Answer(Refusal(error.http_code, error.status_reason), is_cached=True)
            return CachedRead(("!", error.message), lambda: b"!" + orjson.dumps(status), versions, answer)
        keys: list[tuple[Key, bytes, int]] = []
        for key, version in selected:
            versions, token = self._met(versions, key, version)
            keys.append((key, version.digest, token))

        def response() -> bytes:
            items = [self._shown(version, key[2]) for (_, version), key in zip(selected, keys, strict=True)]
            return unbind(b"=" + orjson.dumps({"items": items}), uuids)

        undelivered = self._world.undelivered(self._index, self._at, self._resource.key)
        stale = any(not call.namespace or change.key.namespace == call.namespace for change in undelivered)
        return CachedRead((*keys, *uuids), response, versions, _FOUND[stale])

    def _met(self, versions: tuple[MetVersion, ...], key: Key, version: Version) -> tuple[tuple[MetVersion, ...], int]:
        if self._exact:
            met = (self._resource.key, key, version.resource_version)
            return (versions if met in versions else (*versions, met)), version.resource_version
        return meet(versions, (self._resource.key, key, version.resource_version))

    def _shown(self, version: Version, token: int) -> dict[str, Any]:
        obj = read_back(self._resource, version)
        obj["metadata"]["resourceVersion"] = str(token) if self._exact else version_token(token)
        return obj

    def _is_deleted(self, version: Version) -> bool:
        """The instance has deleted this very object."""
        return bool(self._deleted) and orjson.loads(version.body)["metadata"].get("uid") in self._deleted

    def _selected(self, call: Call) -> list[tuple[Key, Version]]:
        """The objects that a list shows, sorted."""
        objects = [
            (Key(*key), version)
            for key, version in sorted(viewed(self._world, self._index, self._at, self._resource.key).items())
            if (not call.namespace or key.namespace == call.namespace) and not self._is_deleted(version)
        ]
        if not call.query:
            return objects
        # The runtime's cache selects, so that selectors and indexes mean the same here and there.
        view = View(call.kind, monotonic=False)
        for name, indexer in self._indexes.items():
            view.add_index(name, indexer)
        view.replace([read_back(self._resource, version) for _, version in objects], 0)
        cache = Cache()
        cache.views[call.kind] = view
        kept = {key_of(item) for item in cache.answer(call)["items"]}
        return [(key, version) for key, version in objects if key in kept]


def viewed(world: World, index: int, at: int, resource: str) -> Objects:
    """The objects of a kind as a view of an instance has them."""
    objects = world.state.objects(resource)
    for change in reversed(world.undelivered(index, at, resource)):
        objects = objects.discard(change.key) if change.old is None else objects.insert(change.key, change.old)
    return objects
