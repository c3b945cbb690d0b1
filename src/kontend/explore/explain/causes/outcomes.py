"""The cause of a wrong final state: the write that left it, or the write that is missing.

The final state is compared with that of the nearest good run. The first difference that a write explains is the one
that the sentence is about. Where none does, the run lacks something that the good run does, because of what perturbs
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kontend.explore.explain.causes.cause import Cause, call_text, changed_text
from kontend.explore.explain.causes.decisions import Decision, decision_against
from kontend.explore.explain.causes.outdated import line_of, stale_read
from kontend.explore.explain.causes.perturbations import perturbation
from kontend.explore.explain.causes.writes import cause_of_refusal, cause_of_write
from kontend.explore.explain.fields import (
    changed_paths,
    content_of,
    field_changes,
    object_name,
    short_name,
    shown,
    text_of,
)
from kontend.explore.explain.trail import Part, Reconcile, Taken, Trail
from kontend.explore.model.environment.faults import OPTIONAL, TEXTS
from kontend.kube.meta.names import Key
from kontend.report.document import Difference
from kontend.report.inspection import overlaps
from kontend.runtime.source_location import SourceLocation

_READ_LIVE: Final = (
    "read with api.live where the decision not to act must be right, or make sure that the event that was missed runs "
    "this reconcile again"
)
_LEVEL: Final = (
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
_NOT_YET: Final = (
    "let the reconcile notice that something is left to do: after this line it ends without a write, an error or a "
    "requeue; and let no earlier write remove what says so"
)
_Write = tuple[Taken, Part]


def cause_of_final_state(trail: Trail, good: Trail, found: Sequence[Difference]) -> Cause | None:
    """The cause of the differences between the final state of a trail and that of a good run."""
    for difference in found:
        write = _last_write(trail, difference)
        if write is None or _is_left_over(difference, write, good):
            continue
        cause = cause_of_write(trail, write[0])
        if cause is not None:
            return replace(cause, sentence=f"{_outcome(difference)}: {cause.sentence}")
    for difference in found:
        ordered = _last_one_wins(trail, good, difference)
        if ordered is not None:
            return ordered
    refused = cause_of_refusal(trail)
    if refused is not None and found:
        return replace(refused, sentence=f"{_outcome(found[0])}: {refused.sentence}")
    return _lacking(trail, good, found[0]) if found else None


def without_good_run(trail: Trail, sentence: str) -> Cause:
    """A wrong final state where no good run is known: the writes that lead to it are all there is to say."""
    last = [(taken, change) for taken, _, change in trail.changes() if taken.reconcile is not None]
    if any(taken.transition.cost for taken in trail.steps):
        return Cause(f"{sentence}; no run near this one ends otherwise")
    if not last:
        return Cause(f"{sentence}, although nothing perturbs the run; nothing is ever written")
    taken, change = last[-1]
    sentence += (
        f", although nothing perturbs the run; the last write is that of step {taken.number}: {trail.actor(taken)} "
        f"{changed_text(change)}"
    )
    final = next((step.reconcile for step in reversed(trail.steps) if step.reconcile is not None), None)
    if final is None or not final.reads or final.steps[-1] <= taken.number:
        return Cause(sentence, (taken.number,), _NOT_YET, taken.parts[0].line)
    final.matters = True
    read, line = final.reads[-1], line_of(trail, final.reads[-1])
    sentence += f"; {trail.model.names[final.instance]} ran once more, until step {final.steps[-1]}, and wrote nothing"
    return Cause(sentence, tuple(sorted({taken.number, read.step})), _NOT_YET, line)


def _outcome(difference: Difference) -> str:
    name = short_name(difference.object)
    if difference.path:
        return f"{name} ends with {difference.path} = {shown(difference.got)} instead of {shown(difference.expected)}"
    return f"{name} is {'left over' if difference.got is not None else 'missing'} in the end"


def _last_write(trail: Trail, difference: Difference, *, good: bool = False) -> _Write | None:
    """The last write of a field; of a whole object, the one that made or removed it."""
    there = (difference.expected if good else difference.got) is not None
    last_write = None
    for taken, part, change in trail.changes():
        version = change.new or change.old
        assert version is not None
        if object_name(content_of(version)) != difference.object:
            continue
        if not difference.path:
            if (change.old if there else change.new) is None:
                last_write = (taken, part)
        elif (
            change.old is None
            or change.new is None
            or any(
                overlaps(text_of(path), difference.path)
                for path in changed_paths(content_of(change.old), content_of(change.new))
            )
        ):
            last_write = (taken, part)
    return last_write


def _last_one_wins(trail: Trail, good: Trail, difference: Difference) -> Cause | None:
    """Two reconciles write different values of one field, and the good run makes the two writes in the other order."""
    last, wanted = _last_write(trail, difference), _last_write(good, difference, good=True)
    if not difference.path or last is None or wanted is None or wanted[0].reconcile is None:
        return None
    earlier = [
        (taken, part)
        for taken, part, change in trail.changes()
        if taken.number < last[0].number
        and change.new is not None
        and object_name(content_of(change.new)) == difference.object
        and any(
            field_change.path == difference.path and field_change.after == difference.expected
            for field_change in field_changes(
                content_of(change.old) if change.old is not None else None, content_of(change.new)
            )
        )
    ]
    mine, wrote = last[0].reconcile, earlier[-1][0].reconcile if earlier else None
    if (
        mine is None
        or wrote is None
        or _identity(wrote) != _identity(wanted[0].reconcile)
        or _identity(mine) == _identity(wrote)
    ):
        return None
    first = earlier[-1][0]
    names = [f"{trail.actor(taken)} for {taken.reconcile.request}" for taken in (last[0], first) if taken.reconcile]
    where = f"{difference.path} of {short_name(difference.object)}"
    sentence = (
        f"{_outcome(difference)}: {names[0]} wrote it in step {last[0].number} over {shown(difference.expected)}, "
        f"which {names[1]} had written in step {first.number}; the good run makes the two writes in the other order"
    )
    if trail.model.programs[mine.instance] is trail.model.programs[wrote.instance]:
        fix = (
            f"compute {where} from all objects that it depends on, not from {mine.request} alone, so that the order of "
            "the reconciles does not matter"
        )
    else:
        fix = f"let only one of {' and '.join(sorted(names))} write {where}, or make both write the same value"
    return Cause(sentence, (first.number, last[0].number), fix, last[1].line)


def _identity(reconcile: Reconcile) -> tuple[int, Key]:
    return reconcile.instance, reconcile.request


def _is_left_over(difference: Difference, write: _Write, good: Trail) -> bool:
    """An object that the good run makes, too, and removes later: its creation is not at fault."""
    return not difference.path and any(
        taken.step.action == write[0].step.action and taken.transition.text == write[0].transition.text
        for taken, _, change in good.changes()
        if change.old is None and object_name(content_of(change.new)) == difference.object  # type: ignore[arg-type]
    )


def _lacking(trail: Trail, good: Trail, difference: Difference) -> Cause:
    """A write that is missing, or that left the wrong value and does not come again."""
    write, wanted = _last_write(trail, difference), _last_write(good, difference, good=True)
    parts = []
    culprits = set()
    line: SourceLocation | None = None
    if write is not None and (difference.path or wanted is None):
        did = "wrote it last" if difference.path else "created it" if difference.got is not None else "deleted it"
        parts.append(f"{trail.actor(write[0])} {did} (step {write[0].number})")
        culprits.add(write[0].number)
        line = write[1].line
    taken = _perturbing(trail)
    # A user who acts in the middle of a reconcile may be overlooked by that very reconcile.
    after = 0 if taken is None or taken.step.action == "act" else taken.number
    decision = decision_against(trail, good, difference, wanted, after=after) if wanted is not None else None
    if decision is not None and taken is not None and not _comes_after(decision, taken):
        decision = None
    if wanted is not None and decision is None:
        line = line or wanted[1].line
        where = f" at {wanted[1].line.short}" if wanted[1].line is not None else ""
        lacks = f"this run lacks what the nearest good run does in its step {wanted[0].number}"
        parts.append(f"{lacks}: {wanted[0].transition.text}{where}")
    elif not parts and decision is None:
        parts.append("no step of this run writes it")
    fix = ""
    if taken is not None:
        text, more, fix, at = _disturbance(trail, taken)
        parts.append(text)
        culprits |= more
        if write is not None and write[0].number > taken.number:
            culprits.add(write[0].number)
        line = at or line
    if decision is not None:
        parts.append(decision.text)
        culprits = {*decision.steps, *((taken.number,) if taken is not None else ())}
        decision.reconcile.matters = True
        if fix == _LEVEL:
            line = line or (wanted[1].line if wanted is not None else None)
        else:
            fix, line = decision.fix, decision.line or line
    return Cause(f"{_outcome(difference)}: {'; '.join(parts)}", tuple(sorted(culprits)), fix, line)


def _perturbing(trail: Trail) -> Taken | None:
    """The perturbation that explains most: a fault explains more than the staleness that comes with it."""
    perturbed = [taken for taken in trail.steps if taken.transition.cost]
    faults = [taken for taken in perturbed if taken.step.action in OPTIONAL]
    return next(reversed(faults or perturbed), None)


def _comes_after(decision: Decision, taken: Taken) -> bool:
    """A decision explains the outcome if it was made after the perturbation, with what that had led to."""
    return max(*decision.steps, decision.reconcile.steps[-1]) > taken.number or taken.step.action == "act"


def _disturbance(trail: Trail, taken: Taken) -> tuple[str, set[int], str, SourceLocation | None]:
    """A perturbation as the cause of something that did not happen: text, steps at fault, fix and its line."""
    read = stale_read(trail, taken)
    if read is not None:
        return read[0], {taken.number, read[1].number}, _READ_LIVE, taken.parts[0].line
    changes, action = taken.transition.changes, taken.step.action
    if action == "act" and changes:
        changed = f"{trail.actor(taken)} had {changed_text(changes[0])} in step {taken.number}"
        if taken.before.is_resting:
            return f"{changed}, before the controllers had settled after the last change", {taken.number}, _LEVEL, None
        return f"{changed}, in the middle of a reconcile", {taken.number}, _RUN_AGAIN, None
    if action == "crash":
        return _crash(trail, taken)
    call = taken.parts[0].call
    if call is not None and action in TEXTS:
        done = f", after the server had {changed_text(changes[0])}" if changes else ""
        text = f"{call_text(call)} of {trail.actor(taken)} {TEXTS[action]} (step {taken.number}){done}"
        return text, {taken.number}, _repeatable(call.verb) if action == "lose" else _ERRORS, taken.parts[0].line
    return f"the run is perturbed by {perturbation(taken)}", {taken.number}, "", None


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
        if in_flight.node.text:
            text += f" and before its next call, {in_flight.node.text[0]}"
            verbs.append(in_flight.node.text[0].partition(" ")[0])
    return text, steps, _repeatable(*verbs), line


def _repeatable(*verbs: str) -> str:
    """The fix for a run that stopped between these calls: creates are found by their names, other writes are joined."""
    return _REPEATABLE if "create" in verbs or not verbs else _ONE_REQUEST
