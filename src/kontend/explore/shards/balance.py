"""Deals states to shards, so that all of them have something to do until the end.

A state belongs to the shard that has found it. It moves only where the shards have very different amounts of work: a
shard that takes over a state makes it again from the steps that lead there, which takes longer than to expand it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

#: The work of a shard, in relation to the mean, and the states beyond that, from which on states move.
_UNEVEN: Final = 1.1
_SLACK: Final = 8


def moves(numbers: Sequence[int], owners: Mapping[int, int], backlogs: Sequence[int]) -> dict[int, int]:
    """The states among some that change their owner, and the new one, in view of the work that shards have already."""
    owned: list[list[int]] = [[] for _ in backlogs]
    for number in numbers:
        owned[owners[number]].append(number)
    work = [backlog + len(own) for backlog, own in zip(backlogs, owned, strict=True)]
    mean = -(-sum(work) // len(work))
    if max(work) <= _UNEVEN * mean + _SLACK:
        return {}
    movable: list[int] = []
    for index, own in enumerate(owned):
        surplus = min(work[index] - mean, len(own))
        if surplus > 0:
            movable += own[len(own) - surplus :]
    moved: dict[int, int] = {}
    for index, amount in enumerate(work):
        taken, movable = movable[: max(0, mean - amount)], movable[max(0, mean - amount) :]
        moved.update(dict.fromkeys(taken, index))
    return moved
