"""Moves: what can happen next in a world, and the world after it.

A move starts a reconcile, lets one make its next call, delivers the next event of a kind to a cache, lets a retry come
due, or takes the user's next action. Triggers come with the delivery of their event and are never dropped. A cache that
would fall further behind than the bound allows is delivered its oldest event in the same move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson
import xxhash
from rpds import HashTrieMap

from kontend.cluster.cluster import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.request import Request as HttpRequest
from kontend.cluster.resources import Resource
from kontend.cluster.seed import resource_of
from kontend.cluster.state import Change, State
from kontend.cluster.storage import read_back
from kontend.cluster.times import rfc3339
from kontend.explore.behaviour import Behaviour, bind
from kontend.explore.cached_reads import read
from kontend.explore.reply import Reply, reply_of
from kontend.explore.scenario import Scenario
from kontend.explore.triggers import Triggers
from kontend.explore.uuids import Uuids
from kontend.explore.world import Flight, Met, Pilot, World, is_current, key_of, sum_after, sum_of
from kontend.kube.errors import ApiError
from kontend.kube.names import Key, parse_kind
from kontend.runtime.call import Call
from kontend.runtime.predicates import Event

_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that can happen."""

    #: start, call, deliver, retry or act
    what: str
    pilot: int = -1
    #: The request (start, retry), or the index of the kind (deliver).
    subject: Key | int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A move that was made: the world after it, and what it was in words."""

    world: World
    text: str
    #: What it wrote, oldest first.
    changes: tuple[Change, ...] = ()
    #: The flight whose call this was, as it was before; None for other moves.
    flight: Flight | None = None
    #: How a reconcile that ended with this move failed.
    error: str = ""
    #: For a whole reconcile: the calls it made, each with the world before it.
    calls: tuple[tuple[World, Step], ...] = ()


class Engine:
    """Knows how a scenario moves on."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        cluster = scenario.check()
        self._registry = cluster.state.registry
        self._served: dict[str, Resource] = {}
        self.lag = scenario.bounds.lag
        self.names: list[str] = []
        self.behaviours: list[Behaviour] = []
        self._kinds: list[tuple[str, ...]] = []
        resources: list[tuple[str, ...]] = []
        for controller in scenario.running(cluster):
            behaviour = Behaviour(controller, scenario.guards, self._namespaced)
            for number in range(1, scenario.bounds.concurrent + 1):
                many = scenario.bounds.concurrent > 1
                self.names.append(f"{controller.name}#{number}" if many else controller.name)
                self.behaviours.append(behaviour)
                self._kinds.append(controller.kinds)
                resources.append(tuple(self._resource(kind).key for kind in controller.kinds))
        self.resources = tuple(resources)
        self._groups = self._grouped()
        self._uuids = Uuids()
        #: What the server did with a call, by all that it could depend on.
        self._replies: dict[tuple[object, ...], Reply] = {}
        self._triggers = [Triggers(each.controller, self._resource) for each in self.behaviours]
        self._first = cluster.state

    def _grouped(self) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """The instances of each controller, which can change places."""
        many = self.scenario.bounds.concurrent if self.scenario.reductions.symmetry else 1
        return tuple((first, first + many, self.resources[first]) for first in range(0, len(self.resources), many))

    def start(self) -> World:
        """The first world: every cache has listed everything, and every object is queued."""
        state = self._first
        world = World(state, (), 0, HashTrieMap(), sum_of(state))
        pilots = []
        for index, behaviour in enumerate(self.behaviours):
            positions = tuple(state.resource_version for _ in self._kinds[index])
            pilot = Pilot(positions, frozenset(), frozenset(), None, behaviour.first_memory)
            queue: set[Key] = set()
            for kind in self._kinds[index]:
                resource = self._resource(kind)
                for version in state.objects(resource.key).values():
                    event = Event(kind, None, read_back(resource, version))
                    queue.update(self._triggers[index].requests(world, pilot, event))
            pilots.append(pilot.but(queue=frozenset(queue)))
        return world.but(pilots=tuple(pilots))

    def key(self, world: World) -> bytes:
        """The 128 bits of a world."""
        return key_of(world, self._groups)

    def moves(self, world: World) -> list[Move]:
        """What can happen next, in a fixed order."""
        moves: list[Move] = []
        for index, pilot in enumerate(world.pilots):
            for at, resource in enumerate(self.resources[index]):
                if world.undelivered(pilot, at, resource):
                    moves.append(Move("deliver", index, at))
            if pilot.flight is not None:
                if not self._waits(pilot):
                    moves.append(Move("call", index))
            else:
                moves += [Move("start", index, request) for request in sorted(pilot.queue)]
            moves += [Move("retry", index, request) for request in sorted(pilot.waiting)]
        if world.acted < len(self.scenario.actions):
            moves.append(Move("act"))
        return moves

    def is_settled(self, world: World) -> bool:
        """Whether nothing is under way and nothing will happen by itself. A retry of an error is not settled."""
        return world.acted == len(self.scenario.actions) and not self.moves(world)

    def make(self, world: World, move: Move) -> Step:
        """Carry out a move."""
        return getattr(self, f"_{move.what}")(world, move)  # type: ignore[no-any-return]

    # The moves

    def _start_reconcile(self, world: World, index: int, request: Key) -> World:
        pilot = world.pilots[index]
        node = self.behaviours[index].root(request, pilot.memory, rfc3339(world.state.now))
        flight = Flight(request, node, pilot.memory, (), ())
        world = world.with_pilot(index, pilot.but(queue=pilot.queue - {request}, flight=flight))
        return self._settle_flight(world, index, 0)

    def _deliver(self, world: World, move: Move) -> Step:
        assert isinstance(move.subject, int)
        world, text = self._delivered(world, move.pilot, move.subject)
        return Step(world, text)

    def _retry(self, world: World, move: Move) -> Step:
        pilot = world.pilots[move.pilot]
        assert isinstance(move.subject, Key)
        changed = pilot.but(waiting=pilot.waiting - {move.subject}, queue=pilot.queue | {move.subject})
        return Step(world.with_pilot(move.pilot, changed), f"{self.names[move.pilot]} will retry {move.subject}")

    def _act(self, world: World, _: Move) -> Step:
        action = self.scenario.actions[world.acted]
        cluster = Cluster(state=self._fresh(world, action.kind, None))
        text = f"the user {action.text}"
        try:
            action.perform(cluster)
        except ApiError as error:
            text += f": refused ({error.message})"
            return Step(world.but(acted=world.acted + 1), text)
        return self._committed(world.but(acted=world.acted + 1), cluster.state, text, -1, None)

    def _call(self, world: World, move: Move) -> Step:
        index = move.pilot
        pilot = world.pilots[index]
        flight = pilot.flight
        assert flight is not None
        call = flight.node.call
        assert call is not None
        resource = self._resource(call.kind)
        name = self.names[index]
        if call.cached:
            at = self._kinds[index].index(call.kind) if call.kind in self._kinds[index] else -1
            indexes = self.behaviours[index].controller.indexes.get(call.kind, {})
            got = read(world, pilot, at, flight.met, call, resource, indexes)
            world = self._answered(world, index, got.key, got.answer, got.met)
            world, error = self._ended(world, index)
            return Step(world, f"{name}: {call}{got.text}", flight=flight, error=error)
        reply = self._asked(world, index, flight, call, resource)
        after = reply.carried_out(world.state)
        met = reply.met_after(flight.met, after)
        world = self._answered(world, index, reply.key, lambda: reply.answer, met)
        text = f"{name}: {call}{reply.text}"
        if not reply.writes:
            world, error = self._ended(world, index)
            return Step(world, text, flight=flight, error=error)
        step = self._committed(world, after, text, index, flight)
        world, error = self._ended(step.world, index)
        return Step(world, step.text, step.changes, flight, error)

    def _start(self, world: World, move: Move) -> Step:
        assert isinstance(move.subject, Key)
        text = f"{self.names[move.pilot]} starts {move.subject}"
        world = self._start_reconcile(world, move.pilot, move.subject)
        if self.scenario.bounds.atomic:
            return self._whole(world, move.pilot, text)
        world, error = self._ended(world, move.pilot)
        return Step(world, text, error=error)

    def _whole(self, world: World, index: int, text: str) -> Step:
        """A reconcile from its first call to its last."""
        calls: list[tuple[World, Step]] = []
        error = ""
        while (flight := world.pilots[index].flight) is not None:
            if flight.node.done is not None:
                world, error = self._ended(world, index)
            elif self._waits(world.pilots[index]):
                # What it must have seen before it reads on.
                at = next(at for at in range(len(self.resources[index])) if self._is_behind(world, index, at))
                world, _ = self._delivered(world, index, at)
            else:
                step = self._call(world, Move("call", index))
                calls.append((world, step))
                world, error = step.world, step.error
        writes = [step.text.partition(": ")[2] for _, step in calls if step.changes]
        did = f", and does: {'; '.join(writes)}" if writes else ""
        changes = tuple(change for _, step in calls for change in step.changes)
        return Step(world, f"{text}{did}", changes, None, error, tuple(calls))

    def _is_behind(self, world: World, index: int, at: int) -> bool:
        return bool(world.undelivered(world.pilots[index], at, self.resources[index][at]))

    # Reads and answers

    def _asked(self, world: World, index: int, flight: Flight, call: Call, resource: Resource) -> Reply:
        """What the server does with a call: the same as before, if all that it could depend on is the same."""
        behaviour = self.behaviours[index]
        before = self._fresh(world, call.kind, call)
        current = tuple(is_current(world.state, met) for met in flight.met)
        question = (behaviour, flight.node.id, world.objects, before.serial, current, flight.uuids)
        found = self._replies.get(question)
        if found is None or not self.scenario.reductions.outcomes:
            body = bind(call.body, tuple(each[2] for each in flight.met), flight.uuids)
            after, response = handle(before, self._request(call, resource, body, behaviour.controller.name))
            changes = after.changes_since(world.state.resource_version)
            found = self._replies[question] = reply_of(flight.met, resource, response, changes)
        return found

    def _answered(self, world: World, index: int, key: Any, answer: Callable[[], bytes], met: tuple[Met, ...]) -> World:
        """The flight after an answer."""
        pilot = world.pilots[index]
        flight = pilot.flight
        assert flight is not None
        start = (flight.request, flight.memory, rfc3339(world.state.now))
        node = self.behaviours[index].next(flight.node, key, answer, start)
        moved = Flight(flight.request, node, flight.memory, met, flight.uuids)
        return self._settle_flight(world.with_pilot(index, pilot.but(flight=moved)), index, flight.node.drawn)

    def _settle_flight(self, world: World, index: int, drawn: int) -> World:
        """Hand out the uuids that were drawn on the way to the flight's node."""
        pilot = world.pilots[index]
        flight = pilot.flight
        assert flight is not None
        fresh = flight.node.drawn - drawn
        if fresh <= 0:
            return world
        uuids = self._uuids.drawn(world, flight.uuids, fresh)
        moved = Flight(flight.request, flight.node, flight.memory, flight.met, uuids)
        return world.with_pilot(index, pilot.but(flight=moved))

    def _ended(self, world: World, index: int) -> tuple[World, str]:
        """Land the flight if its reconcile has returned."""
        pilot = world.pilots[index]
        flight = pilot.flight
        if flight is None or flight.node.done is None:
            return world, ""
        done = flight.node.done
        waiting = pilot.waiting | {flight.request} if done.again else pilot.waiting
        return world.with_pilot(index, pilot.but(flight=None, waiting=waiting, memory=done.memory)), done.error

    # Writes and deliveries

    def _committed(self, world: World, after: State, text: str, index: int, flight: Flight | None) -> Step:
        """The world after a write, with caches that would be too far behind brought forward."""
        changes = after.changes_since(world.state.resource_version)
        born = world.born
        for change in changes:
            if change.old is None:
                name = (change.resource, change.key)
                born = born.insert(name, (born.get(name) or 0) + 1)
        objects = sum_after(world.objects, changes)
        world = world.but(state=after, objects=objects, born=born)
        if index >= 0 and self.scenario.guards.read_your_writes:
            pilot = world.pilots[index]
            own = [(each.resource, each.key, each.resource_version) for each in changes]
            world = world.with_pilot(index, pilot.but(own=(*pilot.own, *own)))
        for other in range(len(world.pilots)):
            for at, resource in enumerate(self.resources[other]):
                while len(world.undelivered(world.pilots[other], at, resource)) > self.lag:
                    world, _ = self._delivered(world, other, at)
        return Step(self._tidied(world), text, tuple(changes), flight)

    def _delivered(self, world: World, index: int, at: int) -> tuple[World, str]:
        pilot = world.pilots[index]
        resource = self.resources[index][at]
        kind = self._kinds[index][at]
        pending = world.undelivered(pilot, at, resource)
        change = pending[0]
        position = change.resource_version if len(pending) > 1 else world.state.resource_version
        positions = (*pilot.positions[:at], position, *pilot.positions[at + 1 :])
        own = tuple(met for met in pilot.own if met[0] != resource or met[2] > position)
        moved = pilot.but(positions=positions, own=own)
        requests = self._triggers[index].of(world, moved, kind, change)
        if not requests <= pilot.queue:
            moved = moved.but(queue=pilot.queue | requests)
        text = f"{self.names[index]} sees {change.type} {kind.partition('.')[0].partition('/')[0]} {change.key}"
        return world.with_pilot(index, moved), text

    def _tidied(self, world: World) -> World:
        """Bring positions of caches that miss nothing to the front, so that looking back stays short."""
        newest = world.state.resource_version
        pilots = list(world.pilots)
        for index, pilot in enumerate(pilots):
            positions = tuple(
                position if world.undelivered(pilot, at, self.resources[index][at]) else newest
                for at, position in enumerate(pilot.positions)
            )
            own = tuple(
                met
                for met in pilot.own
                if met[0] in self.resources[index] and met[2] > positions[self.resources[index].index(met[0])]
            )
            if positions != pilot.positions or own != pilot.own:
                pilots[index] = pilot.but(positions=positions, own=own)
        return world.but(pilots=tuple(pilots))

    # Small things

    def _waits(self, pilot: Pilot) -> bool:
        """Whether the next call is a cached read that must wait for an own write."""
        flight = pilot.flight
        assert flight is not None
        call = flight.node.call
        if call is None or not call.cached or not pilot.own:
            return False
        resource = self._resource(call.kind).key
        if call.verb == "get":
            return any(met[0] == resource and met[1] == call.key for met in pilot.own)
        return any(met[0] == resource and call.namespace in ("", met[1].namespace) for met in pilot.own)

    def _fresh(self, world: World, kind: str, call: Call | None) -> State:
        """The state in which a write is made: uids depend on the object and how often it was created, not on when."""
        if call is not None and not call.writes:
            return world.state
        resource = self._resource(kind).key
        name = b""
        count = 0
        if call is not None and call.verb == "create":
            metadata = orjson.loads(call.body).get("metadata") or {}
            name = (metadata.get("name") or metadata.get("generateName") or "").encode()
            key = Key(call.namespace, metadata.get("name") or "")
            count = world.born.get((resource, key)) or 0
        if not name:
            count = sum(each for (other, _), each in world.born.items() if other == resource)
        seed = xxhash.xxh3_64_intdigest(b"%s\0%s\0%d" % (resource.encode(), name, count)) & 0xFFFFFFF
        return world.state.replace(serial=seed * 16)

    def _request(self, call: Call, resource: Resource, body: bytes, agent: str) -> HttpRequest:
        path = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        if call.namespace and resource.namespaced:
            path += f"/namespaces/{call.namespace}"
        path += f"/{resource.plural}"
        if call.name:
            path += f"/{call.name}"
        if call.subresource:
            path += f"/{call.subresource}"
        query = {name: (value,) for name, value in call.query}
        return HttpRequest(_METHODS[call.verb], path, query, body, content_type=call.content_type, user_agent=agent)

    def _resource(self, kind: str) -> Resource:
        found = self._served.get(kind)
        if found is None:
            found = self._served[kind] = resource_of(self._registry, parse_kind(kind))
        return found

    def _namespaced(self, kind: str) -> bool:
        return self._resource(kind).namespaced
