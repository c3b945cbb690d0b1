"""Values computed from all objects of one resource, kept until one of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kontend.cluster.state import Objects

T = TypeVar("T")


class Memo(Generic[T]):
    """A function of the objects of a resource that remembers its last few results.

    States are immutable and share what did not change, so identity of the map of objects is enough.
    """

    def __init__(self, function: Callable[[Objects], T], *, size: int = 8) -> None:
        self._function = function
        self._size = size
        self._kept: list[tuple[Objects, T]] = []

    def __call__(self, objects: Objects) -> T:
        for index, (known, value) in enumerate(self._kept):
            if known is objects:
                if index:
                    self._kept.insert(0, self._kept.pop(index))
                return value
        value = self._function(objects)
        self._kept.insert(0, (objects, value))
        del self._kept[self._size :]
        return value
