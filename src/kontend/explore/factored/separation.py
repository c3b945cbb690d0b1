"""Controllers of one process, each followed as if it had views of its own.

Controllers of one process share their views, so the local states of such a process are the combinations of theirs.
There are far fewer if each controller is followed by itself. Its views may then differ from those of the others, which
is more than can happen: everything that runs do with shared views, they also do with views that happen to be equal. So
what holds there holds with shared views, too. If it does not hold, the process is followed as a whole.

Some things that controllers of one process share have to be kept:

- They crash together: a crash of one takes the local states of the others to restarts with lists of the same age.
- A view of a kind that is read and not declared starts with the first read, by whichever of them. A controller that
  reads such a kind, or one that only others declare, has a view of it from the start, which may be as old as any. Its
  mapping functions see all views of the process once one of them looks.
- A reconcile that enqueues a request of another controller needs both: such processes are followed as a whole.
- A run must be able to settle with shared views: see :mod:`kontend.explore.factored.settling`.
"""

from __future__ import annotations

from itertools import islice

from kontend.cluster.startup.seed import UnknownKind
from kontend.explore.factored.local_states import Unprovable
from kontend.explore.factored.wanted import ReadNow
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.views.triggers import has_mappers


class Inseparable(Unprovable):
    """Controllers of one process cannot be followed apart."""


class Separation:
    """The model in which each controller has views of its own, and what it must take into account."""

    def __init__(self, whole: Model) -> None:
        """``whole`` is the model with shared views."""
        self._whole = whole
        self._programs = list({program.number: program for program in whole.programs}.values())
        self._seen = {program.number: 0 for program in self._programs}
        #: By the numbers of programs, the kinds that are read and not declared.
        self._read: dict[int, frozenset[str]] = {}
        self._looked = False
        self.model = whole.separated(self._read)
        self._renewed()

    def check(self) -> None:
        """Raise :class:`ReadNow` if a controller has read a kind that it has no view of from the start."""
        if self._renewed():
            raise ReadNow

    def _renewed(self) -> bool:
        """Make the model anew if a controller needs further views; reports whether one does."""
        has_grown = any(len(program.ids) != self._seen[program.number] for program in self._programs)
        needs = has_grown and self._reads_more()
        needs = (self._has_looked and not self._looked and self._looks()) or needs
        if needs:
            self.model = self._whole.separated(self._read)
        return needs

    @property
    def _has_looked(self) -> bool:
        return self.model.mechanics.delivery.has_looked or self._whole.mechanics.delivery.has_looked

    def _reads_more(self) -> bool:
        """Note what runs have read since the last time; reports whether a controller needs further views."""
        needs = False
        for program in self._programs:
            number, own = program.number, program.controller.kinds
            count, self._seen[number] = self._seen[number], len(program.ids)
            known = self._read.get(number, frozenset())
            read = set(known)
            for node in islice(program.ids.values(), count, None):
                read |= {call.kind for call in node.calls if call.cached and not call.subresource}
                if any(controller != program.controller.name for controller, _ in node.enqueued):
                    raise Inseparable
            read -= set(own)
            if read != known:
                self._read[number] = frozenset(read)
                self._start_views(number, read)
                needs = True
        return needs

    def _start_views(self, number: int, kinds: set[str]) -> None:
        """Have the kinds among those of the process, as after a read with shared views."""
        layout = self._whole.layout
        index = next(index for index, program in enumerate(layout.programs) if program.number == number)
        for kind in sorted(kinds - set(layout.kinds[index])):
            try:
                resource = layout.server.resource(layout.start, kind).key
            except UnknownKind:
                raise Inseparable from None  # it may be served later
            layout.kinds[index].append(kind)
            layout.resources[index].append(resource)

    def _looks(self) -> bool:
        """Give mapping functions all views of their processes; reports whether some have had fewer."""
        self._looked = True
        before = dict(self._read)
        for kinds, program in zip(self._whole.layout.kinds, self._whole.programs, strict=True):
            if has_mappers(program.controller):
                known = self._read.get(program.number, frozenset())
                self._read[program.number] = known | (frozenset(kinds) - set(program.controller.kinds))
        return self._read != before


def all_delivered(model: Model, world: World, number: int) -> World:
    """The state in which a process has got all its events, the oldest first, as all of one manager can get them."""
    delivery, layout = model.mechanics.delivery, model.layout.processes[number]
    while True:
        process = world.processes[number]
        pending = [
            (events[0].resource_version, at)
            for at in range(len(process.views))
            if (events := process.undelivered(world.state, at, layout.resources[at]))
        ]
        if not pending:
            return world
        world, _ = delivery.delivered(world, number, min(pending)[1])
