"""Parts that are alike: they differ only in the names and uids of their objects, so that one stands for the others.

Nothing is taken on trust but that the explorer itself does not look at names. What user code and the server do is
compared: every run of the part that was explored is made again with the names of the other part, and every request to
the server is carried out again, in the cluster that the renaming makes of the one in which it was first. If all of them
do the same, every run of one part is, renamed, a run of the other, and so are its final states and its violations.

Predicates, mapping functions and indexes of the user's are not compared. A part with any of them is explored itself,
and so is one whose names come in another order, since lists are sorted by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from kontend.cluster.state import Change, State, Version, uid_of
from kontend.explore.actions import Action
from kontend.explore.model.model import Model
from kontend.explore.model.outcome import Outcome
from kontend.explore.model.part import Part
from kontend.explore.model.server import Computed, acted, serial_of
from kontend.explore.model.state.key import is_current
from kontend.explore.model.state.process import NOT_STARTED, InFlight, Instance
from kontend.explore.model.state.world import World
from kontend.explore.parts.footprint import Footprint, Listing
from kontend.explore.parts.partition import Candidate
from kontend.explore.parts.renaming import NotAlike, Renaming
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.identities import USED
from kontend.kube.meta.names import Key
from kontend.runtime.controller import Controller
from kontend.runtime.predicates import AnnotationChanged, GenerationChanged, LabelChanged, ResourceVersionChanged

#: Predicates that do not look at names.
_BLIND_TO_NAMES = (AnnotationChanged, GenerationChanged, LabelChanged, ResourceVersionChanged)
#: An object of a cluster: its resource, and its key.
Address = tuple[str, Key]


@dataclass(frozen=True, slots=True)
class Searched:
    """A part whose states were all visited: what it was to be, how it started, and what it touched."""

    candidate: Candidate
    part: Part
    footprint: Footprint


def can_be_alike(model: Model) -> bool:
    """No function of the user's is called that cannot be compared."""
    return model.scenario.reductions.alike and all(
        _is_blind_to_names(program.controller) for program in model.layout.programs
    )


def renaming_to(model: Model, searched: Searched, candidate: Candidate, part: Part) -> Renaming:
    """The renaming that makes a part of one that was searched. Raises :class:`NotAlike`."""
    return _Comparison(model, searched, candidate, part).renaming()


def renamed_footprint(renaming: Renaming, footprint: Footprint, part: Part) -> Footprint:
    """The footprint of a part that is like another one, whose footprint is known; ``part`` gets its own."""
    part.requests |= {(number, renaming.key(request)) for number, request in footprint.part.requests}
    for (resource, key), versions in footprint.part.changed.items():
        renamed = [renaming.version(version) for version in versions.values()]
        part.changed[resource, renaming.key(key)] = {version.digest: version for version in renamed}
    listings = frozenset(map(renaming.listing, footprint.listings))
    return Footprint(part, renaming.named(footprint), listings, renaming.reads(footprint.reads))


