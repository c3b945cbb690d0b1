"""The cause of a write that went wrong, of an exception, or of a write that the server refused.

A write goes wrong in two ways. It clashes with one of another client (:mod:`~kontend.explore.explain.causes.clashes`),
or its reconcile had read something that has changed since (:mod:`~kontend.explore.explain.causes.outdated`).
"""

from __future__ import annotations

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import Cause, call_text, changed_text, written_text
from kontend.explore.explain.causes.clashes import clash_of, faults_of
from kontend.explore.explain.causes.fixes import fix_of_failure
from kontend.explore.explain.causes.outdated import line_of, missed, outdated_read, what_was_read
from kontend.explore.explain.fields import content_of, number_of
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.program.progress import Failure
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import kind_of, parse_kind
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import UNKNOWN


def cause_of_write(trail: Trail, taken: Taken, *, name: str = "") -> Cause | None:
    """The cause of the writes of a step, if they clash with others or rest on an outdated read.

    ``name`` is the property that they violate: among several clashes, that one is meant.
    """
    for only in (name, ""):
        for part in taken.parts:
            for fault in faults_of(trail, taken, part):
                if only in ("", fault.property):
                    return clash_of(trail, taken, part, fault)
    for part in taken.parts:
        if part.transition.changes:
            cause = outdated_read(trail, taken, part)
            if cause is not None:
                return cause
    return None


def cause_of_failure(trail: Trail) -> Cause | None:
    """The cause of an exception: the last one that left a reconcile, and what that reconcile had read."""
    for taken in reversed(trail.steps):
        failure = taken.transition.failure
        if failure is None:
            continue
        line = failure.line if failure.line != UNKNOWN else taken.parts[-1].line
        where = f" at {failure.line.short}" if failure.line != UNKNOWN else ""
        request = f" in the reconcile of {taken.reconcile.request}" if taken.reconcile is not None else ""
        sentence = f"{trail.actor(taken)} raised {failure.text}{where}{request} (step {taken.number})"
        unseen = missed(trail, taken, taken.reconcile.reads) if taken.reconcile is not None else None
        if unseen is None:
            # A read that fails because somebody has removed the object.
            removed = _last_change(trail, taken, taken.parts[-1])
            if removed is None or removed[1].new is not None or failure.is_bug:
                missing = "" if removed is not None else _missing(failure, taken.parts[-1])
                if missing:
                    sentence += f"; the scenario does not start with {missing}, and nobody had created it"
                return Cause(sentence, (taken.number,), fix_of_failure(failure, line, missing=missing))
            other, change = removed
            sentence += f"; {trail.actor(other)} had {changed_text(change)} (step {other.number})"
            return Cause(sentence, (other.number, taken.number), fix_of_failure(failure, line))
        seen, other, change = unseen
        sentence += (
            f" after it had read {what_was_read(seen, change)} in step {seen.step}; "
            f"{trail.actor(other)} had {changed_text(change)} at resourceVersion "
            f"{number_of(change.resource_version)} (step {other.number})"
        )
        return Cause(sentence, tuple(sorted({other.number, taken.number})), fix_of_failure(failure, line))
    return None


def cause_of_refusal(trail: Trail) -> Cause | None:
    """A write that the server refused with a conflict, and whose reconcile went on or ended without it."""
    for taken in reversed(trail.steps):
        for part in taken.parts:
            if part.call is None or not part.call.writes or not part.transition.answer.is_conflict:
                continue
            if taken.transition.failure is not None:  # it is retried
                continue
            other = _last_change(trail, taken, part)
            why = ""
            if other is not None:
                changer, change = other
                version = number_of(change.resource_version)
                by = trail.actor(changer) + " itself" * (trail.actor(changer) == trail.actor(taken))
                why = f", because {by} had {changed_text(change)} at resourceVersion {version} "
                why += f"(step {changer.number}){_read_before(trail, taken, change)}"
            sentence = (
                f"the server refused {call_text(part.call)} by {trail.actor(taken)} with 409 Conflict (step "
                f"{taken.number}){why}; the reconcile "
            )
            culprits = (other[0].number, taken.number) if other is not None else (taken.number,)
            again = _second_attempt(trail, taken, part.call)
            if again is None:
                fix = Fix(Remedy.END_ON_CONFLICT, part.line)
                return Cause(f"{sentence}went on without this write", culprits, fix)
            second, write = again
            sentence += f"then {written_text(write)} (step {second.number})"
            fix = Fix(Remedy.RECOMPUTE_AFTER_CONFLICT, write.line)
            return Cause(sentence, (*culprits, second.number), fix)
    return None


