"""The uuids that reconciles draw: few and always the same, so that the number of worlds stays finite."""

from __future__ import annotations

import re
from typing import Final

import xxhash

from kontend.cluster.state import State, Version
from kontend.explore.world import World
from kontend.kube.names import Key

_UUID_PREFIX: Final = "00000000-0000-4000-b000-"
_DRAWN: Final = re.compile(_UUID_PREFIX.encode() + rb"[0-9a-f]{12}")


class Uuids:
    """Hands out uuids, the lowest that is free."""

    def __init__(self) -> None:
        #: Which uuids stand in an object, by its digest.
        self._found: dict[bytes, tuple[str, ...]] = {}
        #: Which stand in any object, by what stands for all of them.
        self._stored: dict[int, frozenset[str]] = {}

    def drawn(self, world: World, before: tuple[str, ...], fresh: int) -> tuple[str, ...]:
        """The uuids of a reconcile that had some and draws ``fresh`` more."""
        # One that was drawn and never used may be drawn again: nobody can tell, and the number of worlds stays finite.
        used = self._used(world)
        uuids = list(before)
        number = 0
        while len(uuids) < len(before) + fresh:
            number += 1
            uuid = f"{_UUID_PREFIX}{number:012x}"
            if uuid not in used and uuid not in uuids:
                uuids.append(uuid)
        return tuple(uuids)

    def _used(self, world: World) -> set[str]:
        """The uuids that stand in an object, in an undelivered event or in a reconcile under way."""
        stored = self._stored.get(world.objects)
        if stored is None:
            kinds = world.state.kinds
            stored = frozenset(
                uuid for kind in kinds for version in world.state.objects(kind).values() for uuid in self._in(version)
            )
            self._stored[world.objects] = stored
        used = set(stored)
        for pilot in world.pilots:
            if pilot.flight is not None:
                used.update(pilot.flight.uuids)
        oldest = min(position for pilot in world.pilots for position in pilot.positions)
        for change in world.state.changes_since(oldest):
            if change.old is not None:
                used.update(self._in(change.old))
            if change.new is not None:
                used.update(self._in(change.new))
        return used

    def _in(self, version: Version) -> tuple[str, ...]:
        found = self._found.get(version.digest)
        if found is None:
            found = self._found[version.digest] = tuple(each.decode() for each in _DRAWN.findall(version.body))
        return found


def end_key(state: State) -> bytes:
    """What a settled state is, whatever the uuids that were drawn on the way to it."""
    seen: dict[bytes, bytes] = {}

    def renamed(match: re.Match[bytes]) -> bytes:
        return seen.setdefault(match[0], b"uuid-%d" % len(seen))

    lines = [
        f"{kind} {Key(*key)} ".encode() + version.body
        for kind in state.kinds
        for key, version in state.objects(kind).items()
    ]
    # Sorted by what they are without the uuids, so that the first to be met is the same one in every such state.
    lines.sort(key=lambda line: (_DRAWN.sub(b"", line), line))
    return xxhash.xxh3_128_digest(b"\n".join(_DRAWN.sub(renamed, line) for line in lines))
