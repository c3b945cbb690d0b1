"""Cycles: the steps that repeat where a run never settles.

From a state that a fair run never leaves, every instance gets its turn, without perturbations where that is possible.
The cycle is complete when a state comes back, up to generations and made-up names, after something was written.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import Cause, call_text
from kontend.explore.explain.fields import content_of, field_changes, number_of, object_name, short_name, shown
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.model.model import Model
from kontend.explore.model.settling.restless import restless
from kontend.explore.model.step import UNPERTURBED, Step
from kontend.explore.search.repetition import form_of_state
from kontend.report.document import FieldChange
from kontend.report.elements import is_element, list_of, without_key
from kontend.report.inspection import overlaps

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
#: The most steps of a cycle.
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class WrittenField:
    """A field that a step of a cycle writes."""

    taken: Taken
    part: Part
    object: str
    change: FieldChange


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a cycle: the numbers of its first and last step, and the fields that are written."""

    first: int
    last: int
    writes: tuple[WrittenField, ...]
    #: Every round writes other values.
    is_new: bool = False


def go_round(trail: Trail, *, writes: bool) -> Round | None:
    """Take the steps of one round of a cycle; None where no state comes back. ``writes`` asks for one that writes.

    The trail ends with the first round: a search may have gone round several times before it knew.
    """
    model = trail.model
    begin = len(trail.steps)
    seen = {form_of_state(model, trail.world): begin}
    times: Counter[Step] = Counter()
    wrote = 0
    for _ in range(_LONGEST):
        world = trail.world
        steps = model.steps(world)
        if not steps:  # everything has settled
            break
        step = min(steps, key=lambda candidate: (model.next(world, candidate).cost, _rank(candidate), times[candidate]))
        times[step] += 1
        taken = trail.take(step)
        if taken.transition.changes:
            wrote = taken.number
        form = form_of_state(model, trail.world)
        known = seen.get(form)
        if known is not None and (wrote > known or not writes):
            first, last = _first_round(trail, {state for state, at in seen.items() if at >= known}, writes=writes)
            del trail.steps[last:]
            return Round(first, last, tuple(_written(trail, first)))
        seen[form] = taken.number
    del trail.steps[begin:]
    return None


def _first_round(trail: Trail, forms: set[bytes], *, writes: bool) -> tuple[int, int]:
    """The first and the last step of the first round through states of these forms."""
    model = trail.model
    known: dict[bytes, int] = {}
    worlds = [trail.initial, *(taken.after for taken in trail.steps)]
    wrote = 0
    for number, world in enumerate(worlds):
        if number and trail.steps[number - 1].transition.changes:
            wrote = number
        form = form_of_state(model, world)
        if form not in forms:
            continue
        if form in known and (wrote > known[form] or not writes):
            return known[form] + 1, number
        known[form] = number
    raise AssertionError("a round was found before")


def _rank(step: Step) -> int:
    return UNPERTURBED.index(step.action) if step.action in UNPERTURBED else len(UNPERTURBED)


def _written(trail: Trail, first: int) -> list[WrittenField]:
    written_fields = []
    for taken, part, change in trail.changes():
        if taken.number < first:
            continue
        old, new = change.old, change.new
        name = object_name(content_of(new or old))  # type: ignore[arg-type]
        if old is None or new is None:
            written_fields.append(
                WrittenField(taken, part, name, FieldChange("", old and "present", new and "present"))
            )
            continue
        written_fields += [
            WrittenField(taken, part, name, field_change)
            for field_change in field_changes(content_of(old), content_of(new))
        ]
    return written_fields


def shortest_round(trail: Trail, *, writes: bool) -> tuple[Trail, Round] | None:
    """A trail that ends with one round of the cycle that a trail leads to; the same trail where none is simpler.

    A search stops at any state of a cycle, which may take a long way. The unperturbed run from the initial state often
    gets into the same cycle sooner; it is the same when the same fields get the same values. Where values are new in
    every round, such as checksums, no state comes back: then it is the cycle of the unperturbed run.
    """
    cycle = go_round(trail, writes=writes)
    simple = Trail(trail.model, ())
    other = go_round(simple, writes=writes)
    if cycle is None:
        return _with_new_values(trail.model) if writes else None
    if other is not None and _effects(other) == _effects(cycle) and len(simple.steps) < len(trail.steps):
        return simple, other
    return trail, cycle


def _with_new_values(model: Model) -> tuple[Trail, Round] | None:
    cycle = restless(model)
    if cycle is None:
        return None
    trail = Trail(model, cycle.schedule)
    return trail, Round(cycle.begin + 1, len(trail.steps), tuple(_written(trail, cycle.begin + 1)), is_new=True)


def _effects(cycle: Round) -> set[str]:
    return {f"{write.object} {write.change}" for write in cycle.writes}


