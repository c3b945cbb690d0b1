"""Sets of indexes, written as ``1,3-5,7``, in which indexed jobs keep what is done."""

from __future__ import annotations

import re
from typing import Final

from kontend.kube.field_errors import go_quote
from kontend.kube.golang.strconv import whole_number

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


class IntervalError(ValueError):
    """A text that is no set of indexes; the message is the server's."""


def intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """Return the intervals of a set, which must grow.

    >>> intervals("1,3-5", 10)
    [(1, 1), (3, 5)]
    """
    parsed: list[tuple[int, int]] = []
    for part in text.split(",") if text else []:
        first, last = _interval(part, completions)
        if parsed and parsed[-1][1] >= first:
            raise IntervalError(f"non-increasing order, previous: {parsed[-1][1]}, current: {first}")
        parsed.append((first, last))
    return parsed


def count_indexes(text: str, completions: int) -> int:
    """Return how many indexes there are in a set.

    >>> count_indexes("1,3-5", 10)
    4
    """
    return sum(last - first + 1 for first, last in intervals(text, completions))


def overlap(one: str, other: str, completions: int) -> int | None:
    """Return the first index that is in two sets; parts that cannot be read are in none.

    >>> overlap("1,3-5", "4-6", 10)
    4
    """
    both = [
        max(a, c) for a, b in _readable(one, completions) for c, d in _readable(other, completions) if a <= d and c <= b
    ]
    return min(both, default=None)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    readable = []
    for part in text.split(",") if text else []:
        try:
            readable.append(_interval(part, completions))
        except IntervalError:
            continue
    return readable


def _interval(text: str, completions: int) -> tuple[int, int]:
    ends = text.split("-")
    if len(ends) > 2:
        rule = "the requirement that an index interval can have at most two parts separated by '-'"
        raise IntervalError(f"the fragment {go_quote(text)} violates {rule}")
    first = _index(ends[0], completions)
    last = first
    if len(ends) == 2:
        last = _index(ends[1], completions)
        if first >= last:
            raise IntervalError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise IntervalError(f"cannot convert string to integer for index: {go_quote(text)}")
    index = whole_number(text)
    if index >= completions:
        raise IntervalError(f"too large index: {go_quote(text)}")
    return index
