"""Similar states: equal up to counters and made-up names.

A number that is equal for states that differ only in generations, in names that the server made up, and in what
reconciles have read of them. It is coarse: states with the same number are compared in full before it counts.
"""

from __future__ import annotations

import xxhash

from kontend.explore.model.layout import Layout
from kontend.explore.model.state.canonical import masked_digest
from kontend.explore.model.state.key import flat
from kontend.explore.model.state.world import World
from kontend.explore.program.masking import masked
from kontend.kube.encoding.plain_data import plain_bytes


class Similarity:
    """Computes that number for the states of one model."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def of(self, world: World) -> int:
        """The number of a state."""
        return self.joined(self.shared_part(world), self.of_processes(world))

    def of_processes(self, world: World) -> list[bytes]:
        """The parts that depend on one process each."""
        return [self.of_process(world, number) for number in range(len(world.processes))]

    def shared_part(self, world: World) -> bytes:
        """The part that does not depend on the processes."""
        late = [(late.instance, late.in_flight.node.masked, late.at) for late in world.late]
        return plain_bytes((world.masked, world.acted, tuple(world.budget), late))

    def joined(self, shared: bytes, processes: list[bytes]) -> int:
        """The number of a state from its parts."""
        return xxhash.xxh3_64_intdigest(shared + b"".join(processes))

    def of_process(self, world: World, number: int) -> bytes:
        """The part that depends on one process."""
        process, state = world.processes[number], world.state
        known = process.cached_similarity(state)
        if known:
            return known
        parts: list[object] = []
        for at, resource in enumerate(self._layout.processes[number].resources[: len(process.views)]):
            parts += [
                (at, change.old and masked_digest(change.old), change.new and masked_digest(change.new))
                for change in process.undelivered(state, at, resource)
            ]
        for instance in process.instances:
            parts += [flat(instance.queue), flat(instance.delayed), masked(instance.memory)]
            parts += [(seconds, *request) for seconds, request in sorted(instance.timers)]
            for in_flight in instance.running:
                versions = [self._layout.keys.which_version(state, number, process, met) for met in in_flight.versions]
                parts.append((*in_flight.request, in_flight.node.masked, versions))
        part = xxhash.xxh3_64_digest(plain_bytes(parts))
        process.keep_similarity(part)
        return part
