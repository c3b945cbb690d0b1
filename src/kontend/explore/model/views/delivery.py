"""Delivery of events to views: one by one, several as one by a relist, or forced by the bound on lag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kontend.cluster.state import Change, State, Version
from kontend.explore.model.layout import Layout
from kontend.explore.model.part import Coupled
from kontend.explore.model.state.process import NOT_STARTED, Process
from kontend.explore.model.state.world import World
from kontend.explore.model.views.cached_reads import viewed
from kontend.explore.model.views.triggers import Triggers
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import kind_of_view
from kontend.runtime.controller import Controller

#: Describes a delivery.
Text = Callable[[], str]
#: Instances that were brought forward and are kept.
_MOST_PUSHED: Final = 2_000


class Delivery:
    """Brings the views of processes forward."""

    def __init__(self, layout: Layout, foreign: Sequence[frozenset[Key]] = (), *, shares: bool = True) -> None:
        """``foreign`` are, for each instance, requests that take no part: see :mod:`kontend.explore.model.part`.

        ``shares`` keeps processes that were brought forward, for other states that have them. Where no two states have
        a process in common, keeping any would only cost time.
        """
        self._layout = layout
        self._foreign = foreign
        self._lag = layout.scenario.bounds.lag
        self._triggers = [
            Triggers(program.controller, layout.server.resource, kinds, exact=layout.is_exact)
            for program, kinds in zip(layout.programs, layout.kinds, strict=True)
        ]
        #: For each process, the kinds whose events may enqueue different requests for one object.
        self._discerning = [
            set[str]().union(*(_discerned(layout.programs[index].controller) for index in process.indexes))
            for process in layout.processes
        ]
        #: Processes after a write. Many states share it: others have only taken local steps in between.
        self._pushed: dict[tuple[Process, State, int], tuple[Process, tuple[Text, ...]]] = {}
        self._shares = shares

    def forget(self) -> None:
        """Forget the processes that were brought forward."""
        self._pushed.clear()

    def listed(self, world: World, index: int) -> frozenset[Key]:
        """The requests that the first lists of an instance enqueue: all that its views show."""
        requests = frozenset[Key]().union(*(enqueued for _, _, enqueued in self.listed_objects(world, index)))
        return requests - self._foreign[index] if self._foreign else requests

    def listed_objects(self, world: World, index: int) -> Iterator[tuple[str, Key, frozenset[Key]]]:
        """The objects that the first lists of an instance show: resource, key, and the requests that each enqueues."""
        for at, kind in zip(self._layout.declared[index], self._layout.declared_kinds[index], strict=True):
            resource = self._layout.server.resource(world.state, kind).key
            for key, version in viewed(world, index, at, resource).items():
                yield resource, Key(*key), self._requests(world, index, kind, Key(*key), None, version)

    def delivered(self, world: World, number: int, at: int) -> tuple[World, Text]:
        """The state after the oldest undelivered event of a view of a process, and a function that describes it."""
        pending = self._undelivered(world, number, at)
        change = pending[0]
        position = change.resource_version if len(pending) > 1 else world.state.resource_version
        return self._seen(world, number, at, position, [(change.key, change.old, change.new)])

    def depends_on_order(self, world: World, number: int, further: Sequence[Change] = ()) -> bool:
        """The requests of an undelivered event, or of a further one, depend on what else was delivered.

        A mapping function then looks at other objects than the one that changed.
        """
        return any(
            self._triggers[index].is_mapped and self._depends_on_order(world, index, number, further)
            for index in self._layout.processes[number].indexes
        )

    def _depends_on_order(self, world: World, index: int, number: int, further: Sequence[Change]) -> bool:
        triggers, process = self._triggers[index], self._layout.processes[number]
        return any(
            triggers.without_looking(world, process.kinds[at], change.key, change.old, change.new) is None
            for at in self._layout.declared[index]
            for change in (
                *self._undelivered(world, number, at),
                *(change for change in further if change.resource == process.resources[at]),
            )
        )

    @property
    def has_looked(self) -> bool:
        """Some mapping function has looked at other objects than the one that changed."""
        return any(triggers.has_looked for triggers in self._triggers)

    def can_relist(self, world: World, number: int, at: int) -> bool:
        """A relist enqueues something else than deliveries: several undelivered events are about one object.

        Where a kind is reconciled itself and has no predicate, every event of an object enqueues the same request, so a
        relist makes a difference only for an object that came and went unseen. A mapping function that looks at other
        objects sees all of them as they are after a relist, which may make a difference for events of several.
        """
        pending = self._undelivered(world, number, at)
        if len(pending) < 2:
            return False
        keys = {change.key for change in pending}
        if len(keys) == len(pending):
            return self._looks(world, number, at, pending) and self._relist_differs(world, number, at)
        if kind_of_view(self._layout.processes[number].kinds[at]) in self._discerning[number]:
            return True
        return any(_came_and_went(pending, change.key) for change in pending if change.new is None)

    def _looks(self, world: World, number: int, at: int, pending: Sequence[Change]) -> bool:
        """A mapping function looks at other objects than the one of an event."""
        process = self._layout.processes[number]
        kind = process.kinds[at]
        return any(
            triggers.without_looking(world, kind, change.key, change.old, change.new) is None
            for index in process.indexes
            if (triggers := self._triggers[index]).is_mapped and at in self._layout.declared[index]
            for change in pending
        )

    def _relist_differs(self, world: World, number: int, at: int) -> bool:
        """A relist enqueues something else than all undelivered events one after the other."""
        after, _ = self.relisted(world, number, at)
        while self._undelivered(world, number, at):
            world, _ = self.delivered(world, number, at)
        both = zip(world.processes[number].instances, after.processes[number].instances, strict=True)
        return any(one.queue != other.queue for one, other in both)

    def relisted(self, world: World, number: int, at: int) -> tuple[World, Text]:
        """The state after a relist: all that a view has missed, each object once, from what it had to what is there."""
        pending = self._undelivered(world, number, at)
        events: dict[Key, tuple[Key, Version | None, Version | None]] = {}
        for change in pending:
            old = events[change.key][1] if change.key in events else change.old
            events[change.key] = (change.key, old, change.new)
        changed = [event for event in events.values() if event[1] is not None or event[2] is not None]
        after, text = self._seen(world, number, at, world.state.resource_version, changed)
        process = self._layout.processes[number]
        kind = _short(process.kinds[at])
        return after, lambda: f"{process.name} lists {kind} again: {text()}"

    def pushed(self, world: World) -> tuple[World, tuple[Text, ...]]:
        """The state after a write, with all views brought forward that would be too far behind; and descriptions."""
        pushed = [self._pushed_once(world, number) for number in range(len(world.processes))]
        processes = tuple([process for process, _ in pushed])
        return world.with_processes(processes), tuple([text for _, texts in pushed for text in texts])

    def pushed_process(self, world: World, number: int) -> World:
        """The same for one process."""
        return world.with_process(number, self._pushed_once(world, number)[0])

    def _pushed_once(self, world: World, number: int) -> tuple[Process, tuple[Text, ...]]:
        """A process after a write, made once, with descriptions of what was delivered to it."""
        if not self._shares:
            return self._brought_forward(world, number)
        question = (world.processes[number], world.state, number)
        known = self._pushed.get(question)
        if known is None:
            known = self._brought_forward(world, number)
            if len(self._pushed) >= _MOST_PUSHED:
                self._pushed.clear()
            self._pushed[question] = known
        return known

    def _brought_forward(self, world: World, number: int) -> tuple[Process, tuple[Text, ...]]:
        resources, state, lag = self._layout.processes[number].resources, world.state, self._lag
        # A copy: the process itself keeps what it knows of the cluster before, which other states have.
        process = world.processes[number].changed()
        views: list[int] | None = None
        texts: list[Text] = []
        for at in range(len(process.views)):
            if process.views[at] == NOT_STARTED:
                continue
            pending = process.undelivered(state, at, resources[at])
            if len(pending) > lag:
                if views is not None:
                    process = process.changed(views=tuple(views))
                    views = None
                world = world.with_process(number, process)
                while (oldest := self._most_overdue(world, number, at)) is not None:
                    world, text = self.delivered(world, number, oldest)
                    texts.append(text)
                process = world.processes[number]
            elif not pending and process.views[at] != state.resource_version:
                # A view that misses nothing is at the front, so that looking back stays short.
                views = views or list(process.views)
                views[at] = state.resource_version
        if views is not None:
            process = process.changed(views=tuple(views))
        return self.without_seen(number, process), tuple(texts)

    def _most_overdue(self, world: World, number: int, first: int) -> int | None:
        """The view, from ``first`` on, with the oldest of the events that are overdue; None where none is."""
        overdue = [
            (pending[0].resource_version, at)
            for at in range(first, len(world.processes[number].views))
            if len(pending := self._undelivered(world, number, at)) > self._lag
        ]
        return min(overdue)[1] if overdue else None

    def is_settled(self, world: World) -> bool:
        """No instance has anything to reconcile before a backoff ends or a timer fires, also after all events."""
        return all(self._is_settled(world, number) for number in range(len(world.processes)))

    def _is_settled(self, world: World, number: int) -> bool:
        if any(instance.running or instance.queue for instance in world.processes[number].instances):
            return False
        for at in range(self._layout.processes[number].declared):
            while self._undelivered(world, number, at):
                world, _ = self.delivered(world, number, at)
                if any(instance.queue for instance in world.processes[number].instances):
                    return False
        return True

    def without_seen(self, number: int, process: Process) -> Process:
        """A process without the own writes that its views have seen."""
        if not process.own:
            return process
        kinds = self._layout.processes[number].kinds
        own = tuple(write for write in process.own if write.version > process.view(kinds.index(write.kind)))
        return process if len(own) == len(process.own) else process.changed(own=own)

    def _undelivered(self, world: World, number: int, at: int) -> list[Change]:
        return world.processes[number].undelivered(world.state, at, self._layout.processes[number].resources[at])

    def _seen(
        self,
        world: World,
        number: int,
        at: int,
        position: int,
        events: list[tuple[Key, Version | None, Version | None]],
    ) -> tuple[World, Text]:
        process, layout = world.processes[number], self._layout.processes[number]
        kind = layout.kinds[at]
        views = (*process.views[:at], position, *process.views[at + 1 :])
        moved = self.without_seen(number, process.changed(views=views))
        seen_by = world.with_process(number, moved)
        after = seen_by
        for index, instance in zip(layout.indexes, process.instances, strict=True):
            if at not in self._layout.declared[index]:
                continue  # read, not declared: its events enqueue nothing
            requests: frozenset[Key] = frozenset()
            for key, old, new in events:
                requests |= self._requests(seen_by, index, kind, key, old, new)
            if self._foreign and requests & self._foreign[index]:
                raise Coupled(self._layout.programs[index].number, min(requests & self._foreign[index]))
            if not requests <= instance.queue:
                after = after.with_instance(index, instance.changed(queue=instance.queue | requests))

        def described() -> str:
            seen = " and ".join(f"{_type(old, new)} {_short(kind)} {key}" for key, old, new in events) or "nothing new"
            return f"{layout.name} sees {seen}"

        return after, described

    def _requests(
        self, world: World, index: int, kind: str, key: Key, old: Version | None, new: Version | None
    ) -> frozenset[Key]:
        return self._triggers[index].requests(
            world,
            index,
            kind,
            key,
            old,
            new,
            lambda: self._layout.keys.of_process(world, self._layout.places[index][0]),
        )


def _discerned(controller: Controller) -> set[str]:
    """The kinds whose events may enqueue different requests of a controller for one object."""
    return {
        kind
        for kind in controller.kinds
        if kind != controller.kind
        or kind in controller.owns
        or kind in controller.predicates
        or controller.watches.get(kind) is not None
    }


def _came_and_went(pending: list[Change], key: Key) -> bool:
    own = [change for change in pending if change.key == key]
    return len(own) > 1 and own[0].old is None and own[-1].new is None


def _type(old: Version | None, new: Version | None) -> str:
    return Change("", Key("", ""), old, new, 0, None).type


def _short(kind: str) -> str:
    return kind.partition(".")[0].partition("/")[0]
