"""Follows one unperturbed fair run: caches up to date, one reconcile at a time, each request in its turn.

It decides one thing for scenarios with states without end, such as those in which a generation grows forever: such a
run that still writes after many rounds never settles.
"""

from __future__ import annotations

from collections import deque

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
    turns: deque[str] = deque()
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


def _next(model: Model, world: World, turns: deque[str], *, waits: bool) -> Step | None:
    """The next step: caches first, then the reconcile under way, the user, retries, whose turn it is, and timers.

    A user who ``waits`` acts when there is nothing else left to do.
    """
    steps = {step.text: step for step in model.steps(world) if not step.optional}
    for part in (": cache sees ", ": cached ", ": get ", ": list "):
        for text, step in steps.items():
            if part in text:
                return step
    for text, step in steps.items():
        if step.acts:
            if not waits and not any(instance.running for instance in world.instances):
                return step
        elif ": retry of " not in text and " starts " not in text and not step.fires:
            return step
    for text, step in steps.items():
        if ": retry of " in text:
            return step
    starts = [text for text in steps if " starts " in text]
    for text in starts:
        if text not in turns:
            turns.append(text)
    for text in list(turns):
        turns.remove(text)
        if text in starts:
            return steps[text]
    acts = next((step for step in steps.values() if step.acts), None)
    if acts is not None and not any(instance.running for instance in world.instances):
        return acts
    return next((step for step in steps.values() if step.fires and not step.perturbs), None)
