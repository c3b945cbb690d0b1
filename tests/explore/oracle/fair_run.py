"""Follows one unperturbed fair run: caches up to date, one reconcile at a time, each request in its turn.

It decides one thing for scenarios with states without end, such as those in which a generation grows forever: such a
run that still writes after many rounds never settles.
"""

from __future__ import annotations

from explore.oracle.identifiers import TooMany
from explore.oracle.model import Step, World
from explore.oracle.transitions import Model
from kontend.explore import Scenario

#: A run that has come to rest so often until the next timer has settled.
_MOST_RESTS = 15


def keeps_writing(scenario: Scenario, *, reconciles: int = 45, ticks: bool = False) -> bool:
    """A fair run still writes in the last third of so many reconciles; ``ticks`` as in the model."""
    model = Model(scenario, ticks=ticks)
    world = model.initial
    #: For each start and retry, when it was last taken.
    turns: dict[str, int] = {}
    run = wrote = rests = 0
    try:
        while run < reconciles:
            step = _next(model, world, turns, waits=ticks)
            rests += step is not None and step.fires
            if step is None or rests > _MOST_RESTS:
                return False
            run += " starts " in step.text
            wrote += step.wrote and run > reconciles * 2 // 3
            world = step.world
    except TooMany:
        return True  # identifiers are used up by writes only
    return wrote > 0


def _next(model: Model, world: World, turns: dict[str, int], *, waits: bool) -> Step | None:
    """The next step: caches first, then the reconcile under way, the user, whose turn it is, retries, and timers.

    A user who ``waits`` acts when nothing but retries and timers is left. Retries do not hold the user up: those of a
    reconcile that always fails have no end.
    """
    steps = {step.text: step for step in model.steps(world) if not step.optional}
    for part in (": cache sees ", ": cached ", ": get ", ": list "):
        for text, step in steps.items():
            if part in text:
                return step
    is_calm = not any(instance.running for instance in world.instances)
    acts = next((step for step in steps.values() if step.acts and is_calm), None)
    if acts is not None and not waits:
        return acts
    starts = [text for text in steps if " starts " in text]
    retries = [text for text in steps if ": retry of " in text]
    for text, step in steps.items():
        if not step.acts and not step.fires and text not in (*starts, *retries):
            return step
    if starts:
        return steps[_whose_turn(starts, turns)]
    if acts is not None:
        return acts
    if retries:
        return steps[_whose_turn(retries, turns)]
    return next((step for step in steps.values() if step.fires and not step.perturbs), None)


def _whose_turn(texts: list[str], turns: dict[str, int]) -> str:
    """The step that was taken longest ago, or never."""
    chosen = min(texts, key=lambda text: turns.get(text, 0))
    turns[chosen] = 1 + max(turns.values(), default=0)
    return chosen
