"""The cause of a write that went wrong: the read it rests on, and the write that this read did not show.

There are two patterns. In the first, the write itself clashes with one of another client: it changed a field again,
removed an element, or hit another object of the same name. In the second, the write is about something else, but its
reconcile had read an object (or the absence of one) that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kontend.cluster.state import Change, Version
from kontend.explore.explain.fields import (
    ABSENT,
    changed_paths,
    content_of,
    number_of,
    object_name,
    short_name,
    text_of,
    value_at,
)
from kontend.explore.explain.fixes import (
    FIX_OF_REFUSAL,
    fix_of_blind_write,
    fix_of_failure,
    fix_of_fault,
    fix_of_stale_read,
)
from kontend.explore.explain.trail import Part, Seen, Taken, Trail
from kontend.explore.explain.values import shown
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Path
from kontend.explore.properties.writes import Fault, faults_of_writes
from kontend.kube.meta.names import kind_of
from kontend.runtime.source_location import UNKNOWN, SourceLocation


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something went wrong."""

    sentence: str
    #: The numbers of the steps at fault.
    culprits: tuple[int, ...] = ()
    fix: str = ""
    #: The line that the fix is about.
    line: SourceLocation | None = None


def cause_of_write(trail: Trail, taken: Taken, *, name: str = "") -> Cause | None:
    """The cause of the writes of a step, if they clash with others or rest on an outdated read.

    ``name`` is the property that they violate: among several clashes, that one is meant.
    """
    for only in (name, ""):
        for part in taken.parts:
            for fault in _faults(trail, taken, part):
                if only in ("", fault.property):
                    return _clash(trail, taken, part, fault)
    for part in taken.parts:
        if part.transition.changes:
            cause = _outdated(trail, taken, part)
            if cause is not None:
                return cause
    return None


def _faults(trail: Trail, taken: Taken, part: Part) -> Iterator[Fault]:
    in_flight, changes = part.transition.in_flight, part.transition.changes
    if in_flight is None or part.call is None or not changes:
        return
    resource = trail.model.layout.server.resource(part.before.state, part.call.kind).key
    yield from faults_of_writes(part.before.state, trail.actor(taken), in_flight, part.call, resource, changes)


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
        missed = _missed(trail, taken, taken.reconcile.reads) if taken.reconcile is not None else None
        if missed is None:
            return Cause(sentence, (taken.number,), fix_of_failure(failure), line)
        seen, other, change = missed
        sentence += (
            f" after it had read {_what(seen, change)} in step {seen.step}; "
            f"{trail.actor(other)} had {changed_text(change)} at resourceVersion "
            f"{number_of(change.resource_version)} (step {other.number})"
        )
        return Cause(sentence, tuple(sorted({other.number, taken.number})), fix_of_failure(failure), line)
    return None


def cause_of_refusal(trail: Trail) -> Cause | None:
    """A write that the server refused with a conflict, and whose reconcile went on or ended without it."""
    for taken in reversed(trail.steps):
        for part in taken.parts:
            if part.call is None or not part.call.writes or ": 409 Conflict" not in part.transition.text:
                continue
            if taken.transition.failure is not None:  # it is retried
                continue
            other = _last_change(trail, taken, part)
            why = ""
            if other is not None:
                changer, change = other
                version = number_of(change.resource_version)
                why = f", because {trail.actor(changer)} had {changed_text(change)} at resourceVersion {version} "
                why += f"(step {changer.number})"
            sentence = (
                f"the server refused {part.call} of {trail.actor(taken)} with 409 Conflict (step {taken.number}){why}, "
                "and the reconcile went on without it"
            )
            culprits = (other[0].number, taken.number) if other is not None else (taken.number,)
            return Cause(sentence, culprits, FIX_OF_REFUSAL, part.line)
    return None


def _last_change(trail: Trail, taken: Taken, part: Part) -> tuple[Taken, Change] | None:
    """The last change of the object of a call before a step."""
    found = None
    for other, _, change in trail.changes():
        if other.number < taken.number and part.call is not None and change.key == part.call.key:
            version = change.new or change.old
            assert version is not None
            if str(kind_of(content_of(version))) == part.call.kind:
                found = (other, change)
    return found


def plain_cause(trail: Trail, taken: Taken, name: str) -> Cause | None:
    """A write that violates a property on its own, with nothing that it did not know."""
    for part in taken.parts:
        if part.transition.changes:
            sentence = f"{trail.actor(taken)} {_writes(part)} (step {taken.number}), which violates {name}"
            return Cause(sentence, (taken.number,), "", part.line)
    return None


# Clashes


