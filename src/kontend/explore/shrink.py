"""Making a story shorter: first without what disturbs, then without whatever it can do without.

A candidate is a story with something left out or put off. It is followed as far as its moves are possible, and is taken
if it violates the same property with fewer perturbations, or with as many and fewer moves, until nothing helps. What
is found this way is simple, not always the simplest.

What shows only where everything has settled is given the chance to: the rest of such a candidate is made undisturbed.
What no walk can show, because it is about all that can happen from a world on, is kept by coming to that world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kontend.explore.engine import Engine
from kontend.explore.judge import Judge
from kontend.explore.moves import Move
from kontend.explore.story import violation_of
from kontend.explore.verdict import Violation
from kontend.explore.walk import GoodEnds, Walk
from kontend.explore.world import World

Choices = tuple[Move, ...]


def shrink(
    engine: Engine,
    name: str,
    choices: Choices,
    *,
    judge: Judge | None = None,
    good_ends: GoodEnds | None = None,
) -> Choices:
    """The simplest story found that violates the property ``name`` as ``choices`` do."""
    return _Shrinking(engine, name, choices, judge or Judge(engine), good_ends).run()


def shrunk(
    engine: Engine,
    name: str,
    sentence: str,
    choices: Choices,
    *,
    judge: Judge | None = None,
    good_ends: GoodEnds | None = None,
) -> Violation:
    """What is violated along some moves, told along as few as possible; ``sentence`` is for what no walk can show."""
    short = shrink(engine, name, choices, judge=judge, good_ends=good_ends)
    walk = Walk(engine, judge=judge, good_ends=good_ends)
    walk.follow(short, until=name)
    # Another write may break it now: that is what the sentence is about.
    sentence, _ = walk.wrongs.get(name, (sentence, 0))
    return violation_of(engine, name, sentence, short, how="shrunk")


class _Story(NamedTuple):
    """Stories are compared by what they cost, then by their length."""

    cost: int
    length: int
    choices: Choices


class _Shrinking:
    """One story on its way to become shorter."""

    def __init__(self, engine: Engine, name: str, choices: Choices, judge: Judge, good_ends: GoodEnds | None) -> None:
        self._engine = engine
        self._name = name
        self._judge = judge
        self._good_ends = good_ends
        settling = {each.name for each in engine.scenario.properties if each.mode == "eventually"}
        self._shows_at_the_end = name == "same end" or name in settling
        self._most = 2 * len(choices)
        self._goal: bytes | None = None
        best = self._tried(choices)
        if best is None:
            self._goal = engine.key(_after(engine, choices))
            best = self._tried(choices)
            assert best is not None
        self._best = best

    def run(self) -> Choices:
        """Try whatever may help, until nothing does."""
        before = None
        while before != self._best:
            before = self._best
            self._disturb_less()
            self._leave_out_pieces()
        return self._best.choices

    def _tried(self, candidate: Choices, *, calm: bool = False) -> _Story | None:
        """What a candidate comes to, if the property is violated there; a ``calm`` one goes on undisturbed."""
        walk = Walk(self._engine, judge=self._judge, good_ends=self._good_ends)
        walk.follow(candidate, until=self._name, goal=self._goal)
        if self._goal is not None:
            is_there = self._engine.key(walk.world) == self._goal
        else:
            if calm or self._shows_at_the_end:
                walk.calm_down(self._most, until=self._name)
            is_there = self._name in walk.wrongs
        return _Story(walk.cost, len(walk.choices), tuple(walk.choices)) if is_there else None

    def _is_taken(self, candidate: Choices, *, calm: bool = False) -> bool:
        found = self._tried(candidate, calm=calm)
        if found is None or found[:2] >= self._best[:2]:
            return False
        self._best = found
        return True

    # The ways to shrink

    def _disturb_less(self) -> None:
        """Of each that disturbs, see what happens without it."""
        number = 0
        while number < len(self._best.choices):
            choices = self._best.choices
            world = _after(self._engine, choices[:number])
            if not self._engine.make(world, choices[number]).price:
                number += 1
            elif self._is_taken(choices[:number], calm=True):
                return
            # After one that helped, another one stands at this number.
            elif not any(self._is_taken(candidate) for candidate in self._calmer(world, choices, number)):
                number += 1

    def _calmer(self, world: World, choices: Choices, number: int) -> Iterator[Choices]:
        """Leave it out, let it wait until the others are done, or let its cache catch up before it."""
        engine, move = self._engine, choices[number]
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

    def _leave_out_pieces(self) -> None:
        """Leave out everything, a half, a quarter, ... one move."""
        size = len(self._best.choices)
        while size:
            begin = 0
            while begin < len(self._best.choices):
                choices = self._best.choices
                if not self._is_taken(choices[:begin] + choices[begin + size :]):
                    begin += size
            size //= 2


def _after(engine: Engine, choices: Sequence[Move]) -> World:
    """The world that some moves lead to."""
    world = engine.start()
    for move in choices:
        world = engine.make(world, move).world
    return world
