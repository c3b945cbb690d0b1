"""States as text in which identifiers are renamed: equal texts are states with the same future."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from explore.oracle.identifiers import mark_suffixes, masked, renamed
from explore.oracle.model import InFlight, Instance, World
from explore.oracle.transitions import Model
from kontend.cluster.state import Change, State, Version
from kontend.kube.apply.managed_fields import encode_json
from kontend.kube.meta.names import Key


class Canonical:
    """The canonical form of the states of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._texts: dict[int, tuple[Version, str]] = {}
        #: Objects that never change need not be written out.
        self._first = {
            id(version): f"first {version.resource_version}"
            for objects in model.initial.state.kinds.values()
            for version in objects.values()
        }

    def digest(self, world: World) -> bytes:
        """128 bits for a state."""
        return hashlib.blake2b(self.text(world).encode(), digest_size=16).digest()

    def text(self, world: World) -> str:
        """A state as text."""
        parts = [f"acted {world.acted} {world.faults}"]
        if world.faults.crashes:
            for index in (home[0] for home in self._model.homes):
                parts += [self._change(change) for change in self._model.recent(world.state, index)]
        objects = [
            f"{resource} {key} {self._version(version)}"
            for resource, versions in world.state.kinds.items()
            for key, version in versions.items()
        ]
        parts += self._sorted(objects, world)
        parts += self._sorted([f"clock {clock}" for clock in world.clocks], world)
        for late in world.late:
            parts += [f"late {late.controller} {late.call}", *self._in_flight(world.state, {}, late.in_flight)]
        for instance in world.instances:
            parts += self._instance(world, instance)
        return renamed(mark_suffixes("\n".join(parts), world.suffixes))

    def _sorted(self, lines: list[str], world: World) -> list[str]:
        if world.suffixes:
            lines = [mark_suffixes(line, world.suffixes) for line in lines]
        return sorted(lines, key=lambda line: (masked(line), line))

    def _version(self, version: Version | None) -> str:
        if version is None:
            return "-"
        first = self._first.get(id(version))
        if first is not None:
            return first
        known = self._texts.get(id(version))
        if known is None:
            managed = encode_json(version.managed).decode() if version.managed else ""
            text = f"{version.resource_version} {version.filled!r} {version.body.decode()} {managed}"
            known = self._texts[id(version)] = (version, text)
        return known[1]

    def _change(self, change: Change) -> str:
        return f"{change.key} {change.resource_version} {self._version(change.old)} {self._version(change.new)}"

    def _instance(self, world: World, instance: Instance) -> Iterator[str]:
        yield f"instance {instance.controller}"
        positions = dict(instance.positions)
        for kind, position in instance.positions:
            yield kind if kind not in self._model.controllers[instance.controller].kinds else ""
            for change in self._model.pending(world.state, kind, position):
                yield self._change(change)
        yield from self._sorted([f"queued {key}" for key in instance.queue], world)
        yield from self._sorted([f"delayed {key}" for key in instance.delayed], world)
        yield from self._sorted([f"timer {seconds} {key}" for seconds, key in instance.timers], world)
        yield instance.memory.decode()
        if not instance.running:
            yield from self._own(world.state, positions, instance.versions, instance.deleted)
        for in_flight in instance.running:
            yield from self._in_flight(world.state, positions, in_flight)

    def _own(
        self,
        state: State,
        positions: dict[str, int],
        versions: tuple[tuple[tuple[str, Key], int], ...],
        deleted: tuple[str, ...],
    ) -> Iterator[str]:
        if self._model.guards.read_your_writes:
            for (kind, key), version in versions:
                if kind in positions and any(
                    change.resource_version <= version for change in self._model.pending(state, kind, positions[kind])
                ):
                    yield f"wrote {kind} {key} {version}"
            yield f"deleted {deleted}"

    def _in_flight(self, state: State, positions: dict[str, int], in_flight: InFlight) -> Iterator[str]:
        yield f"in_flight {in_flight.request} {in_flight.memory.decode()} {in_flight.now}"
        yield f"{list(in_flight.followed)}"
        yield from self._own(state, positions, in_flight.versions, in_flight.deleted)
        yield f"{[value if not isinstance(value, Exception) else str(value) for value in in_flight.local]}"
        for answer in in_flight.answers:
            error = answer.error
            shown = answer.body.decode() if error is None else f"{type(error).__name__} {error}"
            yield f"{answer.number} {shown}"
