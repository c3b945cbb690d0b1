"""Verdicts as parts of reports: what a search covered, the final states, and the outcome of each property."""

from __future__ import annotations

from dataclasses import replace

from kontend.explore.explain.final_states import differences
from kontend.explore.scenario import Scenario
from kontend.explore.verdict import Reached, Verdict
from kontend.report.document import Document, Exploration, FinalState
from kontend.report.grouping import grouped
from kontend.report.page.contents import PropertyResult, ScenarioResult

#: Final states beyond this number are counted and not compared.
_MOST_COMPARED = 50


def exploration_of(verdict: Verdict, *, timed: bool = False) -> Exploration:
    """The search of a verdict. Without its duration (``timed``) equal searches have equal descriptions."""
    return Exploration(
        verdict.states,
        verdict.steps,
        verdict.exhausted,
        verdict.stopped,
        verdict.seconds if timed else None,
        verdict.coverage,
        _final_states(verdict),
        verdict.depths,
    )


def explained_documents(verdict: Verdict) -> tuple[Document, ...]:
    """The documents of a verdict, each with the search in which it was found."""
    exploration = exploration_of(verdict)
    return tuple(replace(document, exploration=exploration) for document in verdict.documents)


def scenario_result(name: str, scenario: Scenario, verdict: Verdict, documents: tuple[Document, ...]) -> ScenarioResult:
    """A scenario with its verdict, for the page. Violations with the same cause are one."""
    return ScenarioResult(
        name,
        "violated" if verdict.violations else "holds" if verdict.ok else "undecided",
        verdict.summary,
        tuple(grouped(documents)),
        _properties(scenario, verdict),
        exploration_of(verdict, timed=True),
    )


def _final_states(verdict: Verdict) -> tuple[FinalState, ...]:
    """The final states, the unperturbed ones first, with their differences from the first of these."""
    pairs = list(
        zip(verdict.final_states, verdict.reached or [Reached(1, False)] * len(verdict.final_states), strict=True)
    )
    pairs.sort(key=lambda pair: (not pair[1].unperturbed, -pair[1].times))
    return tuple(
        FinalState(
            reached.times,
            reached.unperturbed,
            differences(state, pairs[0][0]) if 0 < number < _MOST_COMPARED else (),
        )
        for number, (state, reached) in enumerate(pairs)
    )


def _properties(scenario: Scenario, verdict: Verdict) -> tuple[PropertyResult, ...]:
    violated = {violation.property for violation in verdict.violations}
    results = []
    for name in scenario.property_names():
        if name in violated:
            results.append(PropertyResult(name, "violated"))
        elif name in verdict.untested:
            results.append(PropertyResult(name, "untested"))
        else:
            results.append(PropertyResult(name, "holds" if verdict.exhausted else "undecided"))
    return tuple(results)
