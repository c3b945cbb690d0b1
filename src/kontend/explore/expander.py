"""Looking at worlds: where they lead, and what is wrong on the way. Only plain data comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kontend.explore.engine import Engine
from kontend.explore.expansion import Expansion
from kontend.explore.judge import Judge, Wrong
from kontend.explore.moves import Move
from kontend.explore.world import World
from kontend.kube.meta.names import Key


class Found(NamedTuple):
    """One leap from a world, as far as others than the engine need to know it."""

    moves: tuple[Move, ...]
    price: int
    key: bytes
    objects: int
    holds: tuple[bool, ...]
    #: What is wrong, and after how many of the moves.
    wrongs: tuple[tuple[int, Wrong], ...]
    error: str
    #: Which of the user's actions it ends with; -1 for none.
    action: int
    wrote: bool
    #: The names of the objects that were made.
    created: tuple[Key, ...]


class Expander:
    """Looks at worlds, one after the other, in this process."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._expansion = Expansion(engine)
        self._judge = Judge(engine)
        #: Worlds that were found and not looked at yet.
        self._waiting: dict[int, World] = {}
        #: The worlds behind what was found last, and in the last layer.
        self._last: list[World] = []
        self._held: dict[int, list[World]] = {}

    def first(self) -> tuple[bytes, int, tuple[bool, ...], tuple[Wrong, ...]]:
        """The first world: its key, its objects, what holds in it, and what is wrong with it already."""
        world = self.engine.start()
        self._waiting[0] = world
        return self.engine.key(world), world.objects, self._judge.holds(world), tuple(self._judge.at_the_start(world))

    def expand_and_hold(self, numbers: list[int], *, first: bool) -> Iterator[tuple[int, list[Found]]]:
        """Like :meth:`expand`, for one who will say only at the end which worlds to keep."""
        self._held = {}
        for number, found in self.expand(numbers, first=first):
            self._held[number] = self._last
            yield number, found

    def keep_all(self, keep: list[tuple[int, int, int]], drop: list[int]) -> None:
        """Keep some of the worlds that are held, and forget others that were kept before."""
        for number, parent, at in keep:
            self._waiting[number] = self._held[parent][at]
        self.forget(set(drop))
        self._held = {}

    def waiting(self) -> list[int]:
        """The worlds that were found and not looked at yet."""
        return sorted(self._waiting)

    def forget(self, numbers: set[int]) -> None:
        """Let some of them go."""
        for number in numbers:
            self._waiting.pop(number, None)

    def conversation_ids(self) -> set[bytes]:
        """What stands for the conversations of reconciles that were found so far."""
        return set().union(*(behaviour.ids for behaviour in self.engine.behaviours))

    def expand(self, numbers: list[int], *, first: bool) -> Iterator[tuple[int, list[Found]]]:
        """Where some worlds lead; ``first`` if these are worlds of undisturbed runs."""
        for number in numbers:
            found, self._last = self.look(self._waiting.pop(number), first=first)
            yield number, found

    def keep(self, number: int, parent: int, at: int) -> None:
        """Remember a world under a number: the one behind what was found as number ``at`` in ``parent``."""
        del parent
        self._waiting[number] = self._last[at]

    def relied(self) -> set[str]:
        """The kinds that somebody was believed not to touch."""
        return self._expansion.relied

    def was_mistaken(self, also_relied: set[str] | None = None) -> bool:
        """Whether somebody touched what nobody was believed to touch; asked where no world is half looked at."""
        self._expansion.relied |= also_relied or set()
        if not self._expansion.learn(self.engine.footprints):
            return False
        self._expansion.relied.clear()
        self._waiting.clear()
        return True

    def close(self) -> None:
        """There is nothing to stop."""

    @property
    def conversations(self) -> int:
        """How many different conversations of reconciles were found."""
        return len(self.conversation_ids())

    def look(self, world: World, *, first: bool) -> tuple[list[Found], list[World]]:
        """Where a world leads."""
        engine, judge = self.engine, self._judge
        found, worlds = [], []
        for leap in self._expansion.leaps(world, first=first):
            wrongs: tuple[tuple[int, Wrong], ...] = ()
            for at, before, step in leap.writes:
                wrongs += tuple((at, wrong) for wrong in judge.of_a_write(before, step, leap.moves[at - 1].pilot))
            after = leap.world
            key = engine.key(after)
            worlds.append(after)
            wrote = bool(leap.writes)
            created = tuple(each.key for _, _, step in leap.writes for each in step.changes if each.old is None)
            action = world.acted if leap.moves[-1].what == "act" else -1
            holds = judge.holds(after)
            found.append(
                Found(leap.moves, leap.price, key, after.objects, holds, wrongs, leap.error, action, wrote, created)
            )
        return found, worlds
