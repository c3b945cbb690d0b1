"""Decisions not to write: the last reconcile that could have made a missing write, and why it did not.

It is compared with the reconcile of the good run that makes the write. The first read that showed something else is
the one that the decision rests on. Where all reads showed the same, the controller remembered something else. Where the
reconcile ended before the last change of what it had read, nothing ran it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from kontend.cluster.state import Change, Version
from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import call_text, changed_text, creation_of, name_of
from kontend.explore.explain.causes.memories import remembered, start_of
from kontend.explore.explain.causes.outdated import line_of, missed, what_was_read
from kontend.explore.explain.fields import (
    ABSENT,
    changed_paths,
    content_of,
    named,
    object_name,
    short_name,
    shown,
    text_of,
    value_at,
    value_of,
)
from kontend.explore.explain.trail import Part, Reconcile, Seen, Taken, Trail
from kontend.explore.program.identities import IDENTITIES
from kontend.explore.properties.overwrites import Element, Path
from kontend.report.document import Difference
from kontend.report.elements import LITTLE, list_of, rank
from kontend.report.inspection import overlaps


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason why a reconcile did not make a write, with the steps that it rests on, and what to change."""

    text: str
    steps: frozenset[int]
    fix: Fix
    #: The reconcile that decided.
    reconcile: Reconcile


def decision_against(
    trail: Trail, good: Trail, difference: Difference, wanted: tuple[Taken, Part], *, after: int = 0
) -> Decision | None:
    """The decision of a failing run not to make the write that a good run makes; None where none explains it.

    Only reconciles that begin after step ``after`` decide: earlier ones do not know yet what went wrong.
    """
    maker = wanted[0].reconcile
    if maker is None or was_right(trail, difference):
        return None
    candidates = _reconciles(trail, maker)
    if not candidates:
        return None
    unseen = missed(trail, _end(trail, candidates[-1]), candidates[-1].reads)
    if unseen is not None:
        return _not_run_again(trail, candidates[-1], difference, *unseen)
    for reconcile in candidates:
        if start_of(trail, reconcile) > after:
            decision = _decision_of(trail, good, difference, wanted, reconcile)
            if decision is not None:
                return decision
    return None


def _decision_of(
    trail: Trail, good: Trail, difference: Difference, wanted: tuple[Taken, Part], reconcile: Reconcile
) -> Decision | None:
    """The reason why one reconcile did not make the write."""
    maker = wanted[0].reconcile
    assert maker is not None
    where = f" at {wanted[1].line.short}" if wanted[1].line is not None else ""
    actor = trail.names[reconcile.instance]
    ran = f"{actor} ran again in {_span(reconcile)} and did not {_verb(wanted)} {_subject(difference)}{where}"
    theirs = [seen for seen in maker.reads if seen.step <= wanted[0].number]
    for ours, other in zip_longest(reconcile.reads, theirs):
        if ours is None or other is None or _question(ours) != _question(other):
            break  # another path, although every read before showed the same
        decision = _other_content(trail, reconcile, ours, other, ran, difference)
        if decision is not None:
            return decision
        if _differs(ours, other):
            return None  # what the user wants differs, which explains nothing
    memory = remembered(trail, good, reconcile, maker)
    if memory is not None:
        return Decision(f"{ran}, {memory.text}", memory.steps, memory.fix, reconcile)
    return _refused(trail, reconcile, ran)


def was_right(trail: Trail, difference: Difference) -> bool:
    """A field had its good value for a while: what is wrong is a later write, and none is missing."""
    return bool(difference.path) and any(
        makes_right(change, difference) for _, _, change in trail.changes() if change.old is not None
    )


def makes_right(change: Change, difference: Difference) -> bool:
    """A change gives a field its good value."""
    return (
        change.new is not None
        and object_name(content_of(change.new)) == difference.object
        and _is_right(change.new, difference)
        and (change.old is None or not _is_right(change.old, difference))
    )


def _is_right(version: Version, difference: Difference) -> bool:
    """A field has its good value; of an element the fields that decide count."""
    value, expected = value_of(content_of(version), difference.path), difference.expected
    if not isinstance(expected, Mapping):
        return bool(value == (ABSENT if expected is None else expected))
    deciding = {name: item for name, item in expected.items() if rank(name) < LITTLE}
    return bool(deciding) and all(value_of(value, name) == item for name, item in deciding.items())


