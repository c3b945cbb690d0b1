"""Delivery of events to views: one by one, several as one by a relist, or forced by the bound on lag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Final

from kontend.cluster.state import Change, State, Version
from kontend.explore.model.layout import Layout
from kontend.explore.model.part import Coupled
from kontend.explore.model.state.world import NOT_STARTED, Instance, World
from kontend.explore.model.views.cached_reads import viewed
from kontend.explore.model.views.triggers import Triggers
from kontend.kube.meta.names import Key

#: Describes a delivery.
Text = Callable[[], str]
#: Instances that were brought forward and are kept.
_MOST_PUSHED: Final = 2_000


class Delivery:
    """Brings the views of instances forward."""

    def __init__(self, layout: Layout, foreign: Sequence[frozenset[Key]] = ()) -> None:
        """``foreign`` are, for each instance, requests that take no part: see :mod:`kontend.explore.model.part`."""
        self._layout = layout
        self._foreign = foreign
        self._lag = layout.scenario.bounds.lag
        self._triggers = [
            Triggers(program.controller, layout.server.resource, kinds, exact=layout.is_exact)
            for program, kinds in zip(layout.programs, layout.kinds, strict=True)
        ]
        #: For each instance, the kinds whose events may enqueue different requests for one object.
        self._discerning = [
            {
                kind
                for kind in program.controller.kinds
                if kind != program.controller.kind
                or kind in program.controller.owns
                or kind in program.controller.predicates
                or program.controller.watches.get(kind) is not None
            }
            for program in layout.programs
        ]
        #: Instances after a write. Many states share it: others have only taken local steps in between.
        self._pushed: dict[tuple[Instance, State, int], tuple[Instance, tuple[Text, ...]]] = {}
        self._shares = True

    def unshared(self) -> Delivery:
        """The same where no two states have an instance in common, so that keeping any would only cost time."""
        delivery = copy(self)
        delivery._shares = False
        return delivery

    def forget(self) -> None:
        """Forget the instances that were brought forward."""
        self._pushed.clear()

    def listed(self, world: World, index: int) -> frozenset[Key]:
        """The requests that the first lists of an instance enqueue: all that its views show."""
        requests = frozenset[Key]().union(*(enqueued for _, _, enqueued in self.listed_objects(world, index)))
        return requests - self._foreign[index] if self._foreign else requests

    def listed_objects(self, world: World, index: int) -> Iterator[tuple[str, Key, frozenset[Key]]]:
        """The objects that the first lists of an instance show: resource, key, and the requests that each enqueues."""
        for at, kind in enumerate(self._layout.declared_kinds[index]):
            resource = self._layout.server.resource(world.state, kind).key
            for key, version in viewed(world, index, at, resource).items():
                yield resource, Key(*key), self._requests(world, index, kind, Key(*key), None, version)

    def delivered(self, world: World, index: int, at: int) -> tuple[World, Text]:
        """The state after the oldest undelivered event of a view, and a function that describes it."""
        pending = world.undelivered(index, at, self._layout.resources[index][at])
        change = pending[0]
        position = change.resource_version if len(pending) > 1 else world.state.resource_version
        return self._seen(world, index, at, position, [(change.key, change.old, change.new)])

    def depends_on_order(self, world: World, index: int, further: Sequence[Change] = ()) -> bool:
        """The requests of an undelivered event, or of a further one, depend on what else was delivered.

        A mapping function then looks at other objects than the one that changed.
        """
        triggers = self._triggers[index]
        if not triggers.is_mapped:
            return False
        kinds, resources = self._layout.kinds[index], self._layout.resources[index]
        return any(
            triggers.without_looking(world, kinds[at], change.key, change.old, change.new) is None
            for at in range(self._layout.declared(index))
            for change in (
                *world.undelivered(index, at, resources[at]),
                *(change for change in further if change.resource == resources[at]),
            )
        )

    @property
    def has_looked(self) -> bool:
        """Some mapping function has looked at other objects than the one that changed."""
        return any(triggers.has_looked for triggers in self._triggers)

    def can_relist(self, world: World, index: int, at: int) -> bool:
        """A relist enqueues something else than deliveries: several undelivered events are about one object.

        Where a kind is reconciled itself and has no predicate, every event of an object enqueues the same request, so a
        relist makes a difference only for an object that came and went unseen. A mapping function that looks at other
        objects sees all of them as they are after a relist, which may make a difference for events of several.
        """
        pending = world.undelivered(index, at, self._layout.resources[index][at])
        if len(pending) < 2:
            return False
        keys = {change.key for change in pending}
        if len(keys) == len(pending):
            return self._looks(world, index, at, pending) and self._relist_differs(world, index, at)
        if self._layout.kinds[index][at] in self._discerning[index]:
            return True
        return any(_came_and_went(pending, change.key) for change in pending if change.new is None)

    def _looks(self, world: World, index: int, at: int, pending: Sequence[Change]) -> bool:
        """A mapping function looks at other objects than the one of an event."""
        triggers = self._triggers[index]
        if not triggers.is_mapped or at >= self._layout.declared(index):
            return False
        kind = self._layout.kinds[index][at]
        return any(
            triggers.without_looking(world, kind, change.key, change.old, change.new) is None for change in pending
        )

    def _relist_differs(self, world: World, index: int, at: int) -> bool:
        """A relist enqueues something else than all undelivered events one after the other."""
        after, _ = self.relisted(world, index, at)
        while world.undelivered(index, at, self._layout.resources[index][at]):
            world, _ = self.delivered(world, index, at)
        return world.instances[index].queue != after.instances[index].queue

    def relisted(self, world: World, index: int, at: int) -> tuple[World, Text]:
        """The state after a relist: all that a view has missed, each object once, from what it had to what is there."""
        pending = world.undelivered(index, at, self._layout.resources[index][at])
        events: dict[Key, tuple[Key, Version | None, Version | None]] = {}
        for change in pending:
            old = events[change.key][1] if change.key in events else change.old
            events[change.key] = (change.key, old, change.new)
        changed = [event for event in events.values() if event[1] is not None or event[2] is not None]
        after, text = self._seen(world, index, at, world.state.resource_version, changed)
        kind = _short(self._layout.kinds[index][at])
        return after, lambda: f"{self._layout.names[index]} lists {kind} again: {text()}"

    def pushed(self, world: World) -> tuple[World, tuple[Text, ...]]:
        """The state after a write, with all views brought forward that would be too far behind; and descriptions."""
        pushed = [self._pushed_once(world, index) for index in range(len(world.instances))]
        instances = tuple([instance for instance, _ in pushed])
        return world.with_instances(instances), tuple([text for _, texts in pushed for text in texts])

    def pushed_instance(self, world: World, index: int) -> World:
        """The same for one instance."""
        return world.with_instance(index, self._pushed_once(world, index)[0])

    def _pushed_once(self, world: World, index: int) -> tuple[Instance, tuple[Text, ...]]:
        """An instance after a write, made once, with descriptions of what was delivered to it."""
        if not self._shares:
            return self._brought_forward(world, index)
        question = (world.instances[index], world.state, index)
        known = self._pushed.get(question)
        if known is None:
            known = self._brought_forward(world, index)
            if len(self._pushed) >= _MOST_PUSHED:
                self._pushed.clear()
            self._pushed[question] = known
        return known

    def _brought_forward(self, world: World, index: int) -> tuple[Instance, tuple[Text, ...]]:
        resources, state, lag = self._layout.resources[index], world.state, self._lag
        # A copy: the instance itself keeps what it knows of the cluster before, which other states have.
        instance = world.instances[index].changed()
        views: list[int] | None = None
        texts: list[Text] = []
        for at in range(len(instance.views)):
            if instance.views[at] == NOT_STARTED:
                continue
            pending = instance.undelivered(state, at, resources[at])
            if len(pending) > lag:
                if views is not None:
                    instance = instance.changed(views=tuple(views))
                    views = None
                world = world.with_instance(index, instance)
                while (oldest := self._most_overdue(world, index, at)) is not None:
                    world, text = self.delivered(world, index, oldest)
                    texts.append(text)
                instance = world.instances[index]
            elif not pending and instance.views[at] != state.resource_version:
                # A view that misses nothing is at the front, so that looking back stays short.
                views = views or list(instance.views)
                views[at] = state.resource_version
        if views is not None:
            instance = instance.changed(views=tuple(views))
        return self.without_seen(index, instance), tuple(texts)

    def _most_overdue(self, world: World, index: int, first: int) -> int | None:
        """The view, from ``first`` on, with the oldest of the events that are overdue; None where none is."""
        overdue = [
            (pending[0].resource_version, at)
            for at in range(first, len(world.instances[index].views))
            if len(pending := world.undelivered(index, at, self._layout.resources[index][at])) > self._lag
        ]
        return min(overdue)[1] if overdue else None

    def is_settled(self, world: World) -> bool:
        """No instance has anything to reconcile before a backoff ends or a timer fires, also after all events."""
        return all(self._is_settled(world, index) for index in range(len(world.instances)))

    def _is_settled(self, world: World, index: int) -> bool:
        instance = world.instances[index]
        if instance.running or instance.queue:
            return False
        resources = self._layout.resources[index]
        for at in range(self._layout.declared(index)):
            while world.undelivered(index, at, resources[at]):
                world, _ = self.delivered(world, index, at)
                if world.instances[index].queue:
                    return False
        return True

    def without_seen(self, index: int, instance: Instance) -> Instance:
        """An instance without the own writes that its views have seen."""
        if not instance.own:
            return instance
        kinds = self._layout.kinds[index]
        own = tuple(write for write in instance.own if write.version > instance.view(kinds.index(write.kind)))
        return instance if len(own) == len(instance.own) else instance.changed(own=own)

    def _seen(
        self,
        world: World,
        index: int,
        at: int,
        position: int,
        events: list[tuple[Key, Version | None, Version | None]],
    ) -> tuple[World, Text]:
        instance, kind = world.instances[index], self._layout.kinds[index][at]
        views = (*instance.views[:at], position, *instance.views[at + 1 :])
        moved = self.without_seen(index, instance.changed(views=views))
        after = world.with_instance(index, moved)
        requests: frozenset[Key] = frozenset()
        for key, old, new in events:
            requests |= self._requests(after, index, kind, key, old, new)
        if self._foreign and requests & self._foreign[index]:
            raise Coupled(self._layout.programs[index].number, min(requests & self._foreign[index]))
        if not requests <= moved.queue:
            after = world.with_instance(index, moved.changed(queue=moved.queue | requests))

        def described() -> str:
            seen = " and ".join(f"{_type(old, new)} {_short(kind)} {key}" for key, old, new in events) or "nothing new"
            return f"{self._layout.names[index]} sees {seen}"

        return after, described

    def _requests(
        self, world: World, index: int, kind: str, key: Key, old: Version | None, new: Version | None
    ) -> frozenset[Key]:
        if kind not in self._layout.declared_kinds[index]:
            return frozenset()  # read, not declared: its events enqueue nothing
        return self._triggers[index].requests(
            world, index, kind, key, old, new, lambda: self._layout.keys.of_instance(world, index)
        )


def _came_and_went(pending: list[Change], key: Key) -> bool:
    own = [change for change in pending if change.key == key]
    return len(own) > 1 and own[0].old is None and own[-1].new is None


def _type(old: Version | None, new: Version | None) -> str:
    return Change("", Key("", ""), old, new, 0, None).type


def _short(kind: str) -> str:
    return kind.partition(".")[0].partition("/")[0]
