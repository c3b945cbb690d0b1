"""The answers to calls: from the cache of an instance, or from the server."""

from __future__ import annotations

from dataclasses import replace

import orjson

from explore.oracle.caches import Caches
from explore.oracle.identifiers import numbered, suffix, used
from explore.oracle.model import Answer, InFlight, Step, World
from explore.oracle.writes import wrong_writes
from kontend.cluster.handle import handle
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.explore import Scenario
from kontend.kube.errors import ApiError, BadRequest, from_status
from kontend.runtime.client.call import METHODS, Call, path_of


class Answers(Caches):
    """Answers the calls of reconciles."""

    scenario: Scenario
    #: The controllers that run in one process, by their numbers.
    homes: list[list[int]]
    #: A clock advances by a second when a reconcile that has asked for the time changes something.
    ticks: bool

    def instances_of(self, index: int) -> int:
        """The number of instances of a controller."""
        bounds = self.scenario.bounds
        home = next(members for members in self.homes if index in members)
        given = [bounds.instances.get(self.controllers[member].name) for member in home]
        return next((count for count in given if count is not None), bounds.concurrent)

    def _read_cache(self, world: World, index: int, call: Call, text: str, begun: int | None) -> tuple[Step, Answer]:
        """Read a cache. What changed after the reconcile had ``begun`` is not missed."""
        instance = world.instances[index]
        try:
            self._resource(world.state, call.kind)
        except ApiError as error:
            return Step(text, world), Answer(0, b"", error)
        positions = dict(instance.positions)
        if call.kind not in positions:  # a cache is kept from the first read on
            positions[call.kind] = world.state.resource_version
            for member in world.members(instance.process):
                following = replace(world.instances[member], positions=tuple(positions.items()))
                world = world.with_instance(member, following)
            instance = world.instances[index]
        pending = self.pending(world.state, call.kind, positions[call.kind])
        stale = any(
            call.namespace in ("", change.key.namespace)
            and call.name in ("", change.key.name)
            and (begun is None or change.resource_version <= begun)
            for change in pending
        )
        try:
            answer = Answer(0, orjson.dumps(self._cache(world.state, instance).answer(call)))
        except ApiError as error:
            answer = Answer(0, b"", error)
        return Step(text, world, perturbs=stale), answer

    def _ask_server(
        self, world: World, number: int, in_flight: InFlight, call: Call, text: str, *, late: bool = False
    ) -> tuple[Step, Answer]:
        controller = self.controllers[number]
        try:
            resource = self._resource(world.state, call.kind)
        except ApiError as error:
            return Step(text, world), Answer(0, b"", error)
        request = ApiRequest(
            METHODS[call.verb],
            path_of(call, resource.plural, namespaced=resource.namespaced),
            {name: (value,) for name, value in call.query if name != "index"},
            call.body,
            content_type=call.content_type,
            user_agent=controller.name,
        )
        state, response = handle(numbered(world.state, world.issued), request)
        if response.code >= 400:
            known = isinstance(response.body, dict)
            refusal = from_status(response.body) if known else BadRequest(str(response.body))
            return Step(text, world), Answer(0, b"", refusal)
        answer = Answer(0, orjson.dumps(response.body))
        if not _changed(world.state, state):
            return Step(text, world), answer
        own = "" if late or self.instances_of(number) > 1 else controller.name
        wrong = wrong_writes(world.state, state, call, resource.key, in_flight, orjson.loads(answer.body), own)
        after = self._committed(world, state)
        if self.ticks and in_flight.asked:
            after = after.advanced(number, in_flight.request, 1)
        return Step(text, after, wrote=True, wrong=tuple(sorted(wrong)), writes=((world.state, state),)), answer

    def _committed(self, world: World, state: State) -> World:
        """The world after the server answered a request in a state that was numbered."""
        count = used(state, world.issued)
        generated = [
            change.new.content()["metadata"]
            for change in state.changes_since(world.state.resource_version)
            if change.new is not None and change.old is None
        ]
        known = [
            text
            for index in range(count)
            if (text := suffix(state, state.serial - index))
            and any(metadata.get("generateName", "") + text == metadata["name"] for metadata in generated)
        ]
        world = replace(world, state=state, issued=world.issued + count, suffixes=(*world.suffixes, *known))
        return self._within_lag(world)


def _changed(before: State, after: State) -> bool:
    return before.resource_version != after.resource_version
