"""The nearest good run: as much of a failing schedule as possible, continued without perturbations.

The longest prefix counts after which everything settles and the property holds. Where it ends is what should have come
out, and the first step that differs is where the failing run went wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kontend.explore.explain.final_states import differences
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.state.canonical import final_form
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.judge import Judge
from kontend.explore.search.baseline import SOON, Baseline
from kontend.explore.search.walks.walk import Walk

#: Prefixes that are tried, steps for which each goes on, and steps that this may take in all.
_MOST: Final = 40
_STEPS: Final = 500
_BUDGET: Final = 3_000


@dataclass(frozen=True, slots=True)
class GoodRun:
    """A run in which the property holds, up to its final state."""

    schedule: tuple[Step, ...]
    world: World
    #: The number of its first steps that are those of the failing run.
    common: int


def nearest_good_run(model: Model, name: str, schedule: Sequence[Step], failing: World) -> GoodRun | None:
    """The good run nearest to a failing one that ends in ``failing``; None where none was found.

    For a final state that is wrong, the nearest run is one whose final state differs least.
    """
    by_state = name == BuiltIn.DIVERGED or any(
        prop.name == name and prop.mode == "eventually" for prop in model.scenario.properties
    )
    baseline = Baseline(model, most=SOON).run().final_states if by_state else None
    judge = Judge(model)
    best: GoodRun | None = None
    least = (0, 0)
    budget = _BUDGET
    lengths = list(_prefixes(len(schedule)))
    if by_state:
        # In a long run most prefixes go beyond its last perturbation, and end as it does: they would take up
        # the budget before the runs that differ in nothing but a perturbation.
        lengths = list(dict.fromkeys([*_before_perturbations(model, schedule), *lengths]))
    for length in lengths:
        if budget <= 0 and length:
            continue  # but the run that is unperturbed from its start is tried
        run, steps = _continued(model, judge, name, schedule[:length], baseline)
        budget -= steps
        if run is None:
            continue
        if not by_state:
            return run
        size = len(differences(failing.state, run.world.state, model.ignored))
        if best is None or (size, -length) < least:
            best, least = run, (size, -length)
    return best


def _before_perturbations(model: Model, schedule: Sequence[Step]) -> list[int]:
    """The lengths of the prefixes that end before a perturbation, longest first."""
    walk = Walk(model)
    found = []
    for length, step in enumerate(schedule):
        cost = walk.cost
        walk.take(step)
        if walk.cost > cost:
            found.append(length)
    return found[::-1]


def _prefixes(length: int) -> Iterator[int]:
    """The lengths of the prefixes to try, longest first: of a long schedule only some."""
    if length <= _MOST:
        yield from range(length - 1, -1, -1)
        return
    yield from range(length - 1, length - 1 - _MOST // 2, -1)
    step = max(1, length // (_MOST // 2))
    yield from range(length - 1 - _MOST // 2, 0, -step)
    yield 0


def _continued(
    model: Model, judge: Judge, name: str, prefix: Sequence[Step], baseline: frozenset[bytes] | None
) -> tuple[GoodRun | None, int]:
    """A prefix and its unperturbed continuation, if everything settles and the property holds; and its length."""
    walk = Walk(model, judge=judge, baseline=baseline)
    for step in prefix:
        walk.take(step)
    if name in walk.violations:
        return None, 0
    walk.settle(_STEPS, until=name)
    world, taken = walk.world, len(walk.schedule)
    if name in walk.violations or not is_quiescent(model, world, model.steps(world)):
        return None, taken
    is_compared = name == BuiltIn.DIVERGED and walk.cost
    if is_compared and (baseline is None or final_form(world, model.ignored) not in baseline):
        return None, taken
    return GoodRun(tuple(walk.schedule), world, len(prefix)), taken
