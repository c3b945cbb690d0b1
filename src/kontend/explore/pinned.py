"""A story that was told, followed again move by move."""

from __future__ import annotations

from collections.abc import Sequence

from kontend.explore.engine import Engine
from kontend.explore.moves import Move
from kontend.explore.scenario import Scenario
from kontend.explore.walk import Walk


def violated_along(scenario: Scenario, texts: Sequence[str]) -> set[str]:
    """The properties that are violated along the moves with these texts.

    Raises ``AssertionError`` when one of them is not possible; the message says what is.
    """
    engine = Engine(scenario)
    walk = Walk(engine)
    for number, text in enumerate(texts, 1):
        steps: dict[str, Move] = {}
        for move in engine.moves(walk.world):
            steps.setdefault(engine.make(walk.world, move).text, move)
        if text not in steps:
            possible = "".join(f"\n  {each}" for each in steps) or " nothing"
            raise AssertionError(f"move {number}, {text!r}, is not possible. Possible here:{possible}")
        walk.make(steps[text])
    walk.end()
    return set(walk.wrongs)
