"""Exchange of what shards learn: behaviours of user code, outcomes of requests, kinds, and the use of timers.

Each of them is computed once in the search, not once in each shard. User code that one shard has run, and a request
that one shard's API server has handled, are looked up by the others as soon as the search has recorded their states.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kontend.explore.model.knowledge import Knowledge
from kontend.explore.model.layout import Noticed
from kontend.explore.model.outcome import Outcome
from kontend.explore.model.server import Server
from kontend.explore.program.tree import Behaviour, Program


class Learnt(NamedTuple):
    """The news of one shard."""

    #: For each program by its number: paths and what user code does at their end.
    behaviours: list[tuple[int, Behaviour]]
    #: Outcomes of requests by what they depend on.
    outcomes: list[tuple[tuple[Any, ...], Outcome]]
    #: The kinds that are served in some state, and those that code has asked for in vain.
    namespaced: dict[str, bool]
    unknown: set[str]
    timer_has_fired: bool


class Lessons:
    """The knowledge of one shard that others lack, and the other way round."""

    def __init__(self, programs: Iterable[Program], server: Server, knowledge: Knowledge, noticed: Noticed) -> None:
        """Share what a model's programs and server have computed, and the facts that it has met."""
        self._noticed = noticed
        self._knowledge = knowledge
        self._server = server
        self._programs = {program.number: program for program in programs}
        for program in self._programs.values():
            program.fresh = []
        self._server.share()
        self._reported = self._facts()

    def fresh(self) -> Learnt | None:
        """All that this shard has learnt since the last time; None for nothing."""
        behaviours = []
        for number, program in self._programs.items():
            behaviours += [(number, behaviour) for behaviour in program.fresh or ()]
            program.fresh = []
        outcomes = [(question, outcome.portable()) for question, outcome in self._server.fresh]
        self._server.fresh = []
        facts = self._facts()
        if not behaviours and not outcomes and facts == self._reported:
            return None
        self._reported = facts
        return Learnt(behaviours, outcomes, *facts)

    def take(self, learnt: Learnt) -> None:
        """Take over the news of another shard. Raises ``NewKind`` where the two do not go together."""
        for number, behaviour in learnt.behaviours:
            self._programs[number].take(behaviour)
        self._server.take(learnt.outcomes)
        self._knowledge.merge(learnt.namespaced, learnt.unknown)
        self._noticed.timer_has_fired |= learnt.timer_has_fired
        self._reported = self._facts()  # the search knows them

    def _facts(self) -> tuple[dict[str, bool], set[str], bool]:
        return dict(self._knowledge.namespaced), set(self._knowledge.unknown), self._noticed.timer_has_fired