def _second_attempt(trail: Trail, refused: Taken, call: Call) -> tuple[Taken, Part] | None:
    """A later write of the same reconcile to the object of a write that was refused."""
    for taken in trail.steps[refused.number :]:
        for part in taken.parts if taken.reconcile is refused.reconcile else ():
            other = part.call
            if part.transition.changes and other is not None and (other.kind, other.key) == (call.kind, call.key):
                return taken, part
    return None


def _read_before(trail: Trail, taken: Taken, change: Change) -> str:
    """Names the version of the object of a change that a reconcile had read last, and when."""
    reads = [
        (version, seen.step)
        for seen in (taken.reconcile.reads if taken.reconcile is not None else ())
        if seen.resource == change.resource and (version := seen.versions.get(change.key)) is not None
    ]
    if not reads:
        return ""
    version, step = reads[-1]
    return f", and {trail.actor(taken)} had read resourceVersion {number_of(version.resource_version)} (step {step})"


def _missing(failure: Failure, part: Part) -> str:
    """Name the object that a failed read did not find; empty for any other failure."""
    call = part.call
    if failure.type != NotFound.__name__ or call is None or call.verb != "get":
        return ""
    return f"{parse_kind(call.kind).kind} {call.key}"


def _last_change(trail: Trail, taken: Taken, part: Part) -> tuple[Taken, Change] | None:
    """The last change of the object of a call before a step."""
    latest = None
    for other, _, change in trail.changes():
        if other.number < taken.number and part.call is not None and change.key == part.call.key:
            version = change.new or change.old
            assert version is not None
            if str(kind_of(content_of(version))) == part.call.kind:
                latest = (other, change)
    return latest


def plain_cause(trail: Trail, taken: Taken, name: str) -> Cause | None:
    """A write that violates a property on its own: the last change of what it was decided by is named."""
    for part in taken.parts:
        if not part.transition.changes:
            continue
        sentence = f"{trail.actor(taken)} {written_text(part)} (step {taken.number}), which violates {name}"
        culprits = {taken.number}
        known = _last_known(trail, taken, part)
        if known is not None:
            other, change = known
            sentence += f"; {trail.actor(other)} had {changed_text(change)} (step {other.number})"
            culprits.add(other.number)
        return Cause(sentence, tuple(sorted(culprits)), _check_before(trail, taken, part, name))
    return None


def _last_known(trail: Trail, taken: Taken, part: Part) -> tuple[Taken, Change] | None:
    """The last change before a step of the object that it writes, or else of an object that its reconcile has read."""
    target = part.transition.changes[0]
    read = {
        (seen.resource, key) for seen in (taken.reconcile.reads if taken.reconcile else ()) for key in seen.versions
    }
    own, others = None, None
    for other, _, change in trail.changes():
        if other.number >= taken.number or (other.reconcile is not None and other.reconcile is taken.reconcile):
            continue
        if (change.resource, change.key) == (target.resource, target.key):
            own = (other, change)
        elif (change.resource, change.key) in read:
            others = (other, change)
    return own or others


def _check_before(trail: Trail, taken: Taken, part: Part, name: str) -> Fix | None:
    """The reads that a write was decided by, as the place for what is missing."""
    reads = taken.reconcile.reads if taken.reconcile is not None else ()
    lines = dict.fromkeys(line.short for seen in reads if (line := line_of(trail, seen)) is not None)
    if not lines:
        return None
    return Fix(Remedy.CHECK_PROPERTY, part.line, {"property": name, "read": " and ".join(lines)})
