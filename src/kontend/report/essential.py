"""The steps of a long trace that explain its violation; the page chooses them in the same way.

They are the steps at fault, those that repeat forever, faults and actions of users, and the reconciles that any of the
steps at fault belongs to. Between these reconciles, the writes and events of the objects that are at fault count, too:
somebody else may have written in between. Before the first of them nothing else counts, because a counter that is
written fifty times would hide the two writes that collide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from kontend.report.document import Explanation, Step

#: Traces with at most this many steps to show are shown whole: two screens.
SHORT: Final = 60
#: Steps of the same actor that stand for the reconcile of a step at fault, where it is not known.
_BEFORE: Final = 5
_FAULTS: Final = frozenset({"act", "crash", "depose", "fail", "lose", "timeout", "conflict", "throttle", "unavailable"})


def essential_steps(steps: Sequence[Step], violation: Explanation) -> frozenset[int]:
    """Return the numbers of the steps that explain a violation; of a short trace, of all."""
    if not violation.culprits or sum(not step.changes_nothing for step in steps) <= SHORT:
        return frozenset(step.number for step in steps)
    at_fault = [step for step in steps if step.number in violation.culprits]
    objects = {write.object for step in at_fault for write in step.writes}
    actors = {step.actor for step in at_fault}
    inside = _reconciles_of(steps, violation.culprits)
    since = min(inside)
    cycle = violation.cycle
    return frozenset(
        step.number
        for step in steps
        if step.number in inside
        or (cycle is not None and cycle.first <= step.number <= cycle.last)
        or step.action in _FAULTS
        or (
            step.number >= since
            and (
                any(write.object in objects for write in step.writes)
                or any(event.cache in actors and event.object in objects for event in step.delivered)
            )
        )
    )


def _reconciles_of(steps: Sequence[Step], culprits: Sequence[int]) -> frozenset[int]:
    """Return the steps at fault, and those of the reconciles that they belong to.

    A trace of a real controller does not say which reconcile a call belongs to: a few earlier steps stand for it.
    """
    found = set(culprits)
    current: dict[tuple[str, str], list[int]] = {}
    before: dict[str, deque[int]] = {}
    for step in steps:
        earlier = before.setdefault(step.actor, deque(maxlen=_BEFORE))
        if step.number in culprits and not step.request:
            found.update(earlier)
        earlier.append(step.number)
        key = (step.actor, step.request)
        if step.action == "start":
            current[key] = []
        if step.request and key in current:
            current[key].append(step.number)
            if step.number in culprits:
                found.update(current[key])
    return frozenset(found)