def _reconciles(trail: Trail, maker: Reconcile) -> list[Reconcile]:
    """The reconciles of the same controller for the same object, oldest first."""
    program = trail.programs[maker.instance]
    reconciles = []
    for taken in trail.steps:
        reconcile = taken.reconcile
        if reconcile is None or reconcile.request != maker.request or taken.step.action != "start":
            continue
        if trail.programs[reconcile.instance] is program:
            reconciles.append(reconcile)
    return reconciles


def _end(trail: Trail, reconcile: Reconcile) -> Taken:
    """A step at the end of the run, as the reconcile would see it."""
    last = trail.steps[-1]
    return Taken(last.number + 1, trail.steps[reconcile.steps[0] - 1].step, last.after, last.transition, (), reconcile)


def _not_run_again(
    trail: Trail, last: Reconcile, difference: Difference, seen: Seen, other: Taken, change: Change
) -> Decision:
    """Nothing ran the reconcile again after the last change of what it had read."""
    actor, kind = trail.names[last.instance], seen.call.kind
    text = (
        f"{actor} does not run again: its last reconcile ({_span(last)}) had read {what_was_read(seen, change)} in "
        f"step {seen.step}, before {trail.actor(other)} {changed_text(change)} (step {other.number})"
    )
    controller, line = trail.programs[last.instance].controller, line_of(trail, seen)
    if kind not in controller.kinds:
        fix = Fix(Remedy.WATCH_KIND, line, {"kind": kind.partition("/")[0], "object": name_of(change)})
    else:
        predicate = controller.predicates.get(kind)
        what = f"the predicate {type(predicate).__name__}" if predicate is not None else "the predicates"
        if kind != controller.kind:
            what += f" and the mapping of {short_name(kind + ' ').strip()} objects to requests"
        names = {"object": name_of(change), "predicate": what, "subject": _subject(difference)}
        fix = Fix(Remedy.CHECK_PREDICATE, line, names)
    return Decision(text, frozenset({other.number, seen.step}), fix, last)


# What it read


def _question(seen: Seen) -> tuple[object, ...]:
    call = seen.call
    return call.verb, call.kind, call.key, call.subresource


def _differs(ours: Seen, other: Seen) -> bool:
    return any(_paths(ours.versions.get(key), other.versions.get(key)) for key in {*ours.versions, *other.versions})


def _other_content(
    trail: Trail, last: Reconcile, ours: Seen, other: Seen, ran: str, difference: Difference
) -> Decision | None:
    """A read that showed what a controller of this run has written, and that the good run does not show."""
    for key in sorted({*ours.versions, *other.versions}):
        mine, theirs = ours.versions.get(key), other.versions.get(key)
        paths = _paths(mine, theirs)
        if not paths:
            continue
        version = mine or theirs
        assert version is not None
        name = object_name(content_of(version)) if mine else named(ours.call.kind, key)
        for path in paths:
            if name == difference.object and overlaps(text_of(path), difference.path):
                continue  # that is what is wrong, not why
            writer = _written(trail, ours, name, path)
            if writer is not None:
                text, names = _reading(ours, name, path, mine, theirs, writer, difference)
                steps = frozenset({writer.number, ours.step})
                fix = Fix(Remedy.LOOK_AT_RESULT, line_of(trail, ours), {"subject": _subject(difference), **names})
                return Decision(f"{ran}: {text}", steps, fix, last)
    return None


def _paths(mine: Version | None, theirs: Version | None) -> list[Path]:
    """The fields in which two versions differ, uids aside; the empty path where only one of them exists."""
    if mine is None or theirs is None:
        return [()] if mine is not theirs else []
    old, new = content_of(theirs), content_of(mine)
    return [path for path in changed_paths(old, new) if not _are_identities(value_at(old, path), value_at(new, path))]


def _are_identities(*values: Any) -> bool:
    return all(isinstance(value, str) and IDENTITIES.fullmatch(value.encode()) for value in values)


def _written(trail: Trail, seen: Seen, name: str, path: Path) -> Taken | None:
    """The last step before a read in which a controller wrote a field."""
    writing = None
    for taken, _, change in trail.changes():
        version = change.new or change.old
        assert version is not None
        if taken.number >= seen.step or object_name(content_of(version)) != name:
            continue
        if not path or change.old is None or change.new is None or _touches(change.old, change.new, path):
            writing = taken
    return writing if writing is not None and writing.reconcile is not None else None


