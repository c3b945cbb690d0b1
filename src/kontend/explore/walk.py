"""One way through a scenario, move by move, and what is wrong along it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kontend.explore.ends import end_key
from kontend.explore.engine import Engine, Move, Step
from kontend.explore.judge import Judge, Wrong


class Walk:
    """Makes moves and looks at each of them."""

    def __init__(
        self, engine: Engine, *, judge: Judge | None = None, good_ends: Callable[[], frozenset[bytes]] | None = None
    ) -> None:
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

    def follow(self, choices: Sequence[Move], *, until: str = "") -> None:
        """Make the moves that are possible, leave out the others; stop when ``until`` is violated."""
        for move in choices:
            if until in self.wrongs:
                return
            if move in self.engine.moves(self.world):
                self.make(move)
        if until not in self.wrongs:
            self.end()

    def end(self) -> None:
        """Look at how it ended, if nothing more can happen."""
        if self.engine.moves(self.world):
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
