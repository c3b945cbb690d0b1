"""Moves: what can happen next in a world, and the world after it.

A move starts a reconcile, lets one make its next call, delivers the next event of a kind to a cache, lets a retry come
due, or takes the user's next action. Triggers come with the delivery of their event and are never dropped. A cache that
would fall further behind than the bound allows is delivered its oldest event in the same move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kontend.cluster.state import Change, State
from kontend.cluster.storage import read_back
from kontend.cluster.times import rfc3339
from kontend.explore.behaviour import Behaviour, bind, bound
from kontend.explore.cached_reads import read
from kontend.explore.footprints import Footprints
from kontend.explore.moves import Move, Step
from kontend.explore.scenario import BadScenario, Scenario
from kontend.explore.server import Server
from kontend.explore.triggers import Triggers
from kontend.explore.uuids import Uuids
from kontend.explore.world import Flight, Met, Pilot, World, absolute_digest, key_of, relative_digest, sum_after, sum_of
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call
from kontend.runtime.predicates import Event

_STALE: Final = " (stale)"


class Engine:
    """Knows how a scenario moves on."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        cluster = scenario.check()
        #: What was seen of who touches what.
        self.footprints = Footprints()
        resources: list[tuple[str, ...]] = []
        self._uuids = Uuids(resources)
        self.server = Server(cluster.state.registry, self._uuids, remember=scenario.reductions.outcomes)
        self.lag = scenario.bounds.lag
        self.names: list[str] = []
        self.behaviours: list[Behaviour] = []
        self.kinds: list[tuple[str, ...]] = []
        for controller in scenario.running(cluster):
            number = len(set(self.behaviours))
            behaviour = Behaviour(controller, scenario.guards, self._namespaced, number, self._noted)
            for number in range(1, scenario.bounds.concurrent + 1):
                many = scenario.bounds.concurrent > 1
                self.names.append(f"{controller.name}#{number}" if many else controller.name)
                self.behaviours.append(behaviour)
                self.kinds.append(controller.kinds)
                resources.append(tuple(self.server.resource(kind).key for kind in controller.kinds))
        self.resources = tuple(resources)
        self._groups = self._grouped()
        self._triggers = [Triggers(each.controller, self.server.resource) for each in self.behaviours]
        self._first = cluster.state
        #: The last time that was asked for, and how it is written.
        self._time = (-1, "")
        self._make: dict[str, Callable[[World, Move], Step]] = {
            "start": self._start,
            "call": self._call,
            "deliver": self._deliver,
            "retry": self._retry,
            "act": self._act,
        }

    def _grouped(self) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """The instances of each controller, which can change places."""
        many = self.scenario.bounds.concurrent if self.scenario.reductions.symmetry else 1
        return tuple((first, first + many, self.resources[first]) for first in range(0, len(self.resources), many))

    def start(self) -> World:
        """The first world: every cache has listed everything, and every object is queued."""
        state = self._first
        sums = (sum_of(state, absolute_digest), sum_of(state, relative_digest))
        world = World(state, (), 0, *sums, self._uuids.of(state))
        pilots = []
        for index, behaviour in enumerate(self.behaviours):
            positions = tuple(state.resource_version for _ in self.kinds[index])
            pilot = Pilot(positions, frozenset(), frozenset(), None, behaviour.first_memory)
            queue: set[Key] = set()
            for kind in self.kinds[index]:
                resource = self.server.resource(kind)
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
                if pilot.undelivered(world.state, at, resource):
                    moves.append(Move("deliver", index, at))
            if pilot.flight is not None:
                if not self.waits(pilot):
                    moves.append(Move("call", index))
            else:
                moves += [Move("start", index, request) for request in sorted(pilot.queue)]
            moves += [Move("retry", index, request) for request in sorted(pilot.waiting)]
        if world.acted < len(self.scenario.actions):
            moves.append(Move("act"))
        return moves

    def make(self, world: World, move: Move) -> Step:
        """Carry out a move."""
        return self._make[move.what](world, move)

    # The moves

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
        reply = self.server.act(world, action)
        text = f"the user {action.text}"
        # A user may act before controllers have seen to everything; in the middle of a reconcile it disturbs.
        price = int(any(pilot.flight is not None for pilot in world.pilots))
        if reply.text:
            refused = f"{text}: refused ({reply.text})"
            return Step(world.but(acted=world.acted + 1), refused, error=reply.text, price=price)
        world, changes = self._committed(world.but(acted=world.acted + 1), reply.carried_out(world.state), -1)
        return Step(world, text, changes, price=price)

    def _start(self, world: World, move: Move) -> Step:
        assert isinstance(move.subject, Key)
        index, request = move.pilot, move.subject
        pilot = world.pilots[index]
        # What an undisturbed run never does: begin something while something else is under way.
        price = int(any(other.flight is not None for other in world.pilots))
        node = self.behaviours[index].root(request, pilot.memory, self._now(world.state))
        flight = Flight(request, node, pilot.memory, (), ())
        world = world.with_pilot(index, pilot.but(queue=pilot.queue - {request}, flight=flight))
        if not self.scenario.reductions.uuids:
            world = self._with_uuids(world, index, node.drawn)
        text = f"{self.names[index]} starts {request}"
        if self.scenario.bounds.atomic:
            return self._whole(world, index, text)
        world, error = self._ended(world, index)
        return Step(world, text, error=error, price=price)

    def _call(self, world: World, move: Move) -> Step:
        index = move.pilot
        flight = world.pilots[index].flight
        assert flight is not None
        node = flight.node
        if node.uuids > len(flight.uuids):
            world = self._with_uuids(world, index, node.uuids)
            flight = world.pilots[index].flight
            assert flight is not None
        call = node.call
        assert call is not None
        text = node.text
        if node.uuids:
            call = bound(call, flight.uuids)
            text = str(call)
        text = f"{self.names[index]}: {text}"
        if call.cached:
            at = self.kinds[index].index(call.kind) if call.kind in self.kinds[index] else -1
            indexes = self.behaviours[index].controller.indexes.get(call.kind, {})
            got = read(world, world.pilots[index], at, flight, call, self.server.resource(call.kind), indexes)
            world = self._answered(world, index, got.key, got.answer, got.met)
            world, error = self._ended(world, index)
            text = f"{text}{got.text}{_STALE if got.stale else ''}"
            return Step(world, text, flight=flight, error=error, price=int(got.stale))
        reply = self.server.reply(world, self.behaviours[index], flight, call)
        after = reply.carried_out(world.state)
        world = self._answered(world, index, reply.key, lambda: reply.answer, reply.met_after(flight.met, after))
        changes: Sequence[Change] = ()
        if reply.writes:
            world, changes = self._committed(world, after, index)
        world, error = self._ended(world, index)
        return Step(world, f"{text}{reply.text}", changes, flight, error)

    def _whole(self, world: World, index: int, text: str) -> Step:
        """A reconcile from its first call to its last."""
        calls: list[tuple[World, Step]] = []
        error = ""
        while (flight := world.pilots[index].flight) is not None:
            if flight.node.done is not None:
                world, error = self._ended(world, index)
            elif self.waits(world.pilots[index]):
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
        price = sum(step.price for _, step in calls)
        return Step(world, f"{text}{did}", changes, None, error, tuple(calls), price)

    def _is_behind(self, world: World, index: int, at: int) -> bool:
        return bool(world.undelivered(world.pilots[index], at, self.resources[index][at]))

    # Answers

    def _answered(self, world: World, index: int, key: Any, answer: Callable[[], bytes], met: tuple[Met, ...]) -> World:
        """The flight after an answer."""
        pilot = world.pilots[index]
        flight = pilot.flight
        assert flight is not None
        node = flight.node.children.get(key)
        if node is None:
            start = (flight.request, flight.memory, self._now(world.state))
            node = self.behaviours[index].next(flight.node, key, answer, start)
        moved = Flight(flight.request, node, flight.memory, met, flight.uuids)
        world = world.with_pilot(index, pilot.but(flight=moved))
        if not self.scenario.reductions.uuids:
            world = self._with_uuids(world, index, node.drawn)
        return world

    def _with_uuids(self, world: World, index: int, count: int) -> World:
        """The flight with at least so many uuids."""
        pilot = world.pilots[index]
        flight = pilot.flight
        assert flight is not None
        fresh = count - len(flight.uuids)
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
        done, memory = flight.node.done, flight.node.done.memory
        if flight.node.uuids:
            world = self._with_uuids(world, index, flight.node.uuids)
            pilot = world.pilots[index]
            flight = pilot.flight
            assert flight is not None
            memory = bind(memory, tuple(met[2] for met in flight.met), flight.uuids)
        waiting = pilot.waiting | {flight.request} if done.again else pilot.waiting
        return world.with_pilot(index, pilot.but(flight=None, waiting=waiting, memory=memory)), done.error

    # Writes and deliveries

    def _committed(self, world: World, after: State, index: int) -> tuple[World, Sequence[Change]]:
        """The world after a write."""
        changes = after.changes_since(world.state.resource_version)
        world = world.but(
            state=after,
            objects=sum_after(world.objects, changes, absolute_digest),
            relative=sum_after(world.relative, changes, relative_digest),
            uuids=self._uuids.stored(world.uuids, changes),
        )
        if index >= 0 and self.scenario.guards.read_your_writes:
            pilot = world.pilots[index]
            own = [(each.resource, each.key, each.resource_version) for each in changes]
            world = world.with_pilot(index, pilot.but(own=(*pilot.own, *own)))
        caught_up = [self._caught_up(world, other, pilot) for other, pilot in enumerate(world.pilots)]
        return world.but(pilots=tuple(caught_up)), changes

    def also(self, step: Step, before: World, variant: World) -> World:
        """The world after a step, if some pilots had done something by themselves before it.

        ``variant`` is the world that the step would have been made in then. What was written is the same.
        """
        pilots = list(step.world.pilots)
        for index, pilot in enumerate(variant.pilots):
            if pilot is not before.pilots[index]:
                pilots[index] = self._caught_up(step.world, index, pilot)
        return step.world.but(pilots=tuple(pilots))

    def _caught_up(self, world: World, index: int, pilot: Pilot) -> Pilot:
        """A pilot after a write, with caches that would be too far behind brought forward."""
        resources, state = self.resources[index], world.state
        positions: list[int] | None = None
        for at, resource in enumerate(resources):
            pending = pilot.undelivered(state, at, resource)
            if len(pending) > self.lag:
                world = world.with_pilot(index, pilot)
                while len(world.undelivered(world.pilots[index], at, resource)) > self.lag:
                    world, _ = self._delivered(world, index, at)
                pilot = world.pilots[index]
                positions = None
            elif not pending and pilot.positions[at] != state.resource_version:
                # A cache that misses nothing is at the front, so that looking back stays short.
                positions = positions or list(pilot.positions)
                positions[at] = state.resource_version
                pilot = pilot.but(positions=tuple(positions))
        if pilot.own:
            own = tuple(
                [met for met in pilot.own if met[0] in resources and met[2] > pilot.positions[resources.index(met[0])]]
            )
            if own != pilot.own:
                pilot = pilot.but(own=own)
        return pilot

    def _delivered(self, world: World, index: int, at: int) -> tuple[World, str]:
        pilot = world.pilots[index]
        resource = self.resources[index][at]
        kind = self.kinds[index][at]
        pending = world.undelivered(pilot, at, resource)
        change = pending[0]
        position = change.resource_version if len(pending) > 1 else world.state.resource_version
        positions = (*pilot.positions[:at], position, *pilot.positions[at + 1 :])
        own = tuple([met for met in pilot.own if met[0] != resource or met[2] > position]) if pilot.own else ()
        moved = pilot.but(positions=positions, own=own)
        requests = self._triggers[index].of(world, moved, kind, change)
        if not requests <= pilot.queue:
            moved = moved.but(queue=pilot.queue | requests)
        text = f"{self.names[index]} sees {change.type} {kind.partition('.')[0].partition('/')[0]} {change.key}"
        return world.with_pilot(index, moved), text

    # Small things

    def waits(self, pilot: Pilot) -> bool:
        """Whether the next call is a cached read that must wait for an own write."""
        if not pilot.own:
            return False
        flight = pilot.flight
        assert flight is not None
        call = flight.node.call
        if call is None or not call.cached:
            return False
        resource = self.server.resource(call.kind).key
        if call.verb == "get":
            return any(met[0] == resource and met[1] == call.key for met in pilot.own)
        return any(met[0] == resource and call.namespace in ("", met[1].namespace) for met in pilot.own)

    def _now(self, state: State) -> str:
        if state.now != self._time[0]:
            self._time = (state.now, rfc3339(state.now))
        return self._time[1]

    def _noted(self, controller: int, call: Call) -> None:
        resource = self.server.resource(call.kind).key
        if not call.cached or resource not in self.resources[controller * self.scenario.bounds.concurrent]:
            self.footprints.note(controller, call, resource)

    def _namespaced(self, kind: str) -> bool:
        return self.server.resource(kind).namespaced


def replay(engine: Engine, choices: Sequence[Move]) -> list[Step]:
    """Make some moves from the start again."""
    world = engine.start()
    steps = []
    for move in choices:
        if move not in engine.moves(world):
            raise BadScenario(f"the move {move} is not possible here: the scenario or its controllers have changed")
        step = engine.make(world, move)
        steps.append(step)
        world = step.world
    return steps
