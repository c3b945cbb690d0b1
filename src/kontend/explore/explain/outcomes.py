"""The cause of a wrong final state: the write that left it, or the write that is missing.

The final state is compared with that of the nearest good run. The first difference that a write explains is the one
that the sentence is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kontend.explore.explain.causes import Cause, cause_of_refusal, cause_of_write
from kontend.explore.explain.fields import changed_paths, content_of, object_name, short_name, text_of
from kontend.explore.explain.perturbations import perturbation
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.explain.values import shown
from kontend.report.document import Difference
from kontend.report.inspection import overlaps


def cause_of_final_state(trail: Trail, good: Trail | None, found: Sequence[Difference]) -> Cause | None:
    """The cause of the differences between the final state of a trail and that of a good run."""
    candidates = [(difference, _last_write(trail, difference)) for difference in found]
    for difference, write in candidates:
        if write is not None:
            cause = cause_of_write(trail, write[0])
            if cause is not None:
                sentence = f"{_outcome(difference)}: {cause.sentence}"
                return Cause(sentence, cause.culprits, cause.fix, cause.line)
    refused = cause_of_refusal(trail)
    if refused is not None and found:
        return replace(refused, sentence=f"{_outcome(found[0])}: {refused.sentence}")
    for difference, write in candidates:
        if write is not None:
            taken, part = write
            by = f"{trail.actor(taken)} wrote it last (step {taken.number})"
            return Cause(f"{_outcome(difference)}: {by}{_perturbed(trail)}", (taken.number,), "", part.line)
    for difference, _ in candidates:
        sentence = f"{_outcome(difference)}: no step of this run writes it{_missing(good, difference)}"
        steps = tuple(taken.number for taken in trail.steps if taken.transition.cost)
        return Cause(f"{sentence}{_perturbed(trail)}", steps[-1:], *_after_perturbation(trail))
    return None


def without_good_run(trail: Trail, sentence: str) -> Cause:
    """A wrong final state where no good run is known: the writes that lead to it are all there is to say."""
    last = [taken for taken, _, _ in trail.changes()]
    if any(taken.transition.cost for taken in trail.steps):
        return Cause(f"{sentence}; no run near this one ends otherwise")
    written = f"; the last write is that of step {last[-1].number}" if last else "; nothing is ever written"
    return Cause(f"{sentence}, although nothing perturbs the run{written}")


def _outcome(difference: Difference) -> str:
    name = short_name(difference.object)
    if difference.path:
        return f"{name} ends with {difference.path} = {shown(difference.got)} instead of {shown(difference.expected)}"
    return f"{name} is {'left over' if difference.got is not None else 'missing'} in the end"


def _last_write(trail: Trail, difference: Difference) -> tuple[Taken, Part] | None:
    """The last write of a field, or the one that made or removed the object."""
    found = None
    for taken, part, change in trail.changes():
        version = change.new or change.old
        assert version is not None
        if object_name(content_of(version)) != difference.object:
            continue
        if not difference.path:
            if (change.old is None) == (difference.got is not None) or change.new is None:
                found = (taken, part)
        elif (
            change.old is None
            or change.new is None
            or any(
                overlaps(text_of(path), difference.path)
                for path in changed_paths(content_of(change.old), content_of(change.new))
            )
        ):
            found = (taken, part)
    return found


def _missing(good: Trail | None, difference: Difference) -> str:
    """Describes the write of the good run that the failing one lacks."""
    write = _last_write(good, difference) if good is not None else None
    if write is None or good is None:
        return ""
    return f", where the nearest good run has: {write[0].transition.line}"


def _perturbed(trail: Trail) -> str:
    texts = [perturbation(taken) for taken in trail.steps if taken.transition.cost]
    return f"; the run is perturbed by {texts[-1]}" if texts else ""


def _after_perturbation(trail: Trail) -> tuple[str, None]:
    """The fix for a reconcile that did nothing because of what it had read."""
    stale = [taken for taken in trail.steps if taken.transition.cost and taken.step.action == "call"]
    if stale:
        return "read with api.live where the decision not to act must be right, or let a later event run it again", None
    return "", None
