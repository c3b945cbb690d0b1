"""What a pilot can do without the server, in a form that does not depend on resourceVersions.

It depends on the pilot and on the objects alone. So it is worked out once, and carried out again wherever a pilot that
is in the same situation has the same objects before it, whatever others have done meanwhile: of two orders of moves
that do not touch each other, the second one is looked up.
"""

from __future__ import annotations

from kontend.cluster.state import State
from kontend.explore.moves import Move
from kontend.explore.world import Flight, Met, Pilot, World, which_version


class Solo:
    """Some moves of one pilot: deliveries, starts, cached reads."""

    __slots__ = (
        "_delivered",
        "_key",
        "_met",
        "_pilot",
        "error",
        "is_half",
        "moves",
        "stale",
        "starts",
        "uuids",
    )

    def __init__(
        self,
        before: World,
        after: World,
        index: int,
        resources: tuple[str, ...],
        *,
        moves: tuple[Move, ...],
        error: str,
        stale: int,
        is_half: bool,
    ) -> None:
        """What led from one world to another; nothing else than the pilot ``index`` may have changed."""
        self.moves = moves
        self.error = error
        #: How many of the reads were stale.
        self.stale = stale
        #: Whether it stops before the reconcile asks the server for something or ends.
        self.is_half = is_half
        state, old, new = before.state, before.pilots[index], after.pilots[index]
        self.starts = old.flight is None
        self._pilot = new
        self._key = new.key(state, resources)
        #: For each kind, how many events were delivered, and whether nothing is left to come.
        self._delivered = tuple(
            len(old.undelivered(state, at, each)) - len(new.undelivered(state, at, each))
            for at, each in enumerate(resources)
        )
        # The versions that were read, as what they were to the pilot before: current, or those before an event.
        known = old.flight.met if old.flight is not None else ()
        met = new.flight.met[len(known) :] if new.flight is not None else ()
        self._met = tuple((each[0], each[1], which_version(state, old, resources, each)) for each in met)
        #: Whether uuids were chosen, which depends on others.
        flight = new.flight
        self.uuids = flight is not None and flight.uuids != (old.flight.uuids if old.flight is not None else ())

    def again(self, state: State, pilot: Pilot, resources: tuple[str, ...]) -> Pilot:
        """The pilot after the same moves, in a state where the situation is the same."""
        positions, own = pilot.positions, pilot.own
        if any(self._delivered):
            moved = list(positions)
            for at, count in enumerate(self._delivered):
                if count:
                    pending = pilot.undelivered(state, at, resources[at])
                    moved[at] = pending[count - 1].resource_version if count < len(pending) else state.resource_version
                    own = tuple([met for met in own if met[0] != resources[at] or met[2] > moved[at]]) if own else ()
            positions = tuple(moved)
        like = self._pilot
        flight = like.flight
        if flight is not None:
            before = pilot.flight.met if pilot.flight is not None else ()
            met = (*before, *(self._version(state, pilot, resources, each) for each in self._met))
            flight = Flight(flight.request, flight.node, flight.memory, met, flight.uuids)
        after = Pilot(positions, like.queue, like.waiting, flight, like.memory, own)
        after.know(state, self._key)
        return after

    @staticmethod
    def _version(state: State, pilot: Pilot, resources: tuple[str, ...], met: Met) -> Met:
        resource, key, which = met
        if which >= 0:
            old = pilot.undelivered(state, resources.index(resource), resource)[which].old
        else:
            old = state.find(resource, key)
        assert old is not None  # it was read
        return resource, key, old.resource_version
