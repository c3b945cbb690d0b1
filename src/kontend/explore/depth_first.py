"""Depth first: the same worlds, each way to its end before the next one is begun.

Ends are reached early, which is good where a search will not be finished. But the undisturbed runs do not come first,
and what a world costs when it is found is not the least that it could: so what undisturbed runs end in is searched for
before, and stories are shrunk.
"""

from __future__ import annotations

from collections.abc import Callable

from kontend.explore.moves import Move
from kontend.explore.reference import Reference
from kontend.explore.scenario import Scenario
from kontend.explore.search import INTERRUPTED, Search
from kontend.explore.shrink import shrunk
from kontend.explore.verdict import Verdict, Violation


class DepthFirst(Search):
    """One search of one scenario, depth first."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        until_first: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Search ``scenario``, as :class:`Search` does."""
        super().__init__(scenario, until_first=until_first, depth_first=True, progress=progress)
        self._good_ends: frozenset[bytes] = frozenset()

    def run(self) -> Verdict:
        """Search the undisturbed runs, then everything."""
        try:
            self._good_ends = Reference(self.scenario).run().ends or frozenset()
        except KeyboardInterrupt:
            self.verdict.stopped = INTERRUPTED
            return self.verdict
        return super().run()

    def _undisturbed_ends(self) -> frozenset[bytes]:
        return self._good_ends

    def _story(self, name: str, sentence: str, choices: tuple[Move, ...]) -> Violation:
        good_ends = (lambda: self._good_ends) if self._good_ends else None
        return shrunk(self.engine, name, sentence, choices, judge=self._judge, good_ends=good_ends)
