"""Reads that were outdated at the time of a write or of a decision.

A reconcile reads one object and writes another, or does nothing. What it had read may have changed since: the same read
would show something else now.
"""

from __future__ import annotations

from collections.abc import Sequence

from kontend.cluster.state import Change
from kontend.explore.explain.causes.cause import Cause, changed_text, name_of, written_text
from kontend.explore.explain.causes.fixes import fix_of_blind_write, fix_of_stale_read
from kontend.explore.explain.fields import number_of
from kontend.explore.explain.trail import Part, Seen, Taken, Trail
from kontend.runtime.source_location import SourceLocation


def outdated_read(trail: Trail, taken: Taken, part: Part) -> Cause | None:
    """The cause of a write whose reconcile had read something that has changed since."""
    if taken.reconcile is None or part.call is None:
        return None
    unseen = missed(trail, taken, taken.reconcile.reads)
    if unseen is None:
        return None
    seen, other, change = unseen
    writer = trail.actor(taken)
    author = trail.actor(other)
    own = author == writer
    by = f"{author} itself" if own else author
    sentence = (
        f"{writer} {written_text(part)} (step {taken.number}) after it had read {what_was_read(seen, change)} in step "
        f"{seen.step}, {_staleness(seen, change)}; {by} had {changed_text(change)} at resourceVersion "
        f"{number_of(change.resource_version)} (step {other.number})"
    )
    guards = trail.scenario.guards
    blind = _blind_write(trail, taken, other, change)
    if blind is not None:
        accepted, write = blind
        assert write.call is not None
        sentence += (
            f", and the server accepted the {write.call.verb} of {name_of(change)} by {writer} in step "
            f"{accepted.number} without a conflict"
        )
        fix = fix_of_blind_write(trail, accepted, write)
        return Cause(sentence, tuple(sorted({other.number, accepted.number})), fix)
    line = line_of(trail, seen)
    programs = trail.programs
    sibling = (
        not own
        and other.reconcile is not None
        and programs[other.reconcile.instance] is programs[taken.reconcile.instance]
    )
    read = f", at {line.short}" if line is not None else ""
    fix = fix_of_stale_read(
        guards,
        part,
        seen,
        change,
        own=own,
        restarted=is_restarted(trail, taken.reconcile.instance, other.number, seen.step),
        read=read,
        sibling=sibling,
    )
    return Cause(sentence, tuple(sorted({other.number, taken.number})), fix)


def is_restarted(trail: Trail, instance: int, first: int, last: int) -> bool:
    """An instance was restarted or replaced between two steps: it no longer knows its own writes."""
    return any(
        taken.step.instance == instance and taken.step.action in ("crash", "depose")
        for taken in trail.steps[first : last - 1]
    )


def _blind_write(trail: Trail, taken: Taken, other: Taken, change: Change) -> tuple[Taken, Part] | None:
    """A write of the same reconcile to the object that another client had changed, which the server accepted.

    It may have changed nothing, because both wrote the same value; a lock would have refused it all the same.
    """
    for step in trail.steps[other.number : taken.number]:
        if step.reconcile is None or step.reconcile is not taken.reconcile:
            continue
        for part in step.parts:
            call = part.call
            if call is None or not call.writes or call.key != change.key or part.transition.answer.refusal is not None:
                continue
            if trail.resource_of(part) == change.resource:
                return step, part
    return None


def missed(trail: Trail, taken: Taken, reads: Sequence[Seen]) -> tuple[Seen, Taken, Change] | None:
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
        f"{trail.actor(taken)} had read {what_was_read(seen, change)} in step {seen.step}, {_staleness(seen, change)}; "
        f"{trail.actor(other)} had {changed_text(change)} at resourceVersion {version} (step {other.number})"
    )
    return text, other


def _unseen(trail: Trail, taken: Taken, reads: Sequence[Seen]) -> tuple[Seen, Taken, Change] | None:
    """The last change before a step that some reads did not show, and that they would show at that step."""
    now = [trail.would_see(seen, taken.before, taken.step.instance) for seen in reads]
    unseen = None
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
            unseen = (seen, other, change)
    return unseen


def line_of(trail: Trail, seen: Seen) -> SourceLocation | None:
    """The line of a read."""
    parts = trail.steps[seen.step - 1].parts
    return next((part.line for part in parts if part.call is seen.call), parts[0].line if parts else None)


def what_was_read(seen: Seen, change: Change) -> str:
    """Describes what a read showed of the object of a change."""
    name = name_of(change)
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
