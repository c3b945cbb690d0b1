"""Packs successors for the way from a shard to the search, and for a checkpoint.

There are a few different macro-steps, answers of properties and violations, and very many states. So the few are sent
once and referred to by a number from then on; of each state only its key, its objects and its form travel.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kontend.explore.search.successor import StateRecord, Successor

#: The bytes of a key and of a sum of objects.
_WORD: Final = 16
#: The first fields of a state: these it has for itself.
_OWN: Final = 3
assert StateRecord._fields[:_OWN] == ("key", "objects", "similar")
#: The parts of a successor that many others share: its steps, cost and effects, and the other fields of its state.
Shared = tuple[Any, ...]
PARTS: Final = 3 + len(StateRecord._fields) - _OWN


class Packed(NamedTuple):
    """Some states and their successors, in columns."""

    #: The states, and the number of successors of each.
    numbers: bytes
    counts: bytes
    #: For each successor: the number of its shared parts, its similarity, its key, and its sum of objects.
    shared: bytes
    similar: bytes
    keys: bytes
    objects: bytes
    #: The shared parts that get the next numbers.
    fresh: list[Shared]

    @property
    def size(self) -> int:
        """The bytes of the columns."""
        return sum(len(column) for column in self[:6])


class Packer:
    """The side that sends."""

    def __init__(self) -> None:
        self._numbers: dict[Shared, int] = {}

    def pack(self, batch: Sequence[tuple[int, list[Successor]]]) -> Packed:
        """Pack some states and their successors."""
        numbers, counts, shared, similar = array("q"), array("i"), array("i"), array("Q")
        keys: list[bytes] = []
        objects: list[bytes] = []
        fresh: list[Shared] = []
        known = self._numbers
        for number, successors in batch:
            numbers.append(number)
            counts.append(len(successors))
            for successor in successors:
                steps, cost, reached, effects = successor
                keys.append(reached.key)
                objects.append(reached.objects.to_bytes(_WORD, "big"))
                similar.append(reached.similar)
                parts = (steps, cost, effects, *reached[_OWN:])
                index = known.get(parts)
                if index is None:
                    index = known[parts] = len(known)
                    fresh.append(parts)
                shared.append(index)
        return Packed(
            numbers.tobytes(),
            counts.tobytes(),
            shared.tobytes(),
            similar.tobytes(),
            b"".join(keys),
            b"".join(objects),
            fresh,
        )


class Unpacker:
    """The side that receives."""

    def __init__(self) -> None:
        self._shared: list[Shared] = []

    def unpack(self, packed: Packed) -> Iterator[tuple[int, list[Successor]]]:
        """The states and their successors."""
        self._shared += packed.fresh
        numbers, counts, shared, similar = array("q"), array("i"), array("i"), array("Q")
        columns = (numbers, packed.numbers), (counts, packed.counts), (shared, packed.shared), (similar, packed.similar)
        for column, content in columns:
            column.frombytes(content)
        keys, objects, known = packed.keys, packed.objects, self._shared
        at = 0
        for number, count in zip(numbers, counts, strict=True):
            successors = []
            for index in range(at, at + count):
                begin = index * _WORD
                end = begin + _WORD
                steps, cost, effects, *rest = known[shared[index]]
                total = int.from_bytes(objects[begin:end], "big")
                reached = StateRecord(keys[begin:end], total, similar[index], *rest)
                successors.append(Successor(steps, cost, reached, effects))
            at += count
            yield number, successors
