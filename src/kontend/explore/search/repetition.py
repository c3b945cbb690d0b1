"""Repetition: runs that never end because a counter grows.

A fight over a spec raises the generation with every write, and an object that is created and deleted again and again
has another uid each time, so no state ever comes back. A new state is therefore compared with the states on the way to
it, without generations and made-up names. When it repeats for the fourth time, it is taken for the last one that it
repeats, and not followed further, if the unperturbed run from it goes on for some hundred writes: code may read what
grows, and stop. Nor may a reconcile in either state wait for a time: clocks grow, too. Everything up to then is
explored exactly.
"""

from __future__ import annotations

from array import array
from itertools import islice
from pathlib import Path
from typing import Final

import xxhash

from kontend.explore.model.model import Model
from kontend.explore.model.settling.restless import goes_on
from kontend.explore.model.state.canonical import canonical_form, generated_names
from kontend.explore.model.state.world import World
from kontend.explore.program.masking import relative_body
from kontend.explore.search.graph import Graph
from kontend.explore.search.store.columns import Column, spilled
from kontend.explore.search.ways import Walker, ways_to
from kontend.kube.apply import managed_fields
from kontend.kube.meta.names import Key

#: A state that repeats this many earlier ones is not followed further.
_REPEATS: Final = 3
#: The first bytes for bits of values that have occurred.
_FEWEST: Final = 1 << 13
#: Forms that are kept, and states that may need one; others are made again.
_MOST_FORMS: Final = 100_000
_MOST_WORLDS: Final = 5_000


class Repetition:
    """Finds repeated states of one search."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self._model = model
        self._graph = graph
        #: For each state but the first, what it is without counters and made-up names.
        self._similar: Column = array("Q", [0])
        #: Bits of those values that have occurred; there may be others with the same bit.
        self._occurred = bytearray(_FEWEST)
        self._forms: dict[int, bytes] = {}
        self._worlds: dict[int, World] = {}
        #: The forms of states from which the unperturbed run goes on.
        self._endless: set[bytes] = set()
        self._walker = Walker(model)

    def of(self, number: int, similar: int, world: World | None) -> int | None:
        """The latest state on the way that a new state repeats, if it repeats enough of them; else None.

        ``world`` is the state itself, where it is in this process.
        """
        known = self._similar
        assert len(known) == number
        known.append(similar)
        if not self._has_occurred(similar):
            return None
        candidates = [ancestor for ancestor in self._graph.ancestors(number) if ancestor and known[ancestor] == similar]
        if candidates and world is not None:
            if len(self._worlds) >= _MOST_WORLDS:
                del self._worlds[next(iter(self._worlds))]
            self._worlds[number] = world
        if len(candidates) < _REPEATS:
            return None
        form = self._form(number)
        same = [candidate for candidate in candidates if self._form(candidate) == form]
        if len(same) < _REPEATS or self._waits(number, same[0]) or not self._goes_on(number, form):
            return None
        return same[0]

    def _waits(self, number: int, earlier: int) -> bool:
        """Some reconcile would do something else at a later time, in one of two states whose clocks may differ."""
        if not any(program.asks_time for program in self._model.programs):
            return False
        timers = self._model.mechanics.timers
        world = self._worlds[number] = self._world(number)  # it is asked about again
        return timers.waits(world) or timers.waits(self._world(earlier))

    def _goes_on(self, number: int, form: bytes) -> bool:
        """The run from a state does not come to an end. That is found out once for all with its form."""
        if form not in self._endless and goes_on(self._model, self._world(number)):
            self._endless.add(form)
        return form in self._endless

    def spill(self, directory: Path) -> None:
        """Move what grows with the number of states to a file in a directory. Raises ``NoRoom``."""
        self._similar = spilled(self._similar, directory)
        self._forms, self._worlds = {}, {}
        self._walker.forget()

    def _has_occurred(self, similar: int) -> bool:
        """A value may have occurred before; note that it has now.

        One in four values or fewer that have not share their bit with another one. That costs a look at the ancestors.
        """
        bits = self._occurred
        if len(self._similar) > 2 * len(bits):
            self._occurred = bits = bytearray(2 * len(bits))
            mask = 8 * len(bits) - 1
            for value in islice(self._similar, 1, len(self._similar) - 1):
                bits[(value & mask) >> 3] |= 1 << (value & 7)
        place = (similar & (8 * len(bits) - 1)) >> 3
        bit = 1 << (similar & 7)
        if bits[place] & bit:
            return True
        bits[place] |= bit
        return False

    def _form(self, number: int) -> bytes:
        if len(self._forms) > _MOST_FORMS:
            self._forms = {}
        form = self._forms.get(number)
        if form is None:
            form = self._forms[number] = form_of_state(self._model, self._world(number))
        return form

    def _world(self, number: int) -> World:
        world = self._worlds.pop(number, None)
        if world is None:
            # Where shards have the states, a search that made each of them from its start took as much processor time
            # for that as one process takes for everything.
            _, world = next(self._walker.followed(ways_to(self._graph, [number])))
        return world


def form_of_state(model: Model, world: World) -> bytes:
    """A state up to generations and made-up names."""
    state, keys = world.state, model.mechanics.keys
    lines = [
        f"{resource} {Key(*key)} ".encode() + relative_body(version.body) + managed_fields.encode_json(version.managed)
        for resource in state.kinds
        for key, version in state.objects(resource).items()
    ]
    for number, (process, layout) in enumerate(zip(world.processes, model.layout.processes, strict=True)):
        for at, resource in enumerate(layout.resources[: len(process.views)]):
            lines += [
                f"{number} {at} {place} {change.key} ".encode()
                + (relative_body(change.old.body) if change.old else b"")
                + (relative_body(change.new.body) if change.new else b"")
                for place, change in enumerate(process.undelivered(state, at, resource))
            ]
        lines += [f"{number} {write.kind} {write.key} {write.uid}".encode() for write in process.own]
        for index, instance in zip(layout.indexes, process.instances, strict=True):
            text = f"{index} {sorted(instance.queue)} {sorted(instance.delayed)} {sorted(instance.timers)}"
            lines.append(f"{text} {sorted(instance.bugs)}".encode() + instance.memory)
            for in_flight in instance.running:
                versions = [keys.which_version(state, number, process, met) for met in in_flight.versions]
                text = f"{index} {in_flight.request} {versions} {in_flight.uuids} "
                lines.append(text.encode() + in_flight.start.memory + model.programs[index].responses(in_flight.node))
    for late in world.late:
        lines.append(
            f"late {late.instance} {late.at} ".encode() + model.programs[late.instance].responses(late.in_flight.node)
        )
    return xxhash.xxh3_128_digest(canonical_form(lines, generated_names(state)))
