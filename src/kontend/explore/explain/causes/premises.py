"""Premises of a write that violates a property although nothing that its reconcile had read has changed since.

Patterns: the reconcile read one object twice and mixed the two versions; a write of it was refused, and it went on; it
reported as done what it had only asked for; an earlier reconcile stopped between two writes, and this one builds on the
half that is there.
"""

from __future__ import annotations

from typing import Any

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import (
    FAILED,
    Cause,
    call_text,
    changed_text,
    creation_of,
    is_same,
    name_of,
    written_text,
)
from kontend.explore.explain.causes.outdated import line_of
from kontend.explore.explain.fields import changed_paths, content_of, number_of, object_name, short_name
from kontend.explore.explain.trail import Part, Reconcile, Seen, Taken, Trail
from kontend.kube.meta.names import Key


def wrong_premise(trail: Trail, taken: Taken, name: str) -> Cause | None:
    """The cause of a write that violates a property, by the pattern of its premise; None where none fits."""
    part = next((part for part in taken.parts if part.transition.changes), None)
    if part is None or taken.reconcile is None:
        return None
    writes = f"{trail.actor(taken)} {written_text(part)} (step {taken.number}), which violates {name}"
    return (
        _two_versions(trail, taken, writes)
        or _went_on(trail, taken, writes)
        or _earlier_spec(trail, taken, part, writes)
        or _asked_for(trail, taken, part, writes)
        or _unfinished(trail, taken, part, writes)
    )


# Two versions of one object


def _two_versions(trail: Trail, taken: Taken, writes: str) -> Cause | None:
    """The reconcile read an object twice, and somebody else changed it in between."""
    reconcile = taken.reconcile
    assert reconcile is not None
    for later_at, later in enumerate(reconcile.reads):
        if later.step > taken.number:
            break
        for earlier in reconcile.reads[:later_at]:
            change = _between(trail, reconcile, earlier, later)
            if change is None:
                continue
            other, changed = change
            one, two = (_version(seen, changed) for seen in (earlier, later))
            sentence = (
                f"{writes}: it had read {name_of(changed)} twice, {one} in step {earlier.step} and {two} in step "
                f"{later.step}, and wrote what belongs to both; {trail.actor(other)} had {changed_text(changed)} at "
                f"resourceVersion {number_of(changed.resource_version)} (step {other.number})"
            )
            where = line_of(trail, earlier)
            read = f" at {where.short}" if where is not None else ""
            fix = Fix(Remedy.READ_ONCE, line_of(trail, later), {"object": name_of(changed), "at": read})
            return Cause(sentence, tuple(sorted({other.number, taken.number})), fix)
    return None


def _between(trail: Trail, reconcile: Reconcile, earlier: Seen, later: Seen) -> tuple[Taken, Change] | None:
    """A change of an object by somebody else that the later of two reads showed and the earlier one did not."""
    if earlier.resource != later.resource:
        return None
    keys = {
        key
        for key in earlier.versions.keys() & later.versions.keys()
        if earlier.versions[key] is not later.versions[key]
    }
    for other, _, change in trail.changes():
        if other.reconcile is reconcile or change.resource != earlier.resource or change.key not in keys:
            continue
        if earlier.position < change.resource_version <= later.position:
            return other, change
    return None


def _version(seen: Seen, change: Change) -> str:
    version = seen.versions[change.key]
    return "absent" if version is None else f"at resourceVersion {number_of(version.resource_version)}"


# A write that was refused


def _went_on(trail: Trail, taken: Taken, writes: str) -> Cause | None:
    """An earlier write of the same reconcile was refused or failed, and the reconcile went on."""
    for other in reversed(trail.steps[: taken.number - 1]):
        call, answer = other.parts[0].call, other.parts[0].transition.answer
        if other.reconcile is not taken.reconcile or call is None or not call.writes or other.transition.changes:
            continue
        exists = answer.already_exists
        if not exists and not answer.fault and not answer.is_conflict:
            continue
        outcome = "was refused with 409 AlreadyExists" if exists else "failed"
        sentence = f"{writes}: {call_text(call)} in the same reconcile {outcome} in step {other.number}"
        sentence += ", and the reconcile went on"
        line = other.parts[0].line
        if not exists:
            return Cause(sentence, (other.number, taken.number), Fix(Remedy.END_ON_ERROR_OR_JOIN, line))
        made = creation_of(trail, call, other.number)
        steps = {taken.number, other.number}
        if made is not None:
            creation, change = made
            sentence += f"; {trail.actor(creation)} had {changed_text(change)} (step {creation.number})"
            steps = {taken.number, creation.number}
        return Cause(sentence, tuple(sorted(steps)), Fix(Remedy.ADOPT_IF_OURS, line))
    return None


# A status of an earlier spec


