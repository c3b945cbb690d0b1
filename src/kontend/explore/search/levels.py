"""Levels of a search: states by the number of perturbations that lead to them.

A search that goes by perturbations ends, at a limit, with some levels complete. Everything that was found in these is
certain, however many states are left. The numbers of states in them also say what it takes to decide more: they grow by
a factor from one level to the next, the factor shrinks from level to level as the bounds exhaust the perturbations, and
both are extrapolated. Rejected: small searches with tighter bounds, to measure instead of estimating. They take as long
as the search that has just ended, in which their states were all seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.search.graph import Graph
from kontend.explore.verdict import Suggestion

#: Levels beyond the complete ones that are extrapolated.
_MOST_LEVELS: Final = 64
#: Complete levels that it takes to know a factor, and how it shrinks.
_ENOUGH: Final = 3


def counted(costs: Iterable[int]) -> tuple[int, ...]:
    """The number of states in each level, from those of all states."""
    counts = Counter(costs)
    return tuple(counts[cost] for cost in range(max(counts, default=-1) + 1))


def expected(levels: Sequence[int], most: int = _MOST_LEVELS) -> int:
    """Estimate the states of a space, or of ``most`` more levels, from its complete levels; 0 if they do not tell.

    >>> expected([100, 200, 200])  # then 100, 25, 3
    628
    >>> expected([100, 200, 400])
    0
    >>> expected([100, 200, 400], most=1)
    1500
    """
    if levels and not levels[-1]:
        return sum(levels)  # no perturbation leads further
    if len(levels) < _ENOUGH:
        return 0
    before, factor = levels[-2] / levels[-3], levels[-1] / levels[-2]
    shrinks = min(1.0, factor / before)
    if shrinks == 1.0 and most > 1 and factor >= 1:
        return 0
    total, level = float(sum(levels)), float(levels[-1])
    for _ in range(most):
        factor *= shrinks
        level *= factor
        total += level
        if level < 1:
            return round(total)
    return round(total) if most < _MOST_LEVELS else 0


def suggestions(model: Model, graph: Graph, levels: Sequence[int], complete: int) -> tuple[Suggestion, ...]:
    """The bounds that may decide more than a search did, of which ``complete`` levels are complete."""
    bounds = model.scenario.bounds
    tighter: list[tuple[str, int, Callable[[Step], bool]]] = []
    first = {index for index in range(len(model.programs)) if model.layout.siblings(index)[0] == index}
    if bounds.concurrent > 1:
        tighter.append(("concurrent", 1, lambda step: step.instance >= 0 and step.instance not in first))
    if bounds.faults and bounds.tried:
        tighter.append(("faults", 0, lambda step: step.action in OPTIONAL))
    found = []
    for name, value, is_needed in tighter:
        states = expected(counted(_without(graph, is_needed, complete))[:complete])
        if states <= bounds.states:
            found.append(Suggestion(name, value, states))
    found.sort(key=lambda suggestion: suggestion.states or bounds.states)
    further = expected(levels[:complete], most=1)
    if further:
        found.append(Suggestion("states", max(further, len(graph) + 1), max(further, len(graph) + 1)))
    if complete:
        found.append(Suggestion("perturbations", complete - 1, sum(levels[:complete])))
    return tuple(found)


def _without(graph: Graph, is_needed: Callable[[Step], bool], complete: int) -> Iterable[int]:
    """The levels of the states to which a way leads without some steps."""
    answers: dict[int, bool] = {0: True}
    steps: dict[tuple[Step, ...], bool] = {}
    for number in range(len(graph)):
        if graph.costs[number] >= complete:
            continue
        way = []
        at = number
        while at not in answers:
            way.append(at)
            at = graph.parents[at]
        answer = answers[at]
        for at in reversed(way):
            if answer:
                macro = graph.steps[at]
                if macro not in steps:
                    steps[macro] = not any(map(is_needed, macro))
                answer = steps[macro]
            answers[at] = answer
        if answer:
            yield graph.costs[number]
