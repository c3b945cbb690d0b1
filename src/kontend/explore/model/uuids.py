"""Generated uuids: when a token gets its value, and which values are taken.

A run sees a token for each uuid that it generates. The value is chosen when the run first hands the token on, so it
does not matter which of two runs generated its uuid first. Values are counted for each controller and request; a value
that was stored is never chosen again. Where user code uses parts of uuids, runs see real values from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.key import issued_after
from kontend.explore.model.layout import Layout
from kontend.explore.model.world import InFlight, World
from kontend.explore.program.identities import UUIDS, generated_uuid
from kontend.explore.program.symbols import Assumption
from kontend.kube.meta.names import Key

#: How many real values are set aside for a run.
_STRIDE: Final = 64


class Uuids:
    """Chooses the values of generated uuids."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._shows_values = Assumption.WHOLE_UUIDS not in layout.assumptions
        self._numbers: dict[str, int] = {}

    def first_of(self, world: World, index: int, request: Key) -> int:
        """Where a run that sees real values counts them from; -1 for one that sees tokens."""
        if not self._shows_values:
            return -1
        taken = [
            flight.start.uuids_from + _STRIDE
            for other in self._layout.siblings(index)
            for flight in world.instances[other].running
            if flight.request == request
        ]
        return max([world.issued.get(self._label(index, request)) or 0, *taken])

    def assigned(self, world: World, index: int, number: int) -> World:
        """The state in which a run has values for all uuids that it hands on next."""
        instance = world.instances[index]
        flight = instance.running[number]
        missing = flight.node.uuids - len(flight.uuids)
        if missing <= 0:
            return world
        label = self._label(index, flight.request)
        taken = {
            uuid
            for other in self._layout.siblings(index)
            for each in world.instances[other].running
            if each.request == flight.request
            for uuid in each.uuids
        }
        uuids = list(flight.uuids)
        at = world.issued.get(label) or 0
        while missing:
            uuid = generated_uuid(self._text(index, flight.request), at)
            self._numbers[uuid] = at
            at += 1
            if uuid not in taken:
                uuids.append(uuid)
                missing -= 1
        moved = InFlight(flight.start, flight.node, flight.versions, tuple(uuids))
        return world.with_instance(index, instance.replaced(number, moved))

    def stored(self, world: World, index: int, number: int, flight: InFlight, changes: Sequence[Change]) -> World:
        """The state after some writes of a run: the values that were stored are taken for good."""
        if self._shows_values:
            return self._all_taken(world, index, world.instances[index].running[number])
        written = [
            self._numbers[uuid]
            for uuid in flight.uuids
            if any(uuid in change.key.name or (change.new and uuid.encode() in change.new.body) for change in changes)
        ]
        return self._taken(world, index, flight.request, max(written, default=-1) + 1)

    def remembered(self, world: World, index: int, flight: InFlight) -> World:
        """The state after the end of a run: the values in its memory are taken for good."""
        if self._shows_values:
            return self._all_taken(world, index, flight)
        memory = flight.node.done.memory if flight.node.done is not None else b""
        if not flight.uuids or b"7a7a7a7a" not in memory:
            return world
        return self._taken(world, index, flight.request, max(self._numbers[uuid] for uuid in flight.uuids) + 1)

    def _all_taken(self, world: World, index: int, flight: InFlight) -> World:
        count = flight.node.generated
        return self._taken(world, index, flight.request, flight.start.uuids_from + count) if count else world

    def _taken(self, world: World, index: int, request: Key, count: int) -> World:
        label = self._label(index, request)
        before = world.issued.get(label) or 0
        if count <= before:
            return world
        issued_sum = issued_after(world.issued_sum, label, before, count)
        return World(
            world.state,
            world.instances,
            world.acted,
            world.objects,
            world.masked,
            world.issued.insert(label, count),
            issued_sum,
        )

    def _text(self, index: int, request: Key) -> str:
        return f"{self._layout.programs[index].controller.name} {request}"

    def _label(self, index: int, request: Key) -> str:
        return f"{UUIDS}{self._text(index, request)}"
