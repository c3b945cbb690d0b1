"""The uuids that reconciles draw: few and always the same, so that the number of worlds stays finite.

A conversation sees tokens. What stands for a token is decided when the conversation first writes it somewhere, and is
the lowest that nobody knows then: two reconciles that drew uuids in one order or the other are the same world until one
of them has told the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from rpds import HashTrieMap

from kontend.cluster.state import Change, State, Version
from kontend.explore.behaviour import DRAWN, UUID_PREFIX
from kontend.explore.world import World

#: How many objects each uuid stands in.
Stored: TypeAlias = "HashTrieMap[str, int]"


class Uuids:
    """Hands out uuids, the lowest that is free."""

    def __init__(self, resources: Sequence[tuple[str, ...]]) -> None:
        """Know which kinds each pilot watches."""
        self._resources = resources
        #: Which uuids stand in an object, by its digest.
        self._found: dict[bytes, tuple[str, ...]] = {}

    def drawn(self, world: World, before: tuple[str, ...], fresh: int) -> tuple[str, ...]:
        """The uuids of a reconcile that had some and needs ``fresh`` more."""
        # One that was drawn and forgotten may be drawn again: nobody can tell, and the number of worlds stays finite.
        known = self.known(world)
        uuids = list(before)
        number = 0
        while len(uuids) < len(before) + fresh:
            number += 1
            uuid = f"{UUID_PREFIX}{number:012x}"
            if uuid not in known and uuid not in uuids and world.uuids.get(uuid) is None:
                uuids.append(uuid)
        return tuple(uuids)

    def stored(self, stored: Stored, changes: Iterable[Change]) -> Stored:
        """How many objects each uuid stands in after some changes."""
        for change in changes:
            old, new = self._in(change.old), self._in(change.new)
            if old == new:
                continue
            for uuid in old:
                count = stored[uuid] - 1
                stored = stored.insert(uuid, count) if count else stored.remove(uuid)
            for uuid in new:
                stored = stored.insert(uuid, (stored.get(uuid) or 0) + 1)
        return stored

    def of(self, state: State) -> Stored:
        """How many objects each uuid stands in."""
        counts: dict[str, int] = {}
        for kind in state.kinds:
            for version in state.objects(kind).values():
                for uuid in self._in(version):
                    counts[uuid] = counts.get(uuid, 0) + 1
        return HashTrieMap(counts)

    def known(self, world: World) -> set[str]:
        """The uuids that somebody may still speak of: events on their way, reconciles, memories."""
        known: set[str] = set()
        for index, pilot in enumerate(world.pilots):
            known.update(_in_memory(pilot.memory))
            if pilot.flight is not None:
                known.update(pilot.flight.uuids, pilot.flight.node.met_uuids, _in_memory(pilot.flight.memory))
            for at, resource in enumerate(self._resources[index]):
                for change in world.undelivered(pilot, at, resource):
                    known.update(self._in(change.old), self._in(change.new))
        return known

    def _in(self, version: Version | None) -> tuple[str, ...]:
        if version is None:
            return ()
        found = self._found.get(version.digest)
        if found is None:
            found = tuple(sorted({each.decode() for each in DRAWN.findall(version.body)}))
            self._found[version.digest] = found
        return found


@lru_cache(maxsize=10_000)
def _in_memory(memory: bytes) -> tuple[str, ...]:
    return tuple(each.decode() for each in DRAWN.findall(memory))
