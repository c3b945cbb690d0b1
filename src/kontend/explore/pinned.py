"""A story that was told, followed again move by move."""

from __future__ import annotations

from collections.abc import Sequence

from kontend.explore.engine import Move
from kontend.explore.scenario import Scenario
from kontend.explore.search import Search
from kontend.explore.world import World


def violated_along(scenario: Scenario, texts: Sequence[str]) -> set[str]:
    """The properties that are violated along the moves with these texts.

    Raises ``AssertionError`` when one of them is not possible; the message says what is.
    """
    search = Search(scenario)
    world = search.engine.start()
    choices: list[Move] = []
    for number, text in enumerate(texts, 1):
        steps: dict[str, tuple[Move, World]] = {}
        for move in search.engine.moves(world):
            step = search.engine.make(world, move)
            steps.setdefault(step.text, (move, step.world))
        if text not in steps:
            possible = "".join(f"\n  {each}" for each in steps) or " nothing"
            raise AssertionError(f"move {number}, {text!r}, is not possible. Possible here:{possible}")
        move, world = steps[text]
        choices.append(move)
    return set(search.along(choices))
