"""Perturbations of a trace, in words."""

from __future__ import annotations

from typing import Final

from kontend.explore.explain.trail import Taken, Trail

_WORDS: Final = {
    "call": "a stale read in step {}",
    "start": "a reconcile that starts in step {} while another one is in flight",
    "act": "a user who acts in step {}, in the middle of a reconcile",
    "relist": "a relist in step {}, which shows several events as one",
    "timer": "a timer that fires early in step {}",
    "crash": "a crash in step {}",
    "depose": "a hand-over in step {}, with a write on its way",
    "fail": "a request that fails in step {}",
    "throttle": "a request that the server refuses with 429 in step {}",
    "unavailable": "a request that the server refuses with 503 in step {}",
    "conflict": "a conflict without a reason in step {}",
    "timeout": "a request that times out in step {}",
    "lose": "a response that is lost in step {}",
}


def perturbation(taken: Taken) -> str:
    """Describes the perturbation of a step."""
    words = _WORDS.get(taken.step.action, f"{taken.step.action} in step {{}}").format(taken.number)
    if taken.step.action == "act" and taken.before.is_resting:
        words = f"a user who acts again in step {taken.number}, before the controllers have settled"
    if taken.step.action == "crash" and taken.step.at:
        words += ", and a restart with old lists"
    return words


def perturbations(trail: Trail) -> tuple[str, ...]:
    """Describes the perturbations of a trail, in order."""
    return tuple(perturbation(taken) for taken in trail.steps if taken.transition.cost)
