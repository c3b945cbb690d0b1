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
        return self.joined(self.shared_part(world), self.of_instances(world))

    def of_instances(self, world: World) -> list[bytes]:
        """The parts that depend on one instance each."""
        return [self.of_instance(world, index) for index in range(len(world.instances))]

    def shared_part(self, world: World) -> bytes:
        """The part that does not depend on the instances."""
        late = [(late.instance, late.in_flight.node.masked, late.at) for late in world.late]
        return plain_bytes((world.masked, world.acted, tuple(world.budget), late))

    def joined(self, shared: bytes, instances: list[bytes]) -> int:
        """The number of a state from its parts."""
        return xxhash.xxh3_64_intdigest(shared + b"".join(instances))

    def of_instance(self, world: World, index: int) -> bytes:
        """The part that depends on one instance."""
        instance, state = world.instances[index], world.state
        known = instance.cached_similarity(state)
        if known:
            return known
        parts: list[object] = [flat(instance.queue), flat(instance.delayed), masked(instance.memory)]
        if instance.timers:
            parts += [(seconds, *request) for seconds, request in sorted(instance.timers)]
        for at, resource in enumerate(self._layout.resources[index][: len(instance.views)]):
            parts += [
                (at, change.old and masked_digest(change.old), change.new and masked_digest(change.new))
                for change in instance.undelivered(state, at, resource)
            ]
        for in_flight in instance.running:
            versions = [self._layout.keys.which_version(state, index, instance, met) for met in in_flight.versions]
            parts.append((*in_flight.request, in_flight.node.masked, versions))
        part = xxhash.xxh3_64_digest(plain_bytes(parts))
        instance.keep_similarity(part)
        return part
