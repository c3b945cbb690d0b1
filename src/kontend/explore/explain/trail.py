"""A schedule followed step by step, with all that an explanation needs to know about each of its calls.

Reads are kept with the position up to which the reader had seen the kind: a change after that position was unknown to
the reader, also where the object did not exist yet or was not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from kontend.cluster.startup.seed import UnknownKind
from kontend.cluster.state import Change, Objects, Version
from kontend.explore.actions import Action
from kontend.explore.model.model import Model
from kontend.explore.model.state.process import NOT_STARTED, InFlight, MetVersion
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.model.views.cached_reads import viewed
from kontend.explore.problems import BadScenario
from kontend.explore.program.symbols import bind_call, uuid_token
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import SourceLocation

#: Actions in which an in-flight reconcile gets the response to its call.
_RESPONDS: Final = ("call", "start")


#: The start of every uuid that stands for one that is not known before the call.
_UUID: Final = uuid_token(0).rpartition("-")[0]


def target_of(call: Call) -> Key:
    """The key of the object of a call: the body of a create has the name; empty where the server makes one up.

    >>> target_of(Call("create", "Secret/v1", "default", body=b'{"metadata": {"name": "s"}}'))
    Key(namespace='default', name='s')
    """
    if call.verb != "create" or call.name:
        return call.key
    metadata = (orjson.loads(call.body).get("metadata") if call.body else None) or {}
    name = metadata.get("name") or ""
    return Key(call.namespace, "" if _UUID in name else name)


@dataclass(frozen=True, slots=True)
class Seen:
    """A read: what it returned, and how much the reader had seen of the kind."""

    step: int
    call: Call
    resource: str
    #: Changes of the resource up to this resourceVersion were visible.
    position: int
    #: The versions that were returned; None for an object that was not found.
    versions: Mapping[Key, Version | None]
    #: The reconcile before the read, and which of its calls it was.
    in_flight: InFlight
    at: int


@dataclass(slots=True)
class Reconcile:
    """One reconcile: its steps, its reads, and the steps in which it met each version."""

    instance: int
    request: Key
    steps: list[int] = field(default_factory=list)
    reads: list[Seen] = field(default_factory=list)
    met: dict[MetVersion, int] = field(default_factory=dict)
    #: It wrote, failed, changed its memory or was perturbed.
    matters: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One call of a step, or a step without a call; an atomic reconcile has several."""

    before: World
    transition: Transition
    call: Call | None
    line: SourceLocation | None


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken."""

    number: int
    step: Step
    before: World
    transition: Transition
    parts: tuple[Part, ...]
    reconcile: Reconcile | None

    @property
    def after(self) -> World:
        """The state after the step."""
        return self.transition.world


def parts_of(before: World, transition: Transition) -> tuple[Part, ...]:
    """The calls of a step; one part for a step without a call."""
    return tuple(_part(world, part) for world, part in transition.calls or ((before, transition),))


def _part(before: World, transition: Transition) -> Part:
    in_flight = transition.in_flight
    if in_flight is None:
        return Part(before, transition, None, None)
    call = in_flight.node.calls[transition.at]
    if in_flight.uuids:
        call = bind_call(call, in_flight.uuids)
    return Part(before, transition, call, in_flight.node.lines[transition.at])


class Trail:
    """The steps of a schedule."""

    def __init__(self, model: Model, schedule: Sequence[Step]) -> None:
        """Follow a schedule. Raises :class:`BadScenario` when a step is not enabled."""
        self.model = model
        self.scenario, self.layout = model.scenario, model.layout
        self.names, self.programs = model.names, model.programs
        self.initial = model.initial()
        self.steps: list[Taken] = []
        self._running: dict[tuple[int, Key], Reconcile] = {}
        #: Reconciles of processes that were replaced, with a write on its way.
        self._late: dict[tuple[int, Key], list[Reconcile]] = {}
        #: Retries that wait for the reconcile that they lead to.
        self._retries: dict[tuple[int, Key], list[int]] = {}
        for step in schedule:
            self.take(step)

    @property
    def world(self) -> World:
        """The state after the last step."""
        return self.steps[-1].after if self.steps else self.initial

    def actor(self, taken: Taken) -> str:
        """The name of the instance or of the user that took a step."""
        return self.actor_of(taken.step)

    def actor_of(self, step: Step) -> str:
        """The name of the instance or of the user that takes a step."""
        name = self.layout.actor(step)
        return name or (self.layout.users[step.at].name if step.action == "act" else "server")

    def action(self, taken: Taken) -> Action:
        """The action of a user that was taken."""
        return self.layout.users[taken.step.at].actions[taken.before.acted[taken.step.at]]

    def resource_of(self, part: Part) -> str:
        """The resource that serves the kind of a call."""
        assert part.call is not None
        return self.model.resource(part.before, part.call.kind)

    def take(self, step: Step) -> Taken:
        """Take one more step."""
        before, number = self.world, len(self.steps) + 1
        if step not in self.model.steps(before):
            raise BadScenario(
                f"step {number}, {tuple(step)}, is not enabled: the scenario or its controllers have changed"
            )
        transition = self.model.next(before, step)
        parts = parts_of(before, transition)
        reconcile = self._reconcile(step, number)
        taken = Taken(number, step, before, transition, parts, reconcile)
        self.steps.append(taken)
        if reconcile is not None:
            self._note(taken, reconcile)
        return taken

    def changes(self) -> Iterator[tuple[Taken, Part, Change]]:
        """All writes, oldest first."""
        for taken in self.steps:
            for part in taken.parts:
                for change in part.transition.changes:
                    yield taken, part, change

    def would_see(self, seen: Seen, world: World, index: int) -> dict[Key, Version | None]:
        """The versions that the same read would return in a state, with views that are up to date."""
        model, process, state = self.model, world.process(index), world.state
        current = tuple(NOT_STARTED if view == NOT_STARTED else state.resource_version for view in process.views)
        fresh = world.with_process(world.places[index][0], process.changed(views=current, own=()))
        response = model.mechanics.reconciles.response(fresh, index, seen.in_flight, seen.at)
        return _versions(seen.call, response, state.objects(seen.resource))

    # Building

    def _reconcile(self, step: Step, number: int) -> Reconcile | None:
        if not isinstance(step.subject, Key):
            return None
        at = (step.instance, step.subject)
        if step.action == "start":
            self._running[at] = Reconcile(*at, steps=self._retries.pop(at, []))
        elif step.action in ("retry", "timer"):
            self._retries.setdefault(at, []).append(number)
            return None
        if step.action == "land":
            # The write of a process that was replaced since: its successor may reconcile the same request.
            late = self._late.get(at)
            reconcile = late.pop(0) if late else None
        else:
            reconcile = self._running.get(at)
        if reconcile is not None:
            reconcile.steps.append(number)
            if step.action == "depose":
                self._late.setdefault(at, []).append(self._running.pop(at))
        return reconcile

    def _note(self, taken: Taken, reconcile: Reconcile) -> None:
        step, after = taken.step, taken.after
        for part in taken.parts:
            if part.call is not None and not part.call.writes and step.action in _RESPONDS:
                seen = self._seen(taken, part, part.call)
                if seen is not None:
                    reconcile.reads.append(seen)
        running = after.instances[step.instance].running if step.instance < len(after.instances) else ()
        mine = [in_flight for in_flight in running if in_flight.request == reconcile.request]
        in_flights: list[InFlight] = [part.transition.in_flight for part in taken.parts if part.transition.in_flight]
        for in_flight in (*in_flights, *mine):
            for met in in_flight.versions:
                reconcile.met.setdefault(met, taken.number)
        transition = taken.transition
        remembered = taken.before.instances[step.instance].memory != after.instances[step.instance].memory
        if transition.changes or transition.failure is not None or transition.cost or remembered:
            reconcile.matters = True

    def _seen(self, taken: Taken, part: Part, call: Call) -> Seen | None:
        """The read of a call."""
        model, world, index = self.model, part.before, taken.step.instance
        try:
            resource = model.resource(world, call.kind)
        except UnknownKind:
            return None
        objects: Objects = world.state.objects(resource)
        position = world.state.resource_version
        if call.cached and not call.subresource and call.view in self.layout.kinds[index]:
            at = self.layout.kinds[index].index(call.view)
            view = world.process(index).view(at)
            undelivered = world.undelivered(index, at, resource)
            if view != NOT_STARTED and undelivered:
                objects = viewed(world, index, at, resource)
                position = undelivered[0].resource_version - 1
        in_flight = part.transition.in_flight
        assert in_flight is not None
        response = model.mechanics.reconciles.response(world, index, in_flight, part.transition.at)
        versions = _versions(call, response, objects)
        return Seen(taken.number, call, resource, position, versions, in_flight, part.transition.at)


def _versions(call: Call, response: bytes, objects: Objects) -> dict[Key, Version | None]:
    """The versions that a response shows."""
    if response[:1] == b"!":
        return {call.key: None} if call.verb == "get" else {}
    if call.verb == "get":
        return {call.key: objects.get(call.key)}
    document: dict[str, Any] = orjson.loads(response[1:])
    keys = [
        Key(item["metadata"].get("namespace") or "", item["metadata"].get("name") or "")
        for item in document.get("items") or ()
    ]
    return {key: objects.get(key) for key in keys}