class _Comparison:
    """Compares a part with one that was searched."""

    def __init__(self, model: Model, searched: Searched, candidate: Candidate, part: Part) -> None:
        self._model = model
        self._searched = searched
        self._one, self._other = searched.part.start, part.start
        self._actions = self._paired_actions(candidate)
        self._renaming = Renaming(self._pairs(candidate))
        #: Renamed versions of objects by the id of the original, which is kept with them.
        self._versions: dict[int, tuple[Version, Version]] = {}

    def renaming(self) -> Renaming:
        """The renaming between the two parts."""
        self._compare_users()
        self._compare_starts()
        record = self._model.mechanics.server.record
        if record is None:
            raise NotAlike
        for computed in record:
            if self._is_of_part(computed):
                self._compare_request(computed)
        requests: dict[int, set[Key]] = {}
        for number, request in self._searched.part.requests:
            requests.setdefault(number, set()).add(request)
        programs = {program.number: program for program in self._model.layout.programs}
        for number in sorted(requests):
            for run in programs[number].runs_of(requests[number]):
                if not programs[number].does(self._renaming.run(run)):
                    raise NotAlike
        return self._renaming

    # Names

    def _paired_actions(self, candidate: Candidate) -> dict[int, tuple[Action, Action]]:
        """The actions of both parts, by the id of the first one's."""
        pairs: dict[int, tuple[Action, Action]] = {}
        spans = zip(self._model.layout.users, self._searched.candidate.actions, candidate.actions, strict=True)
        for user, (begin, end), (other_begin, other_end) in spans:
            if end - begin != other_end - other_begin:
                raise NotAlike
            actions = zip(user.actions[begin:end], user.actions[other_begin:other_end], strict=True)
            pairs.update((id(one), (one, other)) for one, other in actions)
        return pairs

    def _pairs(self, candidate: Candidate) -> Iterator[tuple[str, str]]:
        """The names of the requests and of the objects of actions, of both parts."""
        requests, others = sorted(self._searched.candidate.requests), sorted(candidate.requests)
        if [number for number, _ in requests] != [number for number, _ in others]:
            raise NotAlike
        keys = [(one, other) for (_, one), (_, other) in zip(requests, others, strict=True)]
        keys += [(one.key, other.key) for one, other in self._actions.values()]
        for one, other in keys:
            if one.namespace != other.namespace:
                raise NotAlike
            yield one.name, other.name

    # The start

    def _compare_users(self) -> None:
        for one, other in self._actions.values():
            same = (self._renaming.text(one.text), one.kind, self._renaming.key(one.key), one.deletes)
            if same != (other.text, other.kind, other.key, other.deletes):
                raise NotAlike

    def _compare_starts(self) -> None:
        one, other = self._one, self._other
        if one.budget != other.budget or one.late or other.late:
            raise NotAlike
        for index, (waiting, expected) in enumerate(zip(one.instances, other.instances, strict=True)):
            if {
                self._renaming.key(request) for request in waiting.queue
            } != expected.queue or waiting.memory != expected.memory:
                raise NotAlike
            if not self._is_at_rest(one, index, waiting) or not self._is_at_rest(other, index, expected):
                raise NotAlike
        for mine, its in zip(one.processes, other.processes, strict=True):
            if mine.own or its.own:
                raise NotAlike
            if [view == NOT_STARTED for view in mine.views] != [view == NOT_STARTED for view in its.views]:
                raise NotAlike
        listings = self._searched.footprint.listings
        shown = self._addresses(one, listings)
        named = self._searched.footprint.named | self._searched.part.changed.keys()
        for resource, key in sorted(shown | named):
            self._compare_objects(resource, key)
        others = self._addresses(other, frozenset(map(self._renaming.listing, listings)))
        if {(resource, self._renaming.key(key)) for resource, key in shown} != others:
            raise NotAlike
        self._compare_order(shown | named)

    def _is_at_rest(self, world: World, index: int, instance: Instance) -> bool:
        """Nothing is known to an instance but its queue."""
        if instance.running or instance.delayed or instance.timers or instance.bugs:
            return False
        return not any(world.undelivered(index, at, key) for at, key in enumerate(self._model.layout.resources[index]))

    def _addresses(self, world: World, listings: frozenset[Listing]) -> set[Address]:
        """The objects at the start that enqueue a request of the part, or are shown by one of its lists."""
        own = [instance.queue for instance in world.instances]
        addresses = {
            (resource, key)
            for index in range(len(world.instances))
            for resource, key, requests in self._model.mechanics.delivery.listed_objects(world, index)
            if requests & own[index]
        }
        for listing in listings:
            for key, version in world.state.objects(listing.resource).items():
                if listing.shows(listing.resource, Key(*key), {b"": version}):
                    addresses.add((listing.resource, Key(*key)))
        return addresses

    def _compare_objects(self, resource: str, key: Key) -> None:
        """Compare an object with its counterpart; their uids are exchanged from now on."""
        mine = self._one.state.find(resource, key)
        its = self._other.state.find(resource, self._renaming.key(key))
        if mine is None or its is None:
            if mine is not its:
                raise NotAlike
            return
        uids = [orjson.loads(version.body)["metadata"].get("uid") or "" for version in (mine, its)]
        if uids[0] != uids[1]:
            self._renaming.exchange_uids(*uids)
        self._compare_versions(mine, its)

    def _compare_versions(self, one: Version, other: Version) -> None:
        renamed = self._renamed(one)
        if not renamed.same_content(other.body, other.managed) or one.filled != other.filled:
            raise NotAlike

    def _compare_order(self, addresses: set[Address]) -> None:
        """Lists are sorted: the objects that there can be have the same order in both."""
        ordered = sorted(addresses)
        if sorted(ordered, key=lambda address: (address[0], self._renaming.key(address[1]))) != ordered:
            raise NotAlike

    # Requests to the server

    def _is_of_part(self, computed: Computed) -> bool:
        if computed.action is not None:
            return id(computed.action) in self._actions
        program, in_flight = computed.program, computed.in_flight
        if program is None or in_flight is None:
            return False
        return (program.number, in_flight.request) in self._searched.part.requests

    def _compare_request(self, computed: Computed) -> None:
        """Carry out a request with the names of the other part, and compare the outcomes."""
        if self._one.issued.get(computed.label) != self._other.issued.get(self._renaming.text(computed.label)):
            raise NotAlike
        serial = serial_of(self._renaming.text(computed.label), computed.issued) if computed.label else 0
        state = self._renamed_state(computed.state)
        if computed.user is not None and computed.action is not None:
            outcome = acted(state, computed.user, self._actions[id(computed.action)][1], serial)
        elif computed.program is not None and computed.in_flight is not None and computed.call is not None:
            in_flight = self._renamed_in_flight(computed.in_flight, computed.state, state)
            call = self._renaming.call(computed.call)
            outcome = self._model.mechanics.server.computed(state, computed.program, in_flight, call, serial)
        if computed.outcome.issued and computed.label:
            first = serial_of(computed.label, computed.issued)
            for number in range(1, USED):
                self._renaming.exchange_uids(uid_of(first + number), uid_of(serial + number))
        self._compare_outcomes(computed.outcome, outcome)

    def _renamed_in_flight(self, in_flight: InFlight, state: State, renamed: State) -> InFlight:
        """A run that has met the same versions: those that are current, and others that no object has any more."""
        if in_flight.uuids:
            raise NotAlike
        versions = []
        for number, met in enumerate(in_flight.versions):
            version = renamed.find(met[0], self._renaming.key(met[1])) if is_current(state, met) else None
            versions.append(self._renaming.met(met, version.resource_version if version is not None else number + 1))
        return InFlight(in_flight.start, in_flight.node, tuple(versions), ())

    def _renamed_state(self, state: State) -> State:
        """A cluster in the middle of the searched part as one in the middle of the other."""
        renamed = self._other.state
        for resource, key in self._searched.part.changed:
            version, first = state.find(resource, key), self._one.state.find(resource, key)
            if version is first:
                continue
            to = self._renaming.key(key)
            if version is not None:
                new = self._renamed(version)
                renamed, _ = renamed.write(resource, to, new.body, new.managed, filled=new.filled)
            elif renamed.find(resource, to) is not None:
                renamed = renamed.remove(resource, to)
        return renamed

    def _renamed(self, version: Version) -> Version:
        known = self._versions.get(id(version))
        if known is None:
            known = self._versions[id(version)] = (version, self._renaming.version(version))
        return known[1]

    def _compare_outcomes(self, one: Outcome, other: Outcome) -> None:
        rename = self._renaming
        own = one.own and (rename.key(one.own[0]), rename.text(one.own[1]))
        if one.registry is not None or other.registry is not None or own != other.own:
            raise NotAlike
        met = tuple((resource, rename.key(key)) for resource, key in one.met)
        if (rename.data(one.response), met, one.issued) != (other.response, other.met, other.issued):
            raise NotAlike
        if rename.answer(one.answer) != other.answer or len(one.writes) != len(other.writes):
            raise NotAlike
        for mine, its in zip(one.writes, other.writes, strict=True):
            self._compare_changes(mine, its)

    def _compare_changes(self, one: Change, other: Change) -> None:
        if (one.resource, self._renaming.key(one.key)) != (other.resource, other.key):
            raise NotAlike
        if one.new is None or other.new is None:
            if one.new is not other.new:
                raise NotAlike
            return
        self._compare_versions(one.new, other.new)


def _is_blind_to_names(controller: Controller) -> bool:
    """A controller has no predicates, mapping functions or indexes that could look at names."""
    return (
        not isinstance(controller, ForeignController)
        and not controller.watches
        and not controller.indexes
        and all(isinstance(predicate, _BLIND_TO_NAMES) for predicate in controller.predicates.values())
    )