def cause_of_cycle(trail: Trail, cycle: Round) -> Cause:
    """The writes of a cycle that undo each other."""
    steps = f"steps {cycle.first} to {cycle.last} repeat forever"
    if cycle.first == cycle.last:
        steps = f"step {cycle.first} repeats forever"
    pair = _pair(trail, cycle)
    if not pair:
        return Cause(steps)
    own = _own_conflict(trail, cycle)
    if own is not None:
        return _refused_by_itself(trail, steps, *own)
    writers = _writers(trail, pair)
    described = "; ".join(_described(write, writer) for write, writer in zip(pair, writers, strict=True))
    one, line = pair[0], pair[-1].part.line
    where = f"{one.change.path} of {short_name(one.object)}" if one.change.path else short_name(one.object)
    different = sorted({writer.partition("#")[0] if "#" in writer else writer for writer in writers})
    if len(different) > 1:
        fix = Fix(Remedy.ONE_WRITER, line, {"writers": " and ".join(different), "field": where})
    elif _is_time(one.change.before) and _is_time(one.change.after):
        fix = Fix(Remedy.IGNORE_TIME, line, {"field": where})
    elif len(pair) > 1 or cycle.is_new:
        fix = Fix(Remedy.COMPUTE_FROM_WANTED, line, {"field": where})
    else:
        fix = Fix(Remedy.COMPARE_BEFORE_WRITE, line, {"field": where})
    return Cause(f"{steps}: {described}", tuple(write.taken.number for write in pair), fix)


def _own_conflict(trail: Trail, cycle: Round) -> tuple[Taken, Taken] | None:
    """A write of the cycle that is refused because the same reconcile has changed the object before, and that write."""
    for refused in trail.steps[cycle.first - 1 :]:
        part = refused.parts[-1]
        if part.call is None or not part.call.writes or not part.transition.answer.is_conflict:
            continue
        for earlier, _, change in trail.changes():
            if (
                earlier.reconcile is refused.reconcile
                and earlier.number < refused.number
                and change.key == part.call.key
            ):
                return refused, earlier
    return None


def _refused_by_itself(trail: Trail, steps: str, refused: Taken, earlier: Taken) -> Cause:
    part, first = (
        refused.parts[-1],
        next(earlier_part for earlier_part in earlier.parts if earlier_part.transition.changes),
    )
    assert part.call is not None
    change = first.transition.changes[0]
    name = short_name(object_name(content_of(change.new or change.old)))  # type: ignore[arg-type]
    version = number_of(change.resource_version)
    sentence = (
        f"{steps}: the server refuses {call_text(part.call)} by {trail.actor(refused)} with 409 Conflict (step "
        f"{refused.number}), because the same reconcile has changed {name} at resourceVersion {version} (step "
        f"{earlier.number}) and goes on with the copy from before; the reconcile fails, and begins again"
    )
    at = f" at {first.line.short}" if first.line is not None else ""
    return Cause(sentence, (earlier.number, refused.number), Fix(Remedy.BASE_ON_RETURNED, part.line, {"at": at}))


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _writers(trail: Trail, pair: list[WrittenField]) -> list[str]:
    """The instances that write; where one of them writes for several objects, with the object that is reconciled."""
    names = [trail.actor(write.taken) for write in pair]
    requests = [write.taken.reconcile.request if write.taken.reconcile is not None else None for write in pair]
    if len(set(requests)) == 1 or len(set(names)) > 1:
        return names
    return [f"{name} for {request}" for name, request in zip(names, requests, strict=True)]


def _pair(trail: Trail, cycle: Round) -> list[WrittenField]:
    """Two writes of one field, by different actors if there are such; one write where there is no second."""
    pairs = [
        [one, other]
        for at, one in enumerate(cycle.writes)
        for other in cycle.writes[at + 1 :]
        if one.object == other.object
        and one.taken is not other.taken
        and overlaps(one.change.path, other.change.path)
        and one.change.after != other.change.after
    ]
    pairs.sort(key=lambda pair: trail.actor(pair[0].taken) == trail.actor(pair[1].taken))
    return pairs[0] if pairs else list(cycle.writes[:1])


def _described(write: WrittenField, writer: str) -> str:
    change, name = write.change, short_name(write.object)
    step = f"(step {write.taken.number})"
    if not change.path:
        return f"{writer} {'creates' if change.after else 'deletes'} {name} {step}"
    scalars = list_of(change.path, change.before if change.after is None else change.after)
    if scalars and change.after is None:
        return f"{writer} removes {shown(change.before)} from {scalars} of {name} {step}"
    if scalars and change.before is None:
        return f"{writer} adds {shown(change.after)} to {scalars} of {name} {step}"
    if is_element(change.path) and change.after is None:
        return f"{writer} removes {change.path} of {name} {step}"
    if is_element(change.path) and change.before is None:
        content = shown(without_key(change.path, change.after))
        return f"{writer} adds {change.path} = {content} to {name} {step}"
    return f"{writer} changes {change.path} of {name} from {shown(change.before)} to {shown(change.after)} {step}"
