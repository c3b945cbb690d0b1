"""Looks that come to nothing: a retry or a timer whose reconcile writes nothing, fails in nothing and leads back.

A controller that only looks again from time to time has settled, and does not keep the timers of others from firing.
Only taking the steps tells: code decides by what it reads. They are taken from the state as it is, and the answer is
kept for every state in which the process and the objects are the same.
"""

from __future__ import annotations

from typing import Final

from kontend.explore.model.environment.courses import Next
from kontend.explore.model.layout import Layout
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.kube.meta.names import Key

#: A reconcile that has made more calls than these without a write does not come to an end.
_MOST_CALLS: Final = 10_000


class Futile:
    """Finds the retries and timers that change nothing."""

    def __init__(self, layout: Layout, following: Next) -> None:
        """``following`` takes a step."""
        self._layout = layout
        self._following = following
        self._known: dict[tuple[object, ...], bool] = {}

    def is_futile(self, world: World, step: Step) -> bool:
        """A retry or a timer, with the reconcile that follows, writes nothing, fails in nothing and leads back."""
        assert isinstance(step.subject, Key)
        question = (step, self._situation(world, step.instance))
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = self._leads_back(world, step, step.subject)
        return answer

    def _leads_back(self, world: World, step: Step, request: Key) -> bool:
        following, index = self._following, step.instance
        situation = self._situation(world, index)
        transition = following(following(world, step).world, Step("start", index, request))
        for _ in range(_MOST_CALLS):
            if transition.changes or transition.failure is not None:
                return False
            if not transition.world.instances[index].running:
                return self._situation(transition.world, index) == situation
            transition = following(transition.world, Step("call", index, request))
        return False

    def _situation(self, world: World, index: int) -> tuple[object, ...]:
        """All that a process by itself depends on."""
        return self._layout.keys.of_process(world, self._layout.places[index][0]), world.objects, world.issued_sum
