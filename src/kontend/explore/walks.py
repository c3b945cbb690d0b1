"""Walks: some ways through a scenario, chosen by chance, where there are too many worlds to search them all.

A walk makes one move after the other until everything has settled. What it meets on the way is judged as in a search,
and how it ends is compared with the ends of the undisturbed runs, which are searched first. What is violated is shrunk
before it is told. Walks can show that something is wrong, never that nothing is; and that something never settles they
cannot show either, for a walk that comes back to a world could have left it by another move.

One seed gives the same walks, and so the same verdict, everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kontend.cluster.state import State
from kontend.explore.choosers import Anything, Chooser, Priorities
from kontend.explore.ends import end_key
from kontend.explore.judge import Judge
from kontend.explore.limits import Limits
from kontend.explore.reference import Reference
from kontend.explore.scenario import Scenario
from kontend.explore.search import INTERRUPTED
from kontend.explore.settled import is_settled
from kontend.explore.shrink import Choices, shrunk
from kontend.explore.verdict import Verdict
from kontend.explore.walk import GoodEnds, Walk

#: After how many moves progress is told and the clock is looked at.
_OFTEN: Final = 500
#: A walk is cut off after so many moves, or so many times those of an undisturbed run if that is more.
_LONGEST: Final = 1_000
_TIMES: Final = 10
#: The ways to choose, by the names of the searches.
CHOOSERS: Final[dict[str, Callable[[int, int], Chooser]]] = {"random": Anything, "pct": Priorities}


class Walks:
    """Some walks through one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        choose: str = "random",
        seed: int = 0,
        walks: int = 1_000,
        until_first: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare to make so many ``walks``; ``progress`` is told the numbers of worlds and moves from time to time."""
        self.scenario = scenario
        self._limits = Limits(scenario.bounds)
        self._reference = Reference(scenario, soon=True)
        self.engine = self._reference.engine
        self.verdict = Verdict(bounds=str(scenario.bounds))
        self.verdict.note_what_is_left_out(each.controller for each in dict.fromkeys(self.engine.behaviours))
        self._judge = Judge(self.engine)
        self._good_ends: GoodEnds | None = None
        self._chooser = CHOOSERS[choose](seed, len(self.engine.names))
        self._seed = seed
        self._walks = walks
        self._until_first = until_first
        self._progress = progress
        self._made = 0
        self._worlds: set[bytes] = set()
        self._ends: dict[bytes, State] = {}
        #: The shortest way to a violation of each property, and what was said of it.
        self._violated: dict[str, tuple[str, Choices]] = {}
        self._wrote = False
        #: Properties about a cluster that held somewhere.
        self._held: set[str] = set()

    def run(self) -> Verdict:
        """Make the walks, or as many as the limits allow."""
        begun = time.perf_counter()
        try:
            self._reference.run()
        except KeyboardInterrupt:
            self.verdict.stopped = INTERRUPTED
            return self.verdict
        if self._reference.ends is not None:
            self._good_ends = self._reference.good_ends
        try:
            for each in self._reference.verdict.violations:
                # An undisturbed run can go wrong, too. What does not show along it, such as a cycle, is not claimed.
                walk = self._walk()
                walk.follow(each.choices)
                self._note(walk)
            stopped = self._make()
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        self._tell(stopped)
        self.verdict.violations = [
            shrunk(self.engine, name, sentence, choices, judge=self._judge, good_ends=self._good_ends)
            for name, (sentence, choices) in self._violated.items()
        ]
        self.verdict.seconds = time.perf_counter() - begun
        return self.verdict

    def _walk(self) -> Walk:
        return Walk(self.engine, judge=self._judge, good_ends=self._good_ends)

    def _make(self) -> str:
        """Make the walks; returns why it stopped before the end, if it did."""
        # How long a walk is, as far as that is known, and how long it may become.
        length = max(1, self._reference.depth)
        longest = max(_LONGEST, _TIMES * length)
        while self._made < self._walks:
            if self._until_first and self._violated:
                return "something is violated"
            walk = self._walk()
            self._chooser.begin(length)
            try:
                stopped = self._go(walk, longest)
            finally:
                self._note(walk)
            if stopped:
                return stopped
            self._made += 1
            if len(walk.choices) < longest:
                length = max(length, len(walk.choices))
        return ""

    def _go(self, walk: Walk, longest: int) -> str:
        """One walk, to its end; returns the limit that was reached, if one was."""
        engine, chooser, verdict = self.engine, self._chooser, self.verdict
        key = engine.key(walk.world)
        been = {key}
        self._met(walk, key)
        while True:
            moves = engine.moves(walk.world)
            if is_settled(engine, walk.world, moves):
                walk.end()
                self._ends.setdefault(end_key(walk.world.state), walk.world.state)
                return ""
            if len(walk.choices) == longest:
                verdict.cut += 1
                return ""
            if self._until_first and walk.wrongs:
                return ""
            step = walk.make(chooser.chosen(moves))
            verdict.moves += 1
            self._wrote = self._wrote or bool(step.changes)
            key = engine.key(walk.world)
            if key in been:
                chooser.came_back()
            been.add(key)
            self._met(walk, key)
            often = verdict.moves % _OFTEN == 0
            stopped = self._limits.reached(len(self._worlds), verdict.moves, look=often)
            if stopped:
                return stopped
            if often and self._progress is not None:
                self._progress(len(self._worlds), verdict.moves)

    def _met(self, walk: Walk, key: bytes) -> None:
        if key not in self._worlds:
            self._worlds.add(key)
            holds = walk.judge.holds(walk.world)
            self._held.update(name for name, at in walk.judge.places.items() if holds[at])

    def _note(self, walk: Walk) -> None:
        """Keep what was violated, by the shortest walk."""
        for name, (sentence, length) in walk.wrongs.items():
            known = self._violated.get(name)
            if known is None or length < len(known[1]):
                self._violated[name] = (sentence, tuple(walk.choices[:length]))

    def _tell(self, stopped: str) -> None:
        reference, verdict = self._reference, self.verdict
        many = f"{self._made:,} {self._chooser.name} walk{'s' * (self._made != 1)} (seed {self._seed})"
        verdict.walks = f"{many}, until {stopped}" if stopped else many
        verdict.stopped = stopped or f"{many} {'were' if self._made != 1 else 'was'} made, not all there are"
        verdict.worlds = len(self._worlds)
        verdict.end_states = list(self._ends.values())
        verdict.undisturbed_ends = len(self._ends.keys() & (reference.ends or frozenset()))
        verdict.runs = sum(behaviour.runs for behaviour in set(self.engine.behaviours))
        writes = {each.name for each in self.scenario.properties if each.arity == 2}
        verdict.untested = [
            name for name in reference.verdict.untested if not (self._wrote if name in writes else name in self._held)
        ]
        if reference.verdict.stopped:
            why = reference.verdict.stopped
            verdict.notes.append(f"same end: not compared; of the undisturbed runs alone, {why}")
