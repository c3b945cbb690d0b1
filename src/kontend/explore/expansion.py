"""The leaps from a world: several moves at once, where nobody could tell a stop in between.

Others see nothing of a reconcile but its writes. Delivering an event to a cache, starting a reconcile and reading the
cache can be put off until just before the reconcile's next request to the server, past everything that others do, and
nothing comes out differently: so they are made together with it, in every combination, and worlds in which somebody has
stopped half way are not visited.

There is one exception. A write that pushes a cache beyond the bound of lag delivers an event to it, and to put off a
start or a read past that would change what it sees. So before such a write everyone whose cache it pushes may have come
half way. The sequence of writes is never touched, which is why every property that holds without these reductions holds
with them, and the other way round.

What a pilot can do without the server is worked out once (``solo.py``).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from kontend.explore.engine import Engine
from kontend.explore.footprints import Footprints, reads_of
from kontend.explore.moves import Move, Step
from kontend.explore.scenario import BadScenario
from kontend.explore.solo import Solo
from kontend.explore.world import Pilot, World

#: A reconcile that has read its cache in so many ways without asking the server for anything never will.
_READS: Final = 10_000


class Leap:
    """Some moves that are made as one."""

    __slots__ = ("error", "moves", "price", "world", "writes")

    def __init__(
        self,
        world: World,
        moves: tuple[Move, ...] = (),
        price: int = 0,
        writes: tuple[Written, ...] = (),
        error: str = "",
    ) -> None:
        self.world = world
        self.moves = moves
        #: How much they disturb.
        self.price = price
        self.writes = writes
        #: How a reconcile failed, or why the user was refused.
        self.error = error

    def then(self, move: Move, step: Step) -> Leap:
        """This leap with one more move."""
        moves = (*self.moves, move)
        writes = self.writes
        if step.calls:
            writes = (*writes, *((len(moves), before, part) for before, part in step.calls if part.changes))
        elif step.changes:
            writes = (*writes, (len(moves), self.world, step))
        return Leap(step.world, moves, self.price + step.price, writes, step.error or self.error)


#: A write: the number of moves up to and with it, the world before it, and what it did.
Written = tuple[int, World, Step]


class Expansion:
    """Finds the leaps from a world."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        reductions, bounds = engine.scenario.reductions, engine.scenario.bounds
        #: For each pilot, whether its events must be delivered in every order: mapping functions can tell.
        self._mapped = [bool(behaviour.controller.watches) for behaviour in engine.behaviours]
        # A whole reconcile pushes caches in the middle, where mapping functions could tell what was delivered before.
        self._deliveries = reductions.deliveries and not (bounds.atomic and any(self._mapped))
        self._atomic = bounds.atomic
        self._reads = self._deliveries and reductions.reads and not bounds.atomic
        #: Whether what a pilot does without the server is worked out once. Uuids drawn early depend on others.
        self._shared = reductions.uuids and reductions.sleep
        self._known_solos: dict[tuple[int, bytes, int], list[Solo]] = {}
        self._actions = engine.scenario.actions
        # With several instances of each controller, whatever one does another can do, too.
        self._persistent = reductions.persistent and self._deliveries and bounds.concurrent == 1
        self._known = Footprints()
        #: The kinds that somebody was believed not to touch, and those whose reads were believed to be known.
        self.relied: set[str] = set()
        self._watched = {each for resources in engine.resources for each in resources}

    def leaps(self, world: World, *, first: bool = False) -> list[Leap]:
        """All leaps from a world, in a fixed order.

        ``first`` says that the world belongs to the undisturbed runs, of which none is left out: which of two orders
        disturbs less is not what persistent sets preserve.
        """
        here = Leap(world)
        if not self._deliveries:
            return [here.then(move, self.engine.make(world, move)) for move in self.engine.moves(world)]
        if self._persistent and not first:
            for index in range(len(world.pilots)):
                if self._is_alone(world, index):
                    leaps = self._leaps_of(here, index)
                    if leaps:
                        return leaps
        leaps = [leap for index in range(len(world.pilots)) for leap in self._leaps_of(here, index)]
        if world.acted < len(self._actions):
            leaps += self._global(here, Move("act"))
        return leaps

    def _leaps_of(self, here: Leap, index: int) -> list[Leap]:
        """What one pilot can do next."""
        pilot = here.world.pilots[index]
        if pilot.flight is not None and self._asks(pilot):
            return self._global(here, Move("call", index))
        if self._atomic:
            return list(self._observations(here, index))
        return [self._joined(here, index, solo) for solo in self._solos(here.world, index) if not solo.is_half]

    # Persistent sets

    def learn(self, footprints: Footprints) -> bool:
        """Go by what is known now; returns whether something was relied on that was wrong."""
        return bool(self._known.merge(footprints) & self.relied)

    def _is_alone(self, world: World, index: int) -> bool:
        """Whether what a pilot does next is independent of all that others can do before it, and nobody sees it.

        Its moves are made first then, and those of the others afterwards: no other order leads elsewhere. A pilot that
        could go on like this for ever is never alone, so that nobody is forgotten: neither one that retries, nor one
        that writes what it watches.
        """
        pilot = world.pilots[index]
        number = self.engine.behaviours[index].number
        known = self._known
        if pilot.flight is not None and self._asks(pilot):
            call = pilot.flight.node.call
            if call is None:
                return False
            resource = self.engine.server.resource(call.kind).key
            if call.writes and (
                resource in self._watched or known.is_seen(resource) or known.is_read_by_others(number, resource)
            ):
                return False
            touched = {resource}
        elif pilot.waiting or self._atomic:
            return False
        else:
            touched = {*self.engine.resources[index], *known.reads.get(number, ())}
            self.relied.add(reads_of(number))
        actions = {self.engine.server.resource(action.kind).key for action in self._actions[world.acted :]}
        if touched & actions or any(known.is_written_by_others(number, each) for each in touched):
            return False
        self.relied |= touched
        return True

    # What only its own pilot can tell

    def _solos(self, world: World, index: int) -> list[Solo]:
        """What a pilot can do without the server."""
        pilot = world.pilots[index]
        if pilot.flight is None and not (pilot.queue or pilot.waiting or self._is_behind(world, index)):
            return []
        resources = self.engine.resources[index]
        question = (index, pilot.key(world.state, resources), world.objects)
        found = self._known_solos.get(question)
        if found is None:
            # What starting costs depends on the others.
            price = int(pilot.flight is None and self._others_fly(world, index))
            found = [
                Solo(
                    world,
                    leap.world,
                    index,
                    resources,
                    moves=leap.moves,
                    error=leap.error,
                    stale=leap.price - price,
                    is_half=self._is_half_way(leap.world, index),
                )
                for leap in self._reached(Leap(world), index)
            ]
            if self._shared and not any(solo.uuids for solo in found):
                self._known_solos[question] = found
        return found

    def _joined(self, here: Leap, index: int, solo: Solo) -> Leap:
        """A leap with what a pilot does without the server."""
        state, pilot = here.world.state, here.world.pilots[index]
        price = here.price + solo.stale + int(solo.starts and self._others_fly(here.world, index))
        world = here.world.with_pilot(index, solo.again(state, pilot, self.engine.resources[index]))
        return Leap(world, here.moves + solo.moves, price, here.writes, solo.error or here.error)

    def _others_fly(self, world: World, index: int) -> bool:
        return any(pilot.flight is not None and other != index for other, pilot in enumerate(world.pilots))

    def _reached(self, here: Leap, index: int) -> Iterator[Leap]:
        """Wherever a pilot can get without asking the server, also half way; the cheapest way to each place."""
        heap: list[tuple[int, int, int, Leap]] = []
        count = 0
        for leap in self._observations(here, index):
            count += 1
            heapq.heappush(heap, (leap.price, len(leap.moves), count, leap))
        seen: set[tuple[object, ...]] = set()
        while heap:
            leap = heapq.heappop(heap)[-1]
            # Nothing but the pilot has changed, so it tells whether this is new.
            signature = _signature(leap.world.pilots[index])
            if signature in seen:
                continue
            seen.add(signature)
            if len(seen) > _READS:
                raise BadScenario(
                    f"{self.engine.names[index]}: a reconcile read its cache in {_READS:,} ways without asking the "
                    "server for anything; does it wait for something in a loop?"
                )
            yield leap
            if self._is_half_way(leap.world, index):
                for further in self._observations(leap, index):
                    count += 1
                    heapq.heappush(heap, (further.price, len(further.moves), count, further))

    def _is_half_way(self, world: World, index: int) -> bool:
        pilot = world.pilots[index]
        return self._reads and pilot.flight is not None and not self._asks(pilot)

    def _asks(self, pilot: Pilot) -> bool:
        """Whether the next call of a reconcile goes to the server."""
        assert pilot.flight is not None
        call = pilot.flight.node.call
        return call is None or not call.cached

    def _observations(self, here: Leap, index: int) -> Iterator[Leap]:
        """One start or one cached read, after any deliveries that it can tell."""
        engine = self.engine
        flight = here.world.pilots[index].flight
        if flight is not None:
            assert flight.node.call is not None
            kind = flight.node.call.kind
            every = self._mapped[index]
            kinds = [at for at, other in enumerate(engine.kinds[index]) if every or other == kind]
            for leap in self._deliveries_to(here, index, kinds):
                if not engine.waits(leap.world.pilots[index]):
                    move = Move("call", index)
                    yield leap.then(move, engine.make(leap.world, move))
            return
        for leap in self._deliveries_to(here, index, list(range(len(engine.kinds[index])))):
            pilot = leap.world.pilots[index]
            for request in sorted(pilot.queue):
                move = Move("start", index, request)
                yield leap.then(move, engine.make(leap.world, move))
            for request in sorted(pilot.waiting):
                retry, move = Move("retry", index, request), Move("start", index, request)
                due = leap.then(retry, engine.make(leap.world, retry))
                yield due.then(move, engine.make(due.world, move))

    def _deliveries_to(self, here: Leap, index: int, kinds: list[int]) -> Iterator[Leap]:
        """Nothing delivered, or some events of these kinds: each set once, or each order if that can be told."""
        yield here
        resources = self.engine.resources[index]
        found = [here]
        seen: set[tuple[object, ...]] = set()
        for leap in found:
            pilot = leap.world.pilots[index]
            for at in kinds:
                if leap.world.undelivered(pilot, at, resources[at]):
                    move = Move("deliver", index, at)
                    further = leap.then(move, self.engine.make(leap.world, move))
                    after = further.world.pilots[index]
                    if (after.positions, after.queue) not in seen:
                        seen.add((after.positions, after.queue))
                        found.append(further)
                        yield further

    def _is_behind(self, world: World, index: int) -> bool:
        pilot = world.pilots[index]
        return any(pilot.undelivered(world.state, at, each) for at, each in enumerate(self.engine.resources[index]))

    # What others can tell

    def _global(self, here: Leap, move: Move) -> list[Leap]:
        """A request to the server; before it, those whose caches it pushes may have been at work unseen."""
        step = self.engine.make(here.world, move)
        leaps = [here.then(move, step)]
        if step.changes:
            before = [here]
            for index in range(len(here.world.pilots)):
                if self._is_pushed(here.world, step, index):
                    before += [half for leap in before for half in self._unseen(leap, index, move)]
            leaps += [self._also(here, leap, move, step) for leap in before[1:]]
        return leaps

    def _also(self, here: Leap, leap: Leap, move: Move, step: Step) -> Leap:
        """A step that was made here, made after a leap."""
        if any(each.pilot == move.pilot for each in leap.moves):
            return leap.then(move, self.engine.make(leap.world, move))
        # The leap is of pilots that the step does not touch.
        world = self.engine.also(step, here.world, leap.world)
        # A user who acts while somebody is under way disturbs. What is wrong with the write was seen without the leap.
        price = leap.price + (1 if move.what == "act" else step.price)
        return Leap(world, (*leap.moves, move), price, (), step.error or leap.error)

    def _unseen(self, here: Leap, index: int, move: Move) -> Iterator[Leap]:
        """What a pilot can have done so that a push makes a difference, and does not stop anywhere else."""
        if self._mapped[index]:
            deliveries = self._deliveries_to(here, index, list(range(len(self.engine.kinds[index]))))
            yield from (leap for leap in deliveries if leap is not here)
        pilot = here.world.pilots[index]
        if not self._reads or index == move.pilot or (pilot.flight is not None and self._asks(pilot)):
            return
        for solo in self._solos(here.world, index):
            if solo.is_half:
                yield self._joined(here, index, solo)

    def _is_pushed(self, world: World, step: Step, index: int) -> bool:
        """Whether what was written makes a cache fall behind further than it may, so that it is delivered events."""
        pilot = world.pilots[index]
        for at, resource in enumerate(self.engine.resources[index]):
            new = sum([change.resource == resource for change in step.changes])
            if new and len(pilot.undelivered(world.state, at, resource)) + new > self.engine.lag:
                return True
        return False


def _signature(pilot: Pilot) -> tuple[object, ...]:
    """What tells apart where a pilot can get to in one state."""
    flight = pilot.flight
    if flight is None:
        return pilot.positions, pilot.queue, pilot.waiting, pilot.memory
    return pilot.positions, pilot.queue, pilot.waiting, flight.node.id, flight.met, flight.uuids
