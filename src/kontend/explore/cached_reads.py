"""What a reconcile gets when it reads its cache: the objects of one kind, as far as their events were delivered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects, Version
from kontend.cluster.storage import read_back
from kontend.explore.behaviour import unbind, version_token
from kontend.explore.reply import meet
from kontend.explore.world import Flight, Met, Pilot, World
from kontend.kube.errors import not_found
from kontend.kube.meta.names import Key, key_of
from kontend.runtime.cache.views import Cache, View
from kontend.runtime.client.call import Call
from kontend.runtime.indexes import Indexer


@dataclass(slots=True)
class Read:
    """The outcome of a cached read."""

    #: What stands for the answer, and the answer itself, made when somebody wants it.
    key: Any
    answer: Callable[[], bytes]
    #: The versions that the conversation has met then.
    met: tuple[Met, ...]
    #: Whether an event about what was read was still on its way.
    stale: bool
    #: What to add to the text of the move.
    text: str = ""


def read(
    world: World,
    pilot: Pilot,
    at: int,
    flight: Flight,
    call: Call,
    resource: Resource,
    indexes: Mapping[str, Indexer],
) -> Read:
    """Read a pilot's cache; ``at`` is the place of the kind among those it watches, -1 for none of them."""
    if call.verb == "get":
        return _get(world, pilot, at, flight, call, resource)
    met, uuids = flight.met, flight.uuids
    selected = _selected(seen(world, pilot, at, resource.key), call, resource, indexes)
    keys: list[Any] = []
    for key, version in selected:
        met, token = meet(met, (resource.key, key, version.resource_version))
        keys.append((key, version.digest, token))
    tokens = [each[2] for each in keys]

    def listed() -> bytes:
        items = [_tokened(resource, version, token) for (_, version), token in zip(selected, tokens, strict=True)]
        return unbind(b"=" + orjson.dumps({"items": items}), uuids)

    stale = bool(at >= 0 and world.undelivered(pilot, at, resource.key))
    return Read((*keys, *uuids), listed, met, stale)


def _get(world: World, pilot: Pilot, at: int, flight: Flight, call: Call, resource: Resource) -> Read:
    key, uuids = call.key, flight.uuids
    version = world.state.find(resource.key, key)
    stale = False
    for change in world.undelivered(pilot, at, resource.key) if at >= 0 else ():
        if change.key == key:
            version, stale = change.old, True
            break
    if version is None:
        status = not_found(resource.group, resource.plural, call.name).status()
        return Read(("404",), lambda: unbind(b"!" + orjson.dumps(status), uuids), flight.met, stale, ": not found")
    found = version
    met, token = meet(flight.met, (resource.key, key, found.resource_version))

    def answer() -> bytes:
        return unbind(b"=" + orjson.dumps(_tokened(resource, found, token)), uuids)

    return Read((found.digest, token, *uuids), answer, met, stale)


def _tokened(resource: Resource, version: Version, token: int) -> dict[str, Any]:
    obj = read_back(resource, version)
    obj["metadata"]["resourceVersion"] = version_token(token)
    return obj


def seen(world: World, pilot: Pilot, at: int, resource: str) -> Objects:
    """The objects of a kind as a pilot's cache has them; as they are, for a kind that it does not watch."""
    objects = world.state.objects(resource)
    for change in reversed(world.undelivered(pilot, at, resource) if at >= 0 else []):
        objects = objects.discard(change.key) if change.old is None else objects.insert(change.key, change.old)
    return objects


def _selected(
    objects: Objects, call: Call, resource: Resource, indexes: Mapping[str, Indexer]
) -> list[tuple[Key, Version]]:
    """The objects that a list in a cache shows, sorted."""
    found = [
        (Key(*key), version)
        for key, version in sorted(objects.items())
        if not call.namespace or key.namespace == call.namespace
    ]
    query = dict(call.query)
    if not query:
        return found
    # The cache of the runtime answers, so that there is one meaning of selectors and indexes.
    view = View(call.kind, monotonic=False)
    for name, indexer in indexes.items():
        view.add_index(name, indexer)
    view.replace([read_back(resource, version) for _, version in found], 0)
    cache = Cache()
    cache.views[call.kind] = view
    kept = {key_of(item) for item in cache.answer(call)["items"]}
    return [each for each in found if each[0] in kept]