def _touches(old: Version, new: Version, path: Path) -> bool:
    return any(
        overlaps(text_of(path), text_of(changed_path))
        for changed_path in changed_paths(content_of(old), content_of(new))
    )


def _reading(
    seen: Seen,
    name: str,
    path: Path,
    mine: Version | None,
    theirs: Version | None,
    writer: Taken,
    difference: Difference,
) -> tuple[str, dict[str, str]]:
    """Describes a read that showed something else than in the good run, and names the sign that it was taken for."""
    short = short_name(name)
    if not path and mine is not None:
        text = f"in step {seen.step} it found {short} (written in step {writer.number}), which the good run lacks there"
        names = {"sign": short, "last": f"write {short}"}
    elif not path:
        text = (
            f"in step {seen.step} it found no {short} (deleted in step {writer.number}), which the good run has there"
        )
        names = {"sign": f"the absence of {short}"}
    elif isinstance(path[-1], Element) and mine is not None and theirs is not None:
        return _reading_of_element(seen, path, mine, short, writer)
    else:
        assert mine is not None
        assert theirs is not None
        field = f"{text_of(path)} of {short}"
        values = shown(value_at(content_of(mine), path)), shown(value_at(content_of(theirs), path))
        text = (
            f"in step {seen.step} it read {text_of(path)} = {values[0]} of {short} (written in step {writer.number}); "
            f"the good run reads {values[1]} there"
        )
        together = name == difference.object and _is_status(text_of(path)) == _is_status(difference.path)
        names = {"sign": field, "last": f"write {field}"}
        if together:
            names["join"] = f"{text_of(path)} and {difference.path} of {short}"
    return text, names


def _reading_of_element(seen: Seen, path: Path, mine: Version, short: str, writer: Taken) -> tuple[str, dict[str, str]]:
    """Describes a read of a list that had an element more, or less, than in the good run."""
    field = f"{path[-1]} in {text_of(path[:-1])} of {short}"
    if value_at(content_of(mine), path) is ABSENT:
        text = (
            f"in step {seen.step} it found no {field} (removed in step {writer.number}), which the good run has there"
        )
        return text, {"sign": f"the absence of {field}", "last": f"remove {path[-1]}"}
    text = f"in step {seen.step} it found {field} (written in step {writer.number}), which the good run lacks there"
    return text, {"sign": field, "last": f"write {path[-1]}"}


# What was refused


def _refused(trail: Trail, reconcile: Reconcile, ran: str) -> Decision | None:
    """A create that the server refused because the object exists, after which the reconcile left out the rest."""
    for taken in trail.steps:
        part = taken.parts[0]
        if taken.reconcile is not reconcile or part.call is None or not part.transition.answer.already_exists:
            continue
        made = creation_of(trail, part.call, taken.number)
        steps = {taken.number, *((made[0].number,) if made is not None else ())}
        name = name_of(made[1]) if made is not None else "the object"
        text = f"the server refused {call_text(part.call)} with 409 AlreadyExists in step {taken.number}"
        text += f", because of step {made[0].number}" if made is not None else ""
        fix = Fix(Remedy.TREAT_AS_FOUND, part.line, {"object": name})
        return Decision(f"{ran}: {text}", frozenset(steps), fix, reconcile)
    return None


# Words


def _span(reconcile: Reconcile) -> str:
    first, last = reconcile.steps[0], reconcile.steps[-1]
    return f"step {first}" if first == last else f"steps {first} to {last}"


def _subject(difference: Difference) -> str:
    """The field or the object that is not as it should be."""
    name = short_name(difference.object)
    element = difference.expected if difference.got is None else difference.got
    scalars = list_of(difference.path, element)
    if scalars:
        return f"{shown(element)} in {scalars} of {name}"
    return f"{difference.path} of {name}" if difference.path else name


def _is_status(path: str) -> bool:
    return path.partition(".")[0] == "status"


def _verb(wanted: tuple[Taken, Part]) -> str:
    verb = wanted[1].call.verb if wanted[1].call is not None else "write"
    if wanted[1].transition.changes and wanted[1].transition.changes[0].old is None:
        return "create"
    return "delete" if verb.startswith("delete") else "write"
