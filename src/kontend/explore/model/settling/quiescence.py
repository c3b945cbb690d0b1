"""Quiescence of one state, as far as it shows without a search.

A controller that only looks again from time to time never stops taking steps, and has settled all the same. Where
nothing is in flight, nothing is undelivered and the user is done, what each instance does does not depend on the
others: if each retry alone writes nothing, fails in nothing and comes back to the same state, then all of them
together do.
"""

from __future__ import annotations

from collections.abc import Sequence

from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.model.model import Model
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step


def is_quiescent(model: Model, world: World, steps: Sequence[Step]) -> bool:
    """Nothing must happen any more (``steps`` are what can) but looking again and finding nothing to do.

    Other states may be quiescent, too: only a search can tell.
    """
    if model.is_stuck(world):
        return False
    steps = [step for step in steps if step.action not in OPTIONAL]
    if not steps:
        return True
    if any(step.action not in ("retry", "timer") for step in steps):
        return False
    return all(model.mechanics.futile.is_futile(world, step) for step in steps)
