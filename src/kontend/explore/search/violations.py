"""The violations that a search has found: the cheapest way to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import Breach, BuiltIn
from kontend.explore.search.graph import Graph
from kontend.explore.verdict import Violation
from kontend.runtime.source_location import SourceLocation

#: The properties that say that an update was lost.
_LOSSES: Final = (BuiltIn.LOST_UPDATE, BuiltIn.VANISHED_ELEMENT)
#: Makes a violation from a property, a sentence and a schedule.
Explain = Callable[[str, str, Sequence[Step]], Violation]


class Found(NamedTuple):
    """A violation: where it was found."""

    cost: int
    length: int
    finding: Breach
    #: The state before, and the steps from there.
    number: int
    last: tuple[Step, ...]


class Violations:
    """The cheapest violation of each property, for each line of code that is at fault; and how many were found."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._cheapest: dict[tuple[str, SourceLocation | None], Found] = {}
        self._counts: Counter[tuple[str, SourceLocation | None]] = Counter()
        self._losses: dict[SourceLocation, Found] = {}
        #: The number of states when the last violation was found that is not just a cheaper way to a known one.
        self.last_news = 0

    def __len__(self) -> int:
        return len(self._cheapest)

    def has(self, name: str) -> bool:
        """A property is violated."""
        return any(name == known for known, _ in self._cheapest)

    def add(self, finding: Breach, number: int, last: tuple[Step, ...] = (), cost: int = 0) -> None:
        """Keep the cheapest violation of each property, and of each line of code that can lose an update."""
        graph = self._graph
        occurrence = Found(graph.costs[number] + cost, graph.depths[number] + len(last), finding, number, last)
        cause = (finding.property, finding.line)
        self._counts[cause] += 1
        known = self._cheapest.get(cause)
        if known is None:
            self.last_news = len(graph)
        if known is None or occurrence[:2] < known[:2]:
            self._cheapest[cause] = occurrence
        if finding.line is not None and finding.property in _LOSSES:
            known = self._losses.get(finding.line)
            if known is None or occurrence[:2] < known[:2]:
                self._losses[finding.line] = occurrence

    def explained(self, explain: Explain) -> list[Violation]:
        """All violations, programming errors first."""
        ordered = sorted(
            self._cheapest.values(), key=lambda occurrence: occurrence.finding.property != BuiltIn.EXCEPTION
        )
        explained: dict[tuple[str, tuple[Step, ...]], Violation] = {}
        for occurrence in ordered:
            violation = self._explained(occurrence, explain)
            # Shrunk, a violation by one line may turn into that by another.
            explained.setdefault((violation.property, violation.schedule), violation)
        return list(explained.values())

    def losses(self, explain: Explain) -> dict[SourceLocation, Violation]:
        """The shortest trace for each line of code that can lose an update."""
        return {line: self._explained(occurrence, explain) for line, occurrence in self._losses.items()}

    def _explained(self, occurrence: Found, explain: Explain) -> Violation:
        schedule = (*self._graph.schedule(occurrence.number), *occurrence.last)
        violation = explain(occurrence.finding.property, occurrence.finding.sentence, schedule)
        line = occurrence.finding.line
        return replace(violation, count=self._counts[occurrence.finding.property, line], line=line)
