"""Generated uuids: when a token gets its value, and which values are taken.

A run sees a token for each uuid that it generates. The value is chosen when the run first hands the token on, so it
does not matter which of two runs generated its uuid first. Values are counted for each controller and request; a value
that was stored is never chosen again. Where user code uses parts of uuids, runs see real values from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.key import issued_after
from kontend.explore.model.state.process import InFlight
from kontend.explore.model.state.world import LateWrite, World
from kontend.explore.program.identities import UUIDS, first_uuid, generated_uuid
from kontend.explore.program.symbols import Assumption, holds_token
from kontend.kube.meta.names import Key

#: Real values that are set aside for a run.
_STRIDE: Final = 64


class Uuids:
    """Chooses the values of generated uuids."""

    def __init__(self, layout: Layout, *, by_instance: bool = False) -> None:
        """``by_instance`` gives every instance values of its own, so that they do not depend on other instances."""
        self._layout = layout
        self._by_instance = by_instance
        self._shows_values = Assumption.WHOLE_UUIDS not in layout.assumptions
        self._numbers: dict[str, int] = {}
        self._first = first_uuid(layout.scenario.bounds.identities)

    @property
    def are_independent(self) -> bool:
        """The values of one instance do not depend on those of others. Real values count for all instances."""
        everyone = range(len(self._layout.programs))
        siblings = any(len(self._layout.siblings(index)) > 1 for index in everyone)
        return not siblings or (self._by_instance and not self._shows_values)

    def first_of(self, world: World, index: int, request: Key) -> int:
        """The number from which a run that sees real values counts them; -1 for one that sees tokens."""
        if not self._shows_values:
            return -1
        taken = [in_flight.start.uuids_from + _STRIDE for in_flight in self._reconciles(world, index, request)]
        return max([world.issued.get(self._label(index, request)) or self._first, *taken])

    def assigned(self, world: World, index: int, number: int) -> World:
        """The state in which a run has values for all uuids that it hands on next."""
        instance = world.instances[index]
        in_flight = instance.running[number]
        missing = in_flight.node.uuids - len(in_flight.uuids)
        if missing <= 0:
            return world
        label = self._label(index, in_flight.request)
        taken = {uuid for reconcile in self._reconciles(world, index, in_flight.request) for uuid in reconcile.uuids}
        uuids = list(in_flight.uuids)
        at = world.issued.get(label) or self._first
        while missing:
            uuid = generated_uuid(self._text(index, in_flight.request), at)
            self._numbers[uuid] = at
            at += 1
            if uuid not in taken:
                uuids.append(uuid)
                missing -= 1
        moved = InFlight(in_flight.start, in_flight.node, in_flight.versions, tuple(uuids))
        return world.with_instance(index, instance.replaced(number, moved))

    def _reconciles(self, world: World, index: int, request: Key) -> list[InFlight]:
        """The reconciles of a request by one controller that are under way, or of which a write is late."""
        siblings = [index] if self._by_instance else self._layout.siblings(index)
        running = [in_flight for other in siblings for in_flight in world.instances[other].running]
        late = [late.in_flight for late in world.late if late.instance in siblings]
        return [in_flight for in_flight in (*running, *late) if in_flight.request == request]

    def stored(self, world: World, index: int, number: int, in_flight: InFlight, changes: Sequence[Change]) -> World:
        """The state after some writes of a run: the values that were stored are taken for good."""
        if self._shows_values:
            return self._all_taken(world, index, world.instances[index].running[number])
        written = [
            self._numbers[uuid]
            for uuid in in_flight.uuids
            if any(uuid in change.key.name or (change.new and uuid.encode() in change.new.body) for change in changes)
        ]
        return self._taken(world, index, in_flight.request, max(written, default=-1) + 1)

    def landed(self, world: World, late: LateWrite, changes: Sequence[Change]) -> World:
        """The state after a late write of a run whose instance is gone."""
        if self._shows_values:
            return self._all_taken(world, late.instance, late.in_flight)
        return self.stored(world, late.instance, 0, late.in_flight, changes)

    def remembered(self, world: World, index: int, in_flight: InFlight) -> World:
        """The state after the end of a run: the values in its memory are taken for good."""
        if self._shows_values:
            return self._all_taken(world, index, in_flight)
        memory = in_flight.node.done.memory if in_flight.node.done is not None else b""
        if not in_flight.uuids or not holds_token(memory):
            return world
        return self._taken(world, index, in_flight.request, max(self._numbers[uuid] for uuid in in_flight.uuids) + 1)

    def _all_taken(self, world: World, index: int, in_flight: InFlight) -> World:
        count = in_flight.node.generated
        return self._taken(world, index, in_flight.request, in_flight.start.uuids_from + count) if count else world

    def _taken(self, world: World, index: int, request: Key, count: int) -> World:
        label = self._label(index, request)
        before = world.issued.get(label) or 0
        if count <= before:
            return world
        issued_sum = issued_after(world.issued_sum, label, before, count)
        return world.with_issued(world.issued.insert(label, count), issued_sum)

    def _text(self, index: int, request: Key) -> str:
        instance = f"#{index}" if self._by_instance else ""
        return f"{self._layout.programs[index].controller.name}{instance} {request}"

    def _label(self, index: int, request: Key) -> str:
        return f"{UUIDS}{self._text(index, request)}"
