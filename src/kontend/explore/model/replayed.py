"""Takes the steps of a schedule again."""

from __future__ import annotations

from collections.abc import Sequence

from kontend.explore.model.model import Model
from kontend.explore.model.step import Step, Transition
from kontend.explore.problems import BadScenario


def replay(model: Model, schedule: Sequence[Step]) -> list[Transition]:
    """Take some steps from the initial state. Raises :class:`BadScenario` when one of them is not enabled."""
    world = model.initial()
    transitions = []
    for number, step in enumerate(schedule, 1):
        if step not in model.steps(world):
            raise BadScenario(
                f"step {number}, {tuple(step)}, is not enabled: the scenario or its controllers have changed"
            )
        transition = model.next(world, step)
        transitions.append(transition)
        world = transition.world
    return transitions
