"""Packs successors for the way from one process to another.

There are a few different macro-steps, answers of properties and violations, and very many states. So the few are sent
once and referred to by a number from then on; of each state only its key, its objects and its form travel.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

from kontend.explore.search.expander import Successor

T = TypeVar("T", bound=Hashable)
#: Numbers of states, the count of successors of each, the successors, and the values that get a number from now on.
Packed = tuple[Any, ...]
_WORD = 16


class _Numbers(Generic[T]):
    """Numbers for values, and the values that the other side does not know yet."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self.fresh: list[T] = []

    def of(self, value: T) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._numbers)
            self.fresh.append(value)
        return number


class Packer:
    """The side that sends."""

    def __init__(self) -> None:
        # All parts of a successor that many share.
        self._shared: _Numbers[tuple[Any, ...]] = _Numbers()

    def pack(self, batch: list[tuple[int, list[Successor]]]) -> Packed:
        """Some states and their successors."""
        numbers, counts, shared, similar = array("q"), array("i"), array("i"), array("Q")
        keys, objects = bytearray(), bytearray()
        for number, successors in batch:
            numbers.append(number)
            counts.append(len(successors))
            for successor in successors:
                keys += successor.key
                objects += successor.objects.to_bytes(_WORD, "big")
                similar.append(successor.similar)
                shared.append(self._shared.of(tuple(successor._replace(key=b"", objects=0, similar=0))))
        fresh, self._shared.fresh = self._shared.fresh, []
        return numbers, counts, shared, similar, bytes(keys), bytes(objects), fresh


class Unpacker:
    """The side that receives."""

    def __init__(self) -> None:
        self._shared: list[Successor] = []

    def unpack(self, packed: Packed) -> Iterator[tuple[int, list[Successor]]]:
        """The states and their successors."""
        numbers, counts, shared, similar, keys, objects, fresh = packed
        self._shared += [Successor(*values) for values in fresh]
        at = 0
        for number, count in zip(numbers, counts, strict=True):
            successors = []
            for index in range(at, at + count):
                word = slice(index * _WORD, index * _WORD + _WORD)
                successors.append(
                    self._shared[shared[index]]._replace(
                        key=keys[word], objects=int.from_bytes(objects[word], "big"), similar=similar[index]
                    )
                )
            at += count
            yield number, successors
