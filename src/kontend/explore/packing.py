"""What was found, packed for its way from one process to another.

There are a few different leaps, answers of properties and remarks, and very many worlds. So the few are sent once and
called by a number ever after; of each world only its key and its objects travel.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

from kontend.explore.expander import Found

T = TypeVar("T", bound=Hashable)
#: What is sent: numbers of worlds, how many leaps each has, the leaps, and what is called by a number from now on.
Packed = tuple[Any, ...]
_WORD = 16


class _Names(Generic[T]):
    """Numbers for values, and the values that the other side does not know yet."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self.fresh: list[T] = []

    def number(self, value: T) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self._numbers)
            self.fresh.append(value)
        return found


class Packer:
    """The side that sends."""

    def __init__(self) -> None:
        # All that a leap says but the world it leads to.
        self._leaps: _Names[tuple[Any, ...]] = _Names()

    def pack(self, batch: list[tuple[int, list[Found]]]) -> Packed:
        """Some worlds, and where they lead."""
        numbers, counts, leaps = array("q"), array("i"), array("i")
        keys, objects = bytearray(), bytearray()
        for number, found in batch:
            numbers.append(number)
            counts.append(len(found))
            for each in found:
                keys += each.key
                objects += each.objects.to_bytes(_WORD, "big")
                leaps.append(
                    self._leaps.number(
                        (
                            each.moves,
                            each.price,
                            each.holds,
                            each.wrongs,
                            each.error,
                            each.action,
                            each.wrote,
                            each.created,
                        )
                    )
                )
        fresh, self._leaps.fresh = self._leaps.fresh, []
        return numbers, counts, leaps, bytes(keys), bytes(objects), fresh


class Unpacker:
    """The side that receives."""

    def __init__(self) -> None:
        self._leaps: list[tuple[Any, ...]] = []

    def unpack(self, packed: Packed) -> Iterator[tuple[int, list[Found]]]:
        """The worlds, and where they lead."""
        numbers, counts, leaps, keys, objects, fresh = packed
        self._leaps += fresh
        at = 0
        for number, count in zip(numbers, counts, strict=True):
            found = []
            for index in range(at, at + count):
                moves, price, *rest = self._leaps[leaps[index]]
                word = slice(index * _WORD, index * _WORD + _WORD)
                found.append(Found(moves, price, keys[word], int.from_bytes(objects[word], "big"), *rest))
            at += count
            yield number, found
