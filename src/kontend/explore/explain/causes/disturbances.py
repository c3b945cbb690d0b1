"""Perturbations as causes of something that did not happen, or happened twice: their text, their steps and the fix."""

from __future__ import annotations

from dataclasses import dataclass

from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import FAILED, call_text, changed_text
from kontend.explore.explain.causes.outdated import is_restarted, stale_read
from kontend.explore.explain.causes.perturbations import perturbation
from kontend.explore.explain.trail import Taken, Trail
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.program.symbols import bind_call
from kontend.runtime.source_location import SourceLocation


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A perturbation as a cause: its text, the steps at fault, and the fix."""

    text: str
    steps: frozenset[int]
    fix: Fix | None


def perturbing(trail: Trail) -> Taken | None:
    """The perturbation that explains most: a fault explains more than the staleness that comes with it."""
    perturbed = [taken for taken in trail.steps if taken.transition.cost]
    faults = [taken for taken in perturbed if taken.step.action in OPTIONAL]
    return next(reversed(faults or perturbed), None)


def disturbance(trail: Trail, taken: Taken) -> Disturbance:
    """A perturbation as the cause of something that did not happen."""
    read, line = stale_read(trail, taken), taken.parts[0].line
    if read is not None:
        own = misses_own_write(trail, taken) and not trail.scenario.guards.read_your_writes
        fix = Fix(Remedy.READ_OWN_WRITES, line, notes=frozenset({"live"})) if own else Fix(Remedy.READ_LIVE, line)
        return Disturbance(read[0], frozenset({taken.number, read[1].number}), fix)
    changes, action, only = taken.transition.changes, taken.step.action, frozenset({taken.number})
    if action == "act" and changes:
        changed = f"{trail.actor(taken)} had {changed_text(changes[0])} in step {taken.number}"
        if taken.before.is_resting:
            settled = f"{changed}, before the controllers had settled after the last change"
            return Disturbance(settled, only, Fix(Remedy.DECIDE_BY_STATE))
        return Disturbance(f"{changed}, in the middle of a reconcile", only, Fix(Remedy.RUN_AGAIN))
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
        return Disturbance(text, only, Fix(_repeatable(call.verb) if action == "lose" else Remedy.END_ON_ERROR, line))
    return Disturbance(f"the run is perturbed by {perturbation(taken)}", only, None)


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


def _crash(trail: Trail, taken: Taken) -> Disturbance:
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
    return Disturbance(text, frozenset(steps), Fix(_repeatable(*verbs), line))


def _repeatable(*verbs: str) -> Remedy:
    """For a run that stopped between these calls: creates are found by their names, other writes are joined."""
    return Remedy.MAKE_REPEATABLE if "create" in verbs or not verbs else Remedy.JOIN_WRITES
