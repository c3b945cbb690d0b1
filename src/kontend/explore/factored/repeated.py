"""Sets of states that repeat an earlier one, but for generations.

A view that misses an event may miss it as long as nothing else of its kind is written. So of two copies of a process,
one may undo again and again what the other writes, and each time the generation of the object grows: an endless row of
sets, which differ in nothing else. A set that repeats one on the way to it is therefore put aside. Its local states are
collected, not followed. At the end it is covered by the earlier set if all of them are among the local states of that
one, up to generations; else it is followed as well, and the next one in the row is put aside instead.

That is right where nobody tells generations apart by more than their distances: see
:mod:`kontend.explore.program.generations` for user code. Each generation in a local state counts as its distance to the
one that the object has now, in events, in objects that the reconcile has read, and in what was observed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from typing import Final

import orjson
import xxhash

from kontend.cluster.state import State, Version
from kontend.explore.factored.local_states import LocalStates
from kontend.explore.model.model import Model
from kontend.explore.model.state.process import InFlight
from kontend.explore.model.state.world import World
from kontend.explore.program.generations import Generations
from kontend.explore.program.masking import relative_body
from kontend.explore.program.tree import Node
from kontend.kube.apply import managed_fields
from kontend.kube.meta.names import Key

#: An object that a reconcile has met: its kind, its key, its uid and its generation then.
_Met = tuple[str, Key, str, int]
_GENERATION: Final = b'"generation"'
#: The end of the names of resources whose objects may ask for generations, and the field that they ask for.
_ADMISSION: Final = ".admissionregistration.k8s.io"
_FIELD: Final = b"eneration"


class RepeatedSets:
    """The sets that are put aside, by their numbers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._generations = Generations(model.programs)
        #: For each set, the one that led to it first, and what it repeats if an earlier one has the same.
        self._origins: list[int] = []
        self._forms: list[Hashable] = []
        #: For each set that is put aside, the one that it repeats.
        self.covers: dict[int, int] = {}
        #: No set is put aside. Where code sees the numbers of versions, or a question of the user may read generations,
        #: sets that differ in these are not alike.
        self._is_over = (
            not model.scenario.reductions.generations or model.layout.is_exact or model.knowledge.reads_generations
        )
        self._local = _LocalForms(model)

    def add(self, origin: int, world: World, authors: Hashable) -> bool:
        """Note the next set, with a state of it; reports whether it is put aside.

        ``origin`` is the set that leads to it, -1 for the first one.
        """
        number = len(self._origins)
        self._is_over = self._is_over or _policies_read_generations(world.state)
        form = (self._shared(world), authors)
        self._origins.append(origin)
        self._forms.append(form)
        while origin >= 0 and not self._is_over:
            if self._forms[origin] == form:
                self.covers[number] = origin
                return True
            origin = self._origins[origin]
        return False

    def _shared(self, world: World) -> tuple[object, ...]:
        """All that the states of a set have in common, up to generations."""
        state, faults = world.state, self._model.mechanics.faults
        recent = [
            (change.resource, change.key, _relative(change.old, current), _relative(change.new, current))
            for change in faults.recent_changes(world)
            for current in (state.find(change.resource, change.key),)
        ]
        return _form_of_cluster(state), world.issued_sum, world.acted, world.counts, world.budget, tuple(recent)

    def uncovered(self, members: Callable[[int], tuple[LocalStates, ...]]) -> list[int]:
        """The sets that have to be followed after all; ``members`` are the local states of a set."""
        if self.covers and not self._is_over and self._generations.matter():
            self._is_over = True
        found = [
            number
            for number, earlier in self.covers.items()
            if self._is_over
            or any(
                not self._local.of(number, at, own) <= self._local.of(earlier, at, others)
                for at, (own, others) in enumerate(zip(members(number), members(earlier), strict=True))
            )
        ]
        for number in found:
            del self.covers[number]
        return found


