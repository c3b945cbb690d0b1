"""The API server as the explorer uses it: asked once for each call on each set of objects.

What a call does depends on the objects, on which of the versions that the conversation met are still the current ones,
and on the uids that are handed out; not on the numbers of the versions. So the outcome is kept, and carried out again
in every other world in which these are the same.
"""

from __future__ import annotations

import itertools

import orjson
import xxhash

from kontend.cluster.cluster import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.startup.seed import resource_of
from kontend.explore.behaviour import Behaviour, bind
from kontend.explore.reply import Reply, reply_of
from kontend.explore.scenario import Action
from kontend.explore.uuids import Uuids
from kontend.explore.world import Flight, World, is_current
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import parse_kind
from kontend.runtime.client.call import METHODS, Call, path_of


class Server:
    """Answers the calls of reconciles."""

    def __init__(self, registry: Registry, uuids: Uuids, *, remember: bool) -> None:
        self._registry = registry
        self._uuids = uuids
        self._remember = remember
        self._resources: dict[str, Resource] = {}
        #: What was done with a call, by all that it could depend on.
        self._replies: dict[tuple[object, ...], Reply] = {}
        self._blocks: dict[tuple[str, str, int], tuple[int, tuple[str, ...]]] = {}

    def resource(self, kind: str) -> Resource:
        """The resource that serves a kind."""
        found = self._resources.get(kind)
        if found is None:
            found = self._resources[kind] = resource_of(self._registry, parse_kind(kind))
        return found

    def reply(self, world: World, behaviour: Behaviour, flight: Flight, call: Call) -> Reply:
        """What the server does with the next call of a reconcile."""
        state = world.state
        serial = self._serial(world, call.kind, call, "") if call.writes else 0
        current = tuple([is_current(state, met) for met in flight.met])
        question = (behaviour.number, flight.node.id, world.objects, serial, current, flight.uuids)
        found = self._replies.get(question)
        if found is None or not self._remember:
            resource = self.resource(call.kind)
            body = bind(call.body, tuple(each[2] for each in flight.met), flight.uuids)
            request = ApiRequest(
                METHODS[call.verb],
                path_of(call, resource.plural, namespaced=resource.namespaced),
                {name: (value,) for name, value in call.query},
                body,
                content_type=call.content_type,
                user_agent=behaviour.controller.name,
            )
            after, response = handle(state.replace(serial=serial) if call.writes else state, request)
            found = reply_of(flight, resource, response, after.changes_since(state.resource_version))
            self._replies[question] = found
        return found

    def act(self, world: World, action: Action) -> Reply:
        """What the server does with what the user does next."""
        serial = self._serial(world, action.kind, None, action.key.name)
        question = (-1, world.acted, world.objects, serial)
        found = self._replies.get(question)
        if found is None or not self._remember:
            cluster = Cluster(state=world.state.replace(serial=serial))
            text = ""
            try:
                action.perform(cluster)
            except ApiError as error:
                text = error.message
            writes = tuple(cluster.state.changes_since(world.state.resource_version))
            found = self._replies[question] = Reply((), b"", (), writes, text)
        return found

    def _serial(self, world: World, kind: str, call: Call | None, name: str) -> int:
        """Where uids are counted from: the first that nobody knows, of those for objects of this name.

        So they do not depend on what was made before, and what is made and deleted again and again comes round.
        """
        if call is not None:
            if call.verb == "create":
                metadata = orjson.loads(call.body).get("metadata") or {}
                name = metadata.get("name") or metadata.get("generateName") or ""
            elif "apply" in call.content_type:
                name = call.name
            else:
                return 0  # it makes no object
        resource = self.resource(kind).key
        known = self._uuids.known(world)
        for count in itertools.count():
            block = self._block(resource, name, count)
            if not any(uid in known or world.uuids.get(uid) is not None for uid in block[1]):
                return block[0]
        raise AssertionError("there is always another one")

    def _block(self, resource: str, name: str, count: int) -> tuple[int, tuple[str, ...]]:
        """Where to count from for one object, and the uids that can come of it."""
        question = (resource, name, count)
        found = self._blocks.get(question)
        if found is None:
            seed = xxhash.xxh3_64_intdigest(f"{resource}\0{name}\0{count}".encode()) & 0xFFFFFFF
            uids = tuple(
                f"{serial:08x}-0000-4000-8000-{serial:012x}" for serial in range(seed * 16 + 1, seed * 16 + 16)
            )
            found = self._blocks[question] = (seed * 16, uids)
        return found
