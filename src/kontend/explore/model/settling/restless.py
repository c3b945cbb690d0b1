"""Runs that never settle although no state comes back: something grows with every round.

A counter in a status, a list that gets longer, a time stamp: the search would follow such a run until a limit stops it.
So one unperturbed run is made first. If it still writes after a bounded number of writes, its states are compared
without numbers, times and checksums, and the part that repeats is the cycle. As long as a reconcile would do something
else at a later time, the run may yet come to an end, and is followed further.

A search that comes back to a state up to counters asks the same about what follows (:func:`goes_on`): code may read
the counter, or the time, and stop.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import xxhash

from kontend.explore.model.environment.timers import MOST_PERIODS
from kontend.explore.model.model import Model
from kontend.explore.model.settling.quiescence import is_quiescent
from kontend.explore.model.state.canonical import generated_names
from kontend.explore.model.state.world import World
from kontend.explore.model.step import UNPERTURBED, Step
from kontend.explore.program.masking import masked
from kontend.kube.meta.names import Key

#: An unperturbed run that has written so often has had the time to settle.
MOST_WRITES: Final = 200
#: A run that takes more steps than these without a write does something else than writing.
_MOST_IDLE: Final = 1_000
#: The same for one in which a reconcile would do something else at a later time.
_MOST_TIMED_WRITES: Final = 2_000
#: A run that has settled so often until the next timer settles.
_MOST_TIMERS: Final = 20
#: Checksums: words of some length with a digit in them. And numbers, times and what is made up of them.
_CHECKSUMS: Final = re.compile(rb"(?<![0-9A-Za-z])(?=[A-Za-z]*[0-9])[0-9A-Za-z]{6,}(?![0-9A-Za-z])")
_NUMBERS: Final = re.compile(rb"[0-9]+")


class Cycle(NamedTuple):
    """A run that comes back to a state, up to numbers."""

    schedule: tuple[Step, ...]
    #: The number of steps before the part that repeats.
    begin: int


#: The results for models that are still in use.
_KNOWN: Final[WeakKeyDictionary[Model, Cycle | None]] = WeakKeyDictionary()


def restless(model: Model) -> Cycle | None:
    """The start of the unperturbed run with its first cycle, if it does not settle. It is made once for a model."""
    if model not in _KNOWN:
        _KNOWN[model] = _cycle_of(model)
    return _KNOWN[model]


class _Endless(NamedTuple):
    """A run that has not come to an end."""

    schedule: list[Step]
    #: The states after each write, and after how many steps.
    written: list[tuple[int, World]]


def _cycle_of(model: Model) -> Cycle | None:
    run = _followed(model, model.initial())
    if isinstance(run, _Endless) and len(run.written) >= MOST_WRITES:
        return _first_cycle(run.schedule, run.written)
    return None


def goes_on(model: Model, world: World) -> bool:
    """The unperturbed run from a state writes again and again, as far as it is followed, unless a user acts.

    One that ends with the same error forever does not go on.
    """
    run = _followed(model, world, acts=False, most_timers=2 * MOST_PERIODS)
    return run is not None and bool(run.written) and 2 * run.written[-1][0] > len(run.schedule)


def _followed(model: Model, world: World, *, acts: bool = True, most_timers: int = _MOST_TIMERS) -> _Endless | None:
    """Follow the unperturbed run from a state; None where it settles, or (with ``acts``) only looks again."""
    times: Counter[Step] = Counter()
    run = _Endless([], [])
    idle = fired = 0
    patient_until = MOST_WRITES
    while idle < _MOST_IDLE:
        steps = model.steps(world)
        if is_quiescent(model, world, steps):
            return None
        order = sorted(
            (step for step in steps if step.action in UNPERTURBED and (acts or step.action != "act")),
            key=lambda step: (UNPERTURBED.index(step.action), times[step]),
        )
        taken = ((step, transition) for step in order if not (transition := model.next(world, step)).cost)
        chosen = next(taken, None)
        if chosen is None:
            return None
        step, transition = chosen
        if step.action == "timer":
            # It has settled until a timer fires; what a timer does again and again is not a cycle of its own making.
            fired += 1
            if fired > most_timers:
                return None if acts else run
        times[step] += 1
        run.schedule.append(step)
        world = transition.world
        idle += 1
        if transition.changes:
            run.written.append((len(run.schedule), world))
            idle = 0
            writes = len(run.written)
            if writes >= MOST_WRITES and model.mechanics.timers.may_end(world):
                patient_until = min(writes + MOST_WRITES, _MOST_TIMED_WRITES)
            if writes >= patient_until:
                return run
    return run


def _first_cycle(schedule: list[Step], written: list[tuple[int, World]]) -> Cycle | None:
    """The first part of a run that begins and ends with states of one shape."""
    shapes: dict[bytes, int] = {}
    for end, world in written:
        shape = _shape(world)
        if shape in shapes:
            return Cycle(tuple(schedule[:end]), shapes[shape])
        shapes[shape] = end
    return None


def _shape(world: World) -> bytes:
    """A state without numbers, checksums and made-up names: equal objects, and equal requests, count once."""
    names = generated_names(world.state)
    made_up = re.compile(b"|".join(sorted(map(re.escape, names), reverse=True))) if names else None

    def without(text: bytes) -> bytes:
        text = made_up.sub(b"#", text) if made_up is not None else text
        return _NUMBERS.sub(b"#", _CHECKSUMS.sub(b"#", masked(text)))

    objects = {
        without(f"{resource} {Key(*key)} ".encode() + version.body)
        for resource in world.state.kinds
        for key, version in world.state.objects(resource).items()
    }
    instances = [
        (
            sorted({without(str(request).encode()) for request in instance.queue}),
            sorted({without(str(request).encode()) for request in instance.delayed}),
            sorted({(seconds, without(str(request).encode())) for seconds, request in instance.timers}),
        )
        for instance in world.instances
    ]
    return xxhash.xxh3_128_digest(b"\n".join(sorted(objects)) + repr((world.acted, instances)).encode())