def _clash(trail: Trail, taken: Taken, part: Part, fault: Fault) -> Cause:
    change, base = fault.change, fault.base
    other = _other_write(trail, taken, fault)
    fix = fix_of_fault(trail.model.scenario.guards, part, fault)
    culprits = (other.number, taken.number) if other is not None else (taken.number,)
    if base is None or fault.property == BuiltIn.OBSERVED_GENERATION:
        return Cause(fault.sentence, culprits, fix, part.line)
    writer = trail.actor(taken)
    read = _read_in(taken, change, base)
    if fault.property == BuiltIn.WRONG_OBJECT:
        sentence = _wrong_object(trail, writer, change, base, read, other)
    else:
        sentence = (
            f"{writer} {_did(fault)} from resourceVersion {number_of(base.resource_version)}{read}; "
            f"{_before_it(trail, other, fault)}, and the server accepted the write without a conflict"
        )
    return Cause(sentence, culprits, fix, part.line)


def _did(fault: Fault) -> str:
    """Describes the write."""
    change, path = fault.change, fault.path
    name = _name(change)
    if fault.property == BuiltIn.VANISHED_ELEMENT:
        return f"wrote {text_of(path[:-1])} of {name} without {path[-1]}"
    value = value_at(content_of(change.new), path) if change.new is not None else ABSENT
    if value is ABSENT:
        return f"removed {text_of(path)} of {name}"
    return f"wrote {text_of(path)} = {shown(value)} to {name}"


def _before_it(trail: Trail, other: Taken | None, fault: Fault) -> str:
    """Describes the write that is lost."""
    change, path = fault.change, fault.path
    assert change.old is not None
    value = value_at(content_of(change.old), path)
    verb = "added it" if fault.property == BuiltIn.VANISHED_ELEMENT else f"changed it to {shown(value)}"
    if value is ABSENT:
        verb = "removed it"
    if other is None:
        return f"another client had {verb}"
    version = max(each.resource_version for each in other.transition.changes if _same(each, change))
    return f"{trail.actor(other)} had {verb} at resourceVersion {number_of(version)} (step {other.number})"


def _wrong_object(trail: Trail, writer: str, change: Change, base: Version, read: str, other: Taken | None) -> str:
    did = "deleted" if change.new is None else "wrote to"
    creator = f"{trail.actor(other)} had created (step {other.number})" if other is not None else "was created"
    assert change.old is not None
    version = number_of(base.resource_version)
    return (
        f"{writer} {did} {_name(change)} with uid {_uid(change.old)}, which {creator} under the same name; {writer} "
        f"meant the one with uid {_uid(base)} and resourceVersion {version}{read}, which is gone"
    )


def _other_write(trail: Trail, taken: Taken, fault: Fault) -> Taken | None:
    """The step whose write the writer did not know: the last one that changed the field since the read."""
    since = fault.base.resource_version if fault.base is not None else 0
    found = None
    for other, _, change in trail.changes():
        if other.number >= taken.number:
            break
        if not _same(change, fault.change) or change.resource_version <= since:
            continue
        if fault.property == BuiltIn.WRONG_OBJECT:
            if change.old is None:
                found = other
        elif change.old is None or change.new is None or _touches(change, fault.path):
            found = other
    return found


def _touches(change: Change, path: Path) -> bool:
    assert change.old is not None
    assert change.new is not None
    return not path or value_at(content_of(change.old), path) != value_at(content_of(change.new), path)


def _read_in(taken: Taken, change: Change, base: Version) -> str:
    """The step in which the writer read a version, in parentheses."""
    if taken.reconcile is None:
        return ""
    step = taken.reconcile.met.get((change.resource, change.key, base.resource_version))
    return f" (read in step {step})" if step is not None and step != taken.number else ""


# Outdated reads


def _outdated(trail: Trail, taken: Taken, part: Part) -> Cause | None:
    """A write whose reconcile had read something that has changed since."""
    if taken.reconcile is None or part.call is None:
        return None
    missed = _missed(trail, taken, taken.reconcile.reads)
    if missed is None:
        return None
    seen, other, change = missed
    writer = trail.actor(taken)
    author = trail.actor(other)
    own = author == writer
    by = f"{author} itself" if own else author
    sentence = (
        f"{writer} {_writes(part)} (step {taken.number}) after it had read {_what(seen, change)} in step {seen.step}, "
        f"{_staleness(seen, change)}; {by} had {changed_text(change)} at resourceVersion "
        f"{number_of(change.resource_version)} (step {other.number})"
    )
    guards = trail.model.scenario.guards
    blind = _blind_write(trail, taken, other, change)
    if blind is not None:
        accepted, write = blind
        assert write.call is not None
        sentence += (
            f", and the server accepted the {write.call.verb} of {_name(change)} by {writer} in step {accepted.number} "
            "without a conflict"
        )
        fix = fix_of_blind_write(guards, write.call)
        return Cause(sentence, tuple(sorted({other.number, accepted.number})), fix, write.line)
    fix = fix_of_stale_read(guards, part, seen, change, own=own)
    return Cause(sentence, tuple(sorted({other.number, taken.number})), fix, part.line)


