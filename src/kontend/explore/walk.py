"""One way through a scenario, move by move, and what is wrong along it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from kontend.explore.ends import end_key
from kontend.explore.engine import Engine
from kontend.explore.judge import Judge, Wrong
from kontend.explore.moves import Move, Step
from kontend.explore.settled import is_settled

#: What undisturbed runs end in; asked only where it matters, for it may have to be searched first.
GoodEnds: TypeAlias = Callable[[], frozenset[bytes]]

#: The order of moves in a calm run.
_CALMEST: Final = ("deliver", "call", "start", "act", "retry")


class Walk:
    """Makes moves and looks at each of them."""

    def __init__(self, engine: Engine, *, judge: Judge | None = None, good_ends: GoodEnds | None = None) -> None:
        """Begin at the start. ``good_ends`` are what undisturbed runs end in; without it no end is compared."""
        self.engine = engine
        self.judge = judge or Judge(engine)
        self.world = engine.start()
        self.choices: list[Move] = []
        self.cost = 0
        #: What is wrong, by property: the sentence, and after how many moves it was seen first.
        self.wrongs: dict[str, tuple[str, int]] = {}
        self._good_ends = good_ends
        self._note(self.judge.at_the_start(self.world))

    def make(self, move: Move) -> Step:
        """Go on."""
        step = self.engine.make(self.world, move)
        self.choices.append(move)
        self.cost += step.price
        for before, part in step.calls or ((self.world, step),):
            if part.changes:
                self._note(self.judge.of_a_write(before, part, move.pilot))
        self.world = step.world
        return step

    def follow(self, choices: Sequence[Move], *, until: str = "", goal: bytes | None = None) -> None:
        """Make the moves that are possible, leave out the others; stop when ``until`` is violated.

        Or stop in the world that ``goal`` is the key of.
        """
        for move in choices:
            if until in self.wrongs or (goal is not None and self.engine.key(self.world) == goal):
                return
            if move in self.engine.moves(self.world):
                self.make(move)
        if until not in self.wrongs:
            self.end()

    def calm_down(self, most: int, *, until: str = "") -> None:
        """Go on undisturbed until everything has settled or ``until`` is violated, for ``most`` moves at most.

        Nobody is kept waiting for ever: retries come last, and in turn.
        """
        times: Counter[Move] = Counter()
        for _ in range(most):
            if until in self.wrongs:
                return
            moves = self.engine.moves(self.world)
            if is_settled(self.engine, self.world, moves):
                break
            calm = [move for move in moves if not self.engine.make(self.world, move).price]
            if not calm:
                return
            move = min(calm, key=lambda each: (_CALMEST.index(each.what), times[each]))
            times[move] += 1
            self.make(move)
        self.end()

    def end(self) -> None:
        """Look at how it ended, if everything has settled."""
        if not is_settled(self.engine, self.world, self.engine.moves(self.world)):
            return
        judge = self.judge
        holds = judge.holds(self.world)
        for each in self.engine.scenario.properties:
            if each.mode == "eventually" and not holds[judge.places[each.name]]:
                self._note([judge.badly_settled(each)])
        if self._good_ends is not None and self.cost and end_key(self.world.state) not in self._good_ends():
            self._note([judge.another_end()])

    def _note(self, wrongs: Iterable[Wrong]) -> None:
        for wrong in wrongs:
            self.wrongs.setdefault(wrong.property, (wrong.sentence, len(self.choices)))