class _LocalForms:
    """The local states of sets, up to generations."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[tuple[int, int], tuple[int, set[bytes]]] = {}
        self._nodes: dict[bytes, tuple[bytes, list[_Met]]] = {}

    def of(self, number: int, at: int, members: LocalStates) -> set[bytes]:
        """The forms of the local states that a process ``at`` has in a set."""
        count, forms = self._known.get((number, at), (0, set()))
        forms |= {self._form(world, at) for world in members.worlds[count:]}
        self._known[number, at] = (len(members.worlds), forms)
        return forms

    def _form(self, world: World, number: int) -> bytes:
        state, process = world.state, world.processes[number]
        layout, keys = self._model.layout.processes[number], self._model.mechanics.keys
        parts: list[object] = []
        for at, resource in enumerate(layout.resources[: len(process.views)]):
            parts.append((at, process.view(at) < 0))
            for change in process.undelivered(state, at, resource):
                current = state.find(resource, change.key)
                parts.append((change.key, _relative(change.old, current), _relative(change.new, current)))
        parts += [keys.own_write(state, number, process, write) for write in process.own]
        for index, instance in zip(layout.indexes, process.instances, strict=True):
            parts.append((sorted(instance.queue), sorted(instance.delayed), sorted(instance.timers)))
            parts.append((sorted(instance.bugs), instance.memory))
            for in_flight in instance.running:
                versions = [keys.which_version(state, number, process, met) for met in in_flight.versions]
                parts.append((in_flight.start, versions, in_flight.uuids, self._run(state, index, in_flight)))
        return xxhash.xxh3_128_digest(repr(parts).encode())

    def _run(self, state: State, index: int, in_flight: InFlight) -> object:
        """A run so far, with each generation that it has met as the distance to the present one."""
        node = in_flight.node
        if node.id not in self._nodes:
            self._nodes[node.id] = (self._model.programs[index].responses(node), list(_met(node)))
        responses, met = self._nodes[node.id]
        return responses, [self._distance(state, *one) for one in met]

    def _distance(self, state: State, kind: str, key: Key, uid: str, generation: int) -> tuple[bool, int]:
        current = state.find(self._model.layout.server.resource(state, kind).key, key)
        return _distance(generation, uid, current)


def _met(node: Node | None) -> Iterator[_Met]:
    """The objects that a run has met, the latest first."""
    while node is not None and node.parent is not None:
        call = node.parent.calls[node.at]
        if node.response[:1] == b"=" and _GENERATION in node.response:
            document = orjson.loads(node.response[1:])
            items = document.get("items")
            for obj in items if isinstance(items, list) else [document]:
                metadata = obj.get("metadata") or {}
                if isinstance(metadata.get("generation"), int):
                    key = Key(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
                    yield call.kind, key, str(metadata.get("uid") or ""), metadata["generation"]
        node = node.parent


def _relative(version: Version | None, current: Version | None) -> object:
    """A version of an object up to its generation, and the distance of that to the present one."""
    if version is None:
        return None
    return relative_body(version.body), _distance(*_generation_of(version.body), current)


def _distance(generation: int, uid: str, current: Version | None) -> tuple[bool, int]:
    """The distance of a generation to the present one of its object; itself where the object is gone."""
    present, its_uid = _generation_of(current.body) if current is not None else (0, "")
    return (True, present - generation) if current is not None and uid == its_uid else (False, generation)


@functools.lru_cache(maxsize=10_000)
def _generation_of(body: bytes) -> tuple[int, str]:
    metadata = orjson.loads(body).get("metadata") or {}
    generation = metadata.get("generation")
    return generation if isinstance(generation, int) else 0, str(metadata.get("uid") or "")


def _policies_read_generations(state: State) -> bool:
    """A policy of admission names the field: the server itself may do something else then."""
    return any(
        _FIELD in version.body
        for resource in state.kinds
        if resource.endswith(_ADMISSION)
        for _, version in state.objects(resource).items()
    )


def _form_of_cluster(state: State) -> bytes:
    """All objects of a cluster up to generations."""
    objects = [
        (resource, key, relative_body(version.body), managed_fields.encode_json(version.managed))
        for resource in state.kinds
        for key, version in state.objects(resource).items()
    ]
    return xxhash.xxh3_128_digest(repr(sorted(objects)).encode())
