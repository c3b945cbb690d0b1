"""What undisturbed runs end in: what the ends of all other runs are compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kontend.explore.scenario import Scenario
from kontend.explore.search import INTERRUPTED, Search

#: So many worlds are looked at for those who want to begin soon: a matter of seconds.
_WORLDS: Final = 20_000


class Reference:
    """A search of the undisturbed runs of a scenario."""

    def __init__(self, scenario: Scenario, *, soon: bool = False) -> None:
        """Prepare a search; not a long one, if it is to be over ``soon``."""
        worlds = min(_WORLDS, scenario.bounds.worlds) if soon else scenario.bounds.worlds
        scenario = replace(
            scenario,
            bounds=replace(scenario.bounds, worlds=worlds),
            # Single moves: most leaps disturb, and would be worked out in vain.
            reductions=replace(scenario.reductions, deliveries=False),
        )
        self._search = Search(scenario, undisturbed=True)
        self.engine = self._search.engine
        #: What they end in; None where that is not known, or they have no end.
        self.ends: frozenset[bytes] | None = None
        #: How many moves it takes at most to get anywhere.
        self.depth = 0
        #: What came out; other moves may lead on from there, so not all of what never seems to settle does not.
        self.verdict = self._search.verdict

    def run(self) -> Reference:
        """Search. Raises ``KeyboardInterrupt``, unlike other searches: what is known by then is of no use."""
        verdict = self._search.run()
        if verdict.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if verdict.closed:
            self.ends = self._search.ends() or None
        self.depth = max(self._search.graph.depths)
        return self

    def good_ends(self) -> frozenset[bytes]:
        """The ends, for those who have seen that they are known."""
        assert self.ends is not None
        return self.ends
