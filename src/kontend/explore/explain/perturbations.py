"""Perturbations of a trace, in words."""

from __future__ import annotations

from typing import Final

from kontend.explore.explain.trail import Taken, Trail

_WORDS: Final = {
    "call": "stale read",
    "start": "reconcile that starts while another one is in flight",
    "act": "user who acts in the middle of a reconcile",
    "relist": "relist, which shows several events as one",
    "crash": "crash",
    "fail": "failed request",
    "lose": "lost response",
    "restart": "restart",
}


def perturbation(taken: Taken) -> str:
    """Describes the perturbation of a step."""
    words = _WORDS.get(taken.step.action, taken.step.action)
    return f"{words} in step {taken.number}"


def perturbations(trail: Trail) -> tuple[str, ...]:
    """Describes the perturbations of a trail, in order."""
    return tuple(perturbation(taken) for taken in trail.steps if taken.transition.cost)
