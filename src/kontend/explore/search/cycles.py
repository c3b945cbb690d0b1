"""Judges sets of states that lead only to each other: a fair run that reaches one stays there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kontend.explore.properties import built_in
from kontend.explore.properties.built_in import Breach
from kontend.explore.properties.property import Property
from kontend.explore.search.graph import Graph


def judged_cycles(
    graph: Graph,
    properties: Sequence[Property],
    positions: Mapping[str, int],
    ended: set[int],
    *,
    perturbed: bool,
    most: int | None = None,
    holds_up_timers: Callable[[int], bool],
) -> Iterator[tuple[int, Breach | None]]:
    """A state and the violation for each set of states that never settles; states without one are quiescent.

    If nothing is written there and nothing fails, the controllers only look again from time to time: that is
    quiescent. Where not all states are known (``perturbed`` is False), this concerns the unperturbed runs alone, or
    those with up to ``most`` perturbations. Nothing is said of ``ended`` states, which the search did not go beyond,
    nor of unperturbed runs in which a timer never fires because of others that are shorter (``holds_up_timers``, of a
    state that waits for timers).
    """
    level = most if perturbed else most or 0
    components = graph.closed_components(most=level)
    for component in components.closed:
        members = set(component)
        if any(graph.is_unexpanded(number) or number in ended for number in component):
            continue
        if any(graph.waits_for_users(number) for number in component):
            continue  # the unperturbed states alone: a user who acts at another time leads out of it
        if not perturbed and any(graph.waits_for_timers(number) and holds_up_timers(number) for number in component):
            continue
        internal = [wrote for number in component for target, wrote in graph.edges(number) if target in members]
        if not internal:
            continue
        failure = _failure(graph, component)
        if not any(internal) and not failure:
            yield from ((number, None) for number in component)
            continue
        if not failure and not graph.writes_without_timers(members):
            # Something is written whenever a timer fires, and everything has settled until then.
            yield from ((number, None) for number in component if graph.waits_for_timers(number))
            continue
        number = _mildest(graph, component)
        for prop in properties:
            if prop.mode == "eventually":
                position = positions[prop.name]
                if not any(graph.holds[state][position] for state in component):
                    yield number, built_in.never_again(prop.name, perturbed=perturbed)
        if any(internal):
            yield number, built_in.never_settles(len(component), failure, perturbed=perturbed)
        else:
            yield number, built_in.fails_forever(failure)
    if components.waits_for_users:
        yield from _waiting(graph, ended, perturbed=perturbed, most=level)


def _waiting(
    graph: Graph, ended: set[int], *, perturbed: bool, most: int | None
) -> Iterator[tuple[int, Breach | None]]:
    """Judge sets of states that only a user's next action leaves: nobody need act, so writes must end."""
    for component in graph.closed_components(most=most, without_users=True).closed:
        if any(graph.is_unexpanded(number) or number in ended for number in component):
            continue
        if not any(graph.waits_for_users(number) for number in component):
            continue  # it was judged with all others
        if graph.writes_without_timers(set(component)):
            failure = _failure(graph, component)
            finding = built_in.never_settles(len(component), failure, perturbed=perturbed, waits=True)
            yield _mildest(graph, component), finding


def _mildest(graph: Graph, component: Sequence[int]) -> int:
    return min(component, key=lambda number: (graph.costs[number], graph.depths[number]))


def _failure(graph: Graph, component: Sequence[int]) -> str:
    return next((text for number in sorted(component) if (text := graph.failures[number])), "")