def _blind_write(trail: Trail, taken: Taken, other: Taken, change: Change) -> tuple[Taken, Part] | None:
    """A write of the same reconcile to the object that another client had changed, which the server accepted.

    It may have changed nothing, because both wrote the same value; a lock would have refused it all the same.
    """
    for step in trail.steps[other.number : taken.number]:
        if step.reconcile is None or step.reconcile is not taken.reconcile:
            continue
        for part in step.parts:
            call = part.call
            if call is None or not call.writes or call.key != change.key or part.transition.text.find(": 4") >= 0:
                continue
            if trail.model.layout.server.resource(part.before.state, call.kind).key == change.resource:
                return step, part
    return None


def _missed(trail: Trail, taken: Taken, reads: Sequence[Seen]) -> tuple[Seen, Taken, Change] | None:
    """The last change that the reads of a reconcile did not show: the same read would show it now.

    The newest read of an object counts, and a change that the reconcile made itself is known to it.
    """
    return _unseen(trail, taken, [seen for seen in reads if seen.step < taken.number])


def stale_read(trail: Trail, taken: Taken) -> tuple[str, Taken] | None:
    """Describes the stale read of a step: what it showed, and the change that it did not show."""
    if taken.reconcile is None:
        return None
    unseen = _unseen(trail, taken, [seen for seen in taken.reconcile.reads if seen.step == taken.number])
    if unseen is None:
        return None
    seen, other, change = unseen
    version = number_of(change.resource_version)
    text = (
        f"{trail.actor(taken)} had read {_what(seen, change)} in step {seen.step}, {_staleness(seen, change)}; "
        f"{trail.actor(other)} had {changed_text(change)} at resourceVersion {version} (step {other.number})"
    )
    return text, other


def _unseen(trail: Trail, taken: Taken, reads: Sequence[Seen]) -> tuple[Seen, Taken, Change] | None:
    """The last change before a step that some reads did not show, and that they would show at that step."""
    now = [trail.would_see(seen, taken.before, taken.step.instance) for seen in reads]
    found = None
    for other, _, change in trail.changes():
        if other.number >= taken.number:
            break
        if other.reconcile is not None and other.reconcile is taken.reconcile:
            continue
        about = [
            (seen, fresh)
            for seen, fresh in zip(reads, now, strict=True)
            if seen.resource == change.resource and (change.key in seen.versions or change.key in fresh)
        ]
        if not about:
            continue
        seen, fresh = about[-1]
        was, present = seen.versions.get(change.key), fresh.get(change.key)
        if seen.position < change.resource_version and was is not present:
            found = (seen, other, change)
    return found


def _what(seen: Seen, change: Change) -> str:
    name = _name(change)
    if change.key not in seen.versions:
        kind = name.partition(" ")[0]
        return f"a list of {kind} objects without {name}"
    version = seen.versions[change.key]
    if version is None:
        return f"that {name} does not exist"
    return f"{name} at resourceVersion {number_of(version.resource_version)}"


def _staleness(seen: Seen, change: Change) -> str:
    was_stale = seen.position < change.resource_version and seen.call.cached
    return "from its cache" if was_stale else "from the server"


def changed_text(change: Change) -> str:
    """Describes a change: what it made of the object."""
    name = _name(change)
    if change.old is None:
        return f"created {name}"
    if change.new is None:
        return f"deleted {name}"
    old, new = content_of(change.old), content_of(change.new)
    paths = changed_paths(old, new)
    if not paths:
        return f"changed {name}"
    before, after = shown(value_at(old, paths[0])), shown(value_at(new, paths[0]))
    return f"changed {text_of(paths[0])} of {name} from {before} to {after}"


def _writes(part: Part) -> str:
    change = part.transition.changes[0]
    name = _name(change)
    if change.old is None:
        return f"created {name}"
    if change.new is None or (part.call is not None and part.call.verb.startswith("delete")):
        return f"deleted {name}"
    paths = changed_paths(content_of(change.old), content_of(change.new))
    if not paths:
        return f"wrote {name}"
    return f"wrote {text_of(paths[0])} = {shown(value_at(content_of(change.new), paths[0]))} to {name}"


def _name(change: Change) -> str:
    version = change.new or change.old
    assert version is not None
    return short_name(object_name(content_of(version)))


def _uid(version: Version) -> str:
    return str(content_of(version)["metadata"].get("uid", ""))[:8]


def _same(one: Change, other: Change) -> bool:
    return one.resource == other.resource and one.key == other.key
