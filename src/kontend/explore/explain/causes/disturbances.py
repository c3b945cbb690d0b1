"""Perturbations as causes of something that did not happen, or happened twice: their text, their steps and the fix."""

from __future__ import annotations

from typing import Final

from kontend.explore.explain.causes.cause import FAILED, call_text, changed_text
from kontend.explore.explain.causes.outdated import is_restarted, stale_read
from kontend.explore.explain.causes.perturbations import perturbation
from kontend.explore.explain.trail import Taken, Trail
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.program.symbols import bind_call
from kontend.runtime.source_location import SourceLocation

_READ_LIVE: Final = (
    "read with api.live where the decision not to act must be right, or make sure that the event that was missed runs "
    "this reconcile again"
)
_OWN: Final = (
    "switch on the guard read_your_writes (it is off in this scenario): a cached read then waits until the cache has "
    "seen this instance's own last write; or read with api.live"
)
LEVEL: Final = (
    "decide by the wanted state and by what is there, not by how the wanted state has changed: a controller may never "
    "see a state in between"
)
_RUN_AGAIN: Final = (
    "compute from what was read last, and make sure that the event of a change in the middle runs this reconcile again"
)
_REPEATABLE: Final = (
    "make the reconcile repeatable: derive the name of what it creates from its owner, or record it before it is made, "
    "so that the next run finds it"
)
_ONE_REQUEST: Final = (
    "store what belongs together in one request; or store last what says that the work is done, and let the next run "
    "compare with what is there instead of trusting it"
)
_ERRORS: Final = (
    "let the error end the reconcile, so that it runs again, and let the next run find what this one had done by then"
)


def perturbing(trail: Trail) -> Taken | None:
    """The perturbation that explains most: a fault explains more than the staleness that comes with it."""
    perturbed = [taken for taken in trail.steps if taken.transition.cost]
    faults = [taken for taken in perturbed if taken.step.action in OPTIONAL]
    return next(reversed(faults or perturbed), None)


def disturbance(trail: Trail, taken: Taken) -> tuple[str, set[int], str, SourceLocation | None]:
    """A perturbation as the cause of something that did not happen: text, steps at fault, fix and its line."""
    read = stale_read(trail, taken)
    if read is not None:
        own = misses_own_write(trail, taken) and not trail.model.scenario.guards.read_your_writes
        return read[0], {taken.number, read[1].number}, _OWN if own else _READ_LIVE, taken.parts[0].line
    changes, action = taken.transition.changes, taken.step.action
    if action == "act" and changes:
        changed = f"{trail.actor(taken)} had {changed_text(changes[0])} in step {taken.number}"
        if taken.before.is_resting:
            return f"{changed}, before the controllers had settled after the last change", {taken.number}, LEVEL, None
        return f"{changed}, in the middle of a reconcile", {taken.number}, _RUN_AGAIN, None
    if action == "crash":
        return _crash(trail, taken)
    call = taken.parts[0].call
    if call is not None and action in FAILED:
        by = f"{call_text(call, changes[0] if changes else None)} by {trail.actor(taken)}"
        text = f"{by} {FAILED[action]} (step {taken.number})"
        if action == "lose":
            made = changes and changes[0].old is not None and changes[0].new is not None
            done = changed_text(changes[0]) if made else "carried it out"
            text = f"the response to {by} was lost (step {taken.number}), after the server had {done}"
        return text, {taken.number}, _repeatable(call.verb) if action == "lose" else _ERRORS, taken.parts[0].line
    return f"the run is perturbed by {perturbation(taken)}", {taken.number}, "", None


def misses_own_write(trail: Trail, taken: Taken) -> bool:
    """A step is a stale read that misses a write of the same instance, which has not been restarted since."""
    read, instance = stale_read(trail, taken), taken.step.instance
    writer = read[1].reconcile if read is not None else None
    return (
        read is not None
        and writer is not None
        and writer.instance == instance
        and not is_restarted(trail, instance, read[1].number, taken.number)
    )


def _crash(trail: Trail, taken: Taken) -> tuple[str, set[int], str, SourceLocation | None]:
    """A crash between two calls: the last write before it, and the call that was not made any more."""
    actor, instance = trail.actor(taken), taken.before.instances[taken.step.instance]
    text, steps = f"{actor} crashed in step {taken.number}", {taken.number}
    line: SourceLocation | None = None
    verbs: list[str] = []
    for in_flight in instance.running:
        writes = [
            (other, part, change)
            for other, part, change in trail.changes()
            if other.number < taken.number
            and other.reconcile is not None
            and (other.reconcile.instance, other.reconcile.request) == (taken.step.instance, in_flight.request)
        ]
        if writes:
            other, part, change = writes[-1]
            text += f", after it had {changed_text(change)} (step {other.number})"
            steps.add(other.number)
            line = part.line
            verbs += [part.call.verb] if part.call is not None else []
        if in_flight.node.calls:
            call = in_flight.node.calls[0]
            text += f" and before its next call, {call_text(bind_call(call, in_flight.uuids))}"
            verbs.append(call.verb)
    return text, steps, _repeatable(*verbs), line


def _repeatable(*verbs: str) -> str:
    """The fix for a run that stopped between these calls: creates are found by their names, other writes are joined."""
    return _REPEATABLE if "create" in verbs or not verbs else _ONE_REQUEST
