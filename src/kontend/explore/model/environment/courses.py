"""Courses of a reconcile: what it would do from a state, at one time or another.

A clock goes on as long as that can make a difference. Code compares times in ways that do not show from outside, so a
reconcile is run as it would be later, and what it does is compared up to the times that it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step, Transition
from kontend.explore.program.masking import masked
from kontend.kube.meta.names import Key

#: A reconcile that makes more calls than these does not come to an end.
_MOST_CALLS: Final = 10_000
#: Takes a step.
Next = Callable[[World, Step], Transition]


class Course(NamedTuple):
    """All that a reconcile does, up to times, and the state after it."""

    #: Its calls up to its end, and its result.
    made: tuple[object, ...]
    after: World
    #: The kinds of its calls: code that makes the same ones asks for the time in the same place.
    shape: tuple[tuple[str, str, str], ...]
    #: The run has asked for the time. One that has not does the same at all times.
    asks_time: bool = True


def course(following: Next, world: World, index: int, request: Key) -> Course:
    """The course of a queued reconcile, if nothing else happens meanwhile."""
    made: list[object] = []
    shape: list[tuple[str, str, str]] = []
    transition = following(world, Step("start", index, request))
    for _ in range(_MOST_CALLS):
        instance = transition.world.instances[index]
        in_flight = next((running for running in instance.running if running.request == request), None)
        if in_flight is None:
            if not made:  # one that nothing interrupts shows no calls
                since = world.state.resource_version
                changes = transition.world.state.changes_since(since)
                made += [
                    (change.resource, change.key, masked(change.new.body) if change.new else b"") for change in changes
                ]
            timers = tuple(seconds for seconds, other in instance.timers if other == request)
            failure = transition.failure.type if transition.failure is not None else ""
            made += [timers, request in instance.delayed, failure, masked(instance.memory)]
            break
        for call in in_flight.node.calls:
            shape.append((call.verb, call.kind, call.subresource))
            made.append((call.verb, call.kind, call.subresource, call.query, masked(call.body)))
            made.append(masked(f"{call.namespace}/{call.name}".encode()))
        transition = following(transition.world, Step("call", index, request))
    return Course(tuple(made), transition.world, tuple(shape))
