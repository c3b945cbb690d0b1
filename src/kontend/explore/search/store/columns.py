"""Columns: one number, or one of a few values, for each state or edge of a search.

A column is an ``array`` as long as a search fits into memory, and the same numbers in a mapped file from then on.
Pages of such a file do not count as memory in use: the system writes them back and takes them when it needs room.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kontend.explore.search.store.files import MappedFile

T = TypeVar("T", bound=Hashable)
#: Numbers for which a new file has room at least, and read at a time.
_LEAST: Final = 1 << 16
_PIECE: Final = 1 << 16


class MappedColumn:
    """Numbers in a mapped file, with those methods of an ``array`` that a search uses."""

    def __init__(self, values: array[int], directory: Path) -> None:
        """Move the values of an array into a file. Raises :class:`~kontend.explore.search.store.files.NoRoom`."""
        self._typecode = values.typecode
        self._width = values.itemsize
        self._length = len(values)
        self._capacity = max(_LEAST, self._length + self._length // 4)
        self._file = MappedFile(directory, self._capacity * self._width)
        self._view = self._viewed()
        self._view[: self._length] = memoryview(values)

    @classmethod
    def zeros(cls, typecode: str, size: int, directory: Path) -> MappedColumn:
        """A column of ``size`` zeros."""
        column = cls(array(typecode), directory)
        if size > column._capacity:
            column._reserve(size)
        column._length = size
        return column

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: int) -> int:
        return self._view[at]

    def __setitem__(self, at: int, value: int) -> None:
        self._view[at] = value

    def __iter__(self) -> Iterator[int]:
        for begin in range(0, self._length, _PIECE):
            yield from self._view[begin : min(begin + _PIECE, self._length)].tolist()

    def append(self, value: int) -> None:
        """Add a number."""
        length = self._length
        if length == self._capacity:
            self._reserve(length + 1)
        self._view[length] = value
        self._length = length + 1

    def pop(self) -> int:
        """Remove the last number."""
        self._length -= 1
        return self._view[self._length]

    def extend(self, values: Iterable[int]) -> None:
        """Add numbers."""
        more = array(self._typecode, values)
        end = self._length + len(more)
        if end > self._capacity:
            self._reserve(end)
        self._view[self._length : end] = memoryview(more)
        self._length = end

    def _viewed(self) -> memoryview[int]:
        typecode: Any = self._typecode
        return memoryview(self._file.map).cast(typecode)

    def _reserve(self, least: int) -> None:
        capacity = max(least, self._capacity + self._capacity // 4)
        before, view = self._file.map, self._view
        self._file.grown(capacity * self._width)
        self._view = self._viewed()
        self._capacity = capacity
        view.release()
        before.close()

    def close(self) -> None:
        """Release the file."""
        self._view.release()
        self._file.close()


#: A column in memory or on disk.
Column: TypeAlias = "array[int] | MappedColumn"


def spilled(column: Column, directory: Path) -> Column:
    """A column on disk."""
    return MappedColumn(column, directory) if isinstance(column, array) else column


class Interned(Generic[T]):
    """One of a few values for each position: the values are kept once, and referred to by number."""

    def __init__(self) -> None:
        self._column: Column = array("I")
        self._numbers: dict[T, int] = {}
        #: The different values.
        self.values: list[T] = []

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> T:
        return self.values[self._column[at]]

    def __setitem__(self, at: int, value: T) -> None:
        self._column[at] = self._number(value)

    def append(self, value: T) -> None:
        """Add a value."""
        number = self._numbers.get(value)
        self._column.append(self._number(value) if number is None else number)

    def spill(self, directory: Path) -> None:
        """Move the references to disk."""
        self._column = spilled(self._column, directory)

    def _number(self, value: T) -> int:
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Words:
    """A number of 128 bits for each position."""

    def __init__(self) -> None:
        self._high: Column = array("Q")
        self._low: Column = array("Q")

    def __getitem__(self, at: int) -> int:
        return self._high[at] << 64 | self._low[at]

    def append(self, value: int) -> None:
        """Add a number."""
        self._high.append(value >> 64)
        self._low.append(value & 0xFFFF_FFFF_FFFF_FFFF)

    def spill(self, directory: Path) -> None:
        """Move the numbers to disk."""
        self._high, self._low = spilled(self._high, directory), spilled(self._low, directory)
