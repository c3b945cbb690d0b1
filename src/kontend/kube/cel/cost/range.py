"""Sizes and costs from the least to the most, in 64 bits: what does not fit stays at the largest number."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MOST: Final = 2**64 - 1
#: The cost of reading one character of a text, and of a pattern.
TEXT: Final = 0.1
PATTERN: Final = 0.25
#: The cost of making a list or a map.
LIST: Final = 10
MAP: Final = 30


class Range(NamedTuple):
    """The least and the most of a size or a cost."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Both together."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        """One for each of the other."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Return a cost from a size, rounded up."""
        return Range(_scale(self.least, factor), _scale(self.most, factor))

    def union(self, other: Range) -> Range:
        """Either of them."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scale(value: int, factor: float) -> int:
    if value > 0 and factor > 0 and float(value) > MOST / factor:
        return MOST
    return min(math.ceil(float(value) * factor), MOST)


ONE: Final = Range(1, 1)
NOTHING: Final = Range(0, 0)
UNKNOWN: Final = Range(0, MOST)
