"""Making a story shorter: first without what disturbs, then without whatever it can do without.

Each way to shrink makes candidates from a story. A candidate is followed as far as its moves are possible, and is taken
if it violates the same property with fewer perturbations, or with as many and fewer moves. It ends when nothing helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kontend.explore.engine import Engine, Move
from kontend.explore.judge import Judge
from kontend.explore.walk import Walk

Choices = tuple[Move, ...]


def shrink(
    engine: Engine,
    name: str,
    choices: Choices,
    *,
    judge: Judge | None = None,
    good_ends: Callable[[], frozenset[bytes]] | None = None,
) -> Choices:
    """The simplest story found that violates the property ``name`` as ``choices`` do."""
    judge = judge or Judge(engine)

    def tried(candidate: Choices) -> tuple[int, int, Choices] | None:
        walk = Walk(engine, judge=judge, good_ends=good_ends)
        walk.follow(candidate, until=name)
        if name not in walk.wrongs:
            return None
        return walk.cost, len(walk.choices), tuple(walk.choices)

    best = tried(choices)
    if best is None:
        return choices
    progress = True
    while progress:
        progress = False
        for way in (_without_perturbations, _without_pieces):
            for candidate in way(engine, best[2]):
                found = tried(candidate)
                if found is not None and found[:2] < best[:2]:
                    best, progress = found, True
                    break
            if progress:
                break
    return best[2]


def _without_perturbations(engine: Engine, choices: Choices) -> Iterator[Choices]:
    """Leave out one that disturbs, let it wait until the others are done, or let its cache catch up before it."""
    world = engine.start()
    for number, move in enumerate(choices):
        step = engine.make(world, move)
        if step.price:
            before, after = choices[:number], choices[number + 1 :]
            yield before + after
            mine = tuple(each for each in choices[number:] if each.pilot == move.pilot)
            others = tuple(each for each in after if each.pilot != move.pilot)
            yield before + others + mine
            caught_up = tuple(
                Move("deliver", move.pilot, at)
                for at, resource in enumerate(engine.resources[move.pilot] if move.pilot >= 0 else ())
                for _ in world.undelivered(world.pilots[move.pilot], at, resource)
            )
            if caught_up:
                yield before + caught_up + choices[number:]
        world = step.world


def _without_pieces(_: Engine, choices: Choices) -> Iterator[Choices]:
    """Leave out a piece: half of it, a quarter, ... one move."""
    size = len(choices) // 2
    while size:
        for begin in range(0, len(choices), size):
            yield choices[:begin] + choices[begin + size :]
        size //= 2
