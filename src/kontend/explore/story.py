"""A violation, told: the moves that lead to it, and one sentence that names the writes that clash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kontend.cluster.state import Change
from kontend.explore.engine import Engine, replay
from kontend.explore.moves import Move, Step
from kontend.explore.scenario import BUILT_IN
from kontend.explore.token import token_of
from kontend.explore.verdict import Violation
from kontend.kube.meta.names import Key


def violation_of(
    engine: Engine,
    name: str,
    sentence: str,
    choices: Sequence[Move],
    *,
    how: Literal["shortest", "shrunk", "given"] = "shortest",
) -> Violation:
    """What is violated along some moves, as a story; ``how`` says how it came to be as short as it is."""
    steps = replay(engine, choices)
    return Violation(
        name,
        sentence if name in BUILT_IN else sentence + _clash(steps),
        tuple(step.text for step in steps),
        tuple(choices),
        sum(step.price for step in steps),
        how,
        token_of(name, choices, engine.scenario.bounds),
    )


def _clash(steps: Sequence[Step]) -> str:
    """Which earlier write the last one came over."""
    if not steps or not steps[-1].changes:
        return ""
    written = {_object(change) for change in steps[-1].changes}
    for number in range(len(steps) - 1, 0, -1):
        if written & {_object(change) for change in steps[number - 1].changes}:
            return f" (move {len(steps)}), which came over {steps[number - 1].text} (move {number})"
    return ""


def _object(change: Change) -> tuple[str, Key]:
    return change.resource, change.key
