"""Values computed from all objects of one resource, kept until one of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kontend.cluster.state import Objects

T = TypeVar("T")


class Memo(Generic[T]):
    """A function of the objects of a resource that remembers its last few results.

    States are immutable and share what did not change, so identity of the map of objects is enough. Results are kept in
    a tuple that is replaced as a whole, so that threads can share a memo without a lock.
    """

    def __init__(self, function: Callable[[Objects], T], *, size: int = 8) -> None:
        self._function = function
        self._size = size
        self._kept: tuple[tuple[Objects, T], ...] = ()

    def __call__(self, objects: Objects) -> T:
        kept = self._kept
        for index, entry in enumerate(kept):
            if entry[0] is objects:
                if index:
                    self._kept = (entry, *kept[:index], *kept[index + 1 :])
                return entry[1]
        value = self._function(objects)
        self._kept = ((objects, value), *kept[: self._size - 1])
        return value