def _earlier_spec(trail: Trail, taken: Taken, part: Part, writes: str) -> Cause | None:
    """The reconcile reports a status of its own from that of another object, whose spec has changed since."""
    assert taken.reconcile is not None
    target = part.transition.changes[0]
    for seen in reversed([seen for seen in taken.reconcile.reads if seen.step <= taken.number]):
        for key, version in seen.versions.items():
            if version is None or (seen.resource, key) == (target.resource, target.key):
                continue
            if _is_own(trail, taken, seen.call.kind, key):
                continue  # its status is written by this very controller
            read = content_of(version)
            if not read.get("status"):
                continue
            change = _spec_change(trail, taken, seen, read)
            if change is None:
                continue
            other, changed = change
            short = short_name(object_name(read))
            sentence = (
                f"{writes}: the status of {short} that it had read in step {seen.step} is about an earlier spec; "
                f"{trail.actor(other)} had {changed_text(changed)} (step {other.number})"
            )
            fix = Fix(Remedy.COMPARE_GENERATION, part.line, {"object": short})
            return Cause(sentence, tuple(sorted({other.number, taken.number})), fix)
    return None


def _asked_for(trail: Trail, taken: Taken, part: Part, writes: str) -> Cause | None:
    """The reconcile reports what it has only asked for: it changed a spec, and nobody has written that status since."""
    target, call = part.transition.changes[0], part.call
    if call is None or call.subresource != "status":
        return None
    for other, _, change in reversed(list(trail.changes())):
        if other.number >= taken.number or other.reconcile is not taken.reconcile or is_same(change, target):
            continue
        if change.old is None or change.new is None:
            continue
        if not any(path[:1] == ("spec",) for path in changed_paths(content_of(change.old), content_of(change.new))):
            continue
        name = name_of(change)
        sentence = (
            f"{writes}: it reports what it has only asked for; it {changed_text(change)} in step {other.number}, and "
            f"nothing has written the status of {name} since"
        )
        return Cause(sentence, (other.number, taken.number), Fix(Remedy.REPORT_WHEN_DONE, part.line, {"object": name}))
    return None


def _is_own(trail: Trail, taken: Taken, kind: str, key: Key) -> bool:
    """The object is the one that is reconciled."""
    assert taken.reconcile is not None
    controller = trail.programs[taken.reconcile.instance].controller
    return taken.reconcile.request == key and kind == controller.kind


def _spec_change(trail: Trail, taken: Taken, seen: Seen, read: dict[str, Any]) -> tuple[Taken, Change] | None:
    """The last change of the spec of an object that its status, as it was read, does not take into account."""
    latest = None
    for other, _, change in trail.changes():
        if other.number >= taken.number or change.resource != seen.resource or change.old is None or change.new is None:
            continue
        if object_name(content_of(change.new)) != object_name(read):
            continue
        sections = {str(path[0]) for path in changed_paths(content_of(change.old), content_of(change.new)) if path}
        if "spec" in sections:
            latest = (other, change)
        elif "status" in sections:
            latest = None  # the status has been written for it
    return latest


# A reconcile that stopped between two writes


def _unfinished(trail: Trail, taken: Taken, part: Part, writes: str) -> Cause | None:
    """An earlier reconcile of the same object wrote something and then failed, so that the rest is missing."""
    assert taken.reconcile is not None
    mine = trail.programs[taken.reconcile.instance]
    for other in reversed(trail.steps[: taken.number - 1]):
        earlier = other.reconcile
        if other.step.action == "crash":
            stopped = f"crashed in step {other.number}"
            done = _last_write(trail, other, taken.reconcile, None)
        elif other.transition.failure is not None and earlier is not None and earlier is not taken.reconcile:
            if trail.programs[earlier.instance] is not mine or earlier.request != taken.reconcile.request:
                continue
            stopped = _stopped(other)
            done = _last_write(trail, other, taken.reconcile, earlier)
        else:
            continue
        if done is None:
            continue
        wrote, change = done
        sentence = (
            f"{writes}: its reconcile before had {changed_text(change)} (step {wrote.number}) and then {stopped}, so "
            "that what it would have recorded is missing"
        )
        target = part.transition.changes[0]
        about = "" if is_same(change, target) else f" about {name_of(target)}"
        line = next((other.line for other in wrote.parts if other.transition.changes), part.line)
        fix = Fix(Remedy.RECORD_FIRST, line, {"object": name_of(change), "about": about})
        return Cause(sentence, tuple(sorted({wrote.number, taken.number})), fix)
    return None


def _stopped(taken: Taken) -> str:
    """Describes the step in which a reconcile failed."""
    call, failure = taken.parts[-1].call, taken.transition.failure
    assert failure is not None
    if taken.step.action == "lose":
        return f"stopped, because the response was lost (step {taken.number})"
    outcome = FAILED.get(taken.step.action)
    if outcome is None and taken.parts[-1].transition.answer.refusal is None:
        # The call was carried out: the failure comes from the code after it, such as a validation.
        return f"raised {failure.type} after step {taken.number}"
    outcome = outcome or f"failed: {failure.type}"
    return f"stopped in step {taken.number}" + (f", where {call_text(call)} {outcome}" if call is not None else "")


def _last_write(trail: Trail, stop: Taken, mine: Reconcile, earlier: Reconcile | None) -> tuple[Taken, Change] | None:
    """The last write of a reconcile that stopped; after a crash, of any reconcile of the same object."""
    latest = None
    for taken, _, change in trail.changes():
        reconcile = taken.reconcile
        if taken.number > stop.number or reconcile is None or reconcile is mine:
            continue
        if reconcile is earlier or (
            earlier is None
            and reconcile.request == mine.request
            and reconcile.instance == stop.step.instance
            and trail.programs[reconcile.instance] is trail.programs[mine.instance]
        ):
            latest = (taken, change)
    return latest
