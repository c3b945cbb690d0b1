"""The cause of a wrong final state: the write that left it, or the write that is missing.

The final state is compared with that of the nearest good run. The first difference that a write explains is the one
that the sentence is about. Where none does, the run lacks something that the good run does, because of what perturbs
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.cause import Cause, changed_text, is_same, name_of
from kontend.explore.explain.causes.decisions import Decision, decision_against, makes_right, was_right
from kontend.explore.explain.causes.disturbances import disturbance, misses_own_write, perturbing
from kontend.explore.explain.causes.outdated import line_of
from kontend.explore.explain.causes.writes import cause_of_refusal, cause_of_write
from kontend.explore.explain.fields import (
    changed_paths,
    content_of,
    named,
    object_name,
    short_name,
    shown,
    text_of,
)
from kontend.explore.explain.trail import Part, Reconcile, Taken, Trail
from kontend.explore.model.environment.faults import OPTIONAL
from kontend.explore.properties.judge import Judge
from kontend.kube.meta.names import Key
from kontend.report.document import Difference
from kontend.report.elements import is_element, list_of, without_key
from kontend.report.inspection import overlaps
from kontend.runtime.source_location import SourceLocation

_Write = tuple[Taken, Part]


def cause_of_final_state(trail: Trail, good: Trail, differences: Sequence[Difference]) -> Cause | None:
    """The cause of the differences between the final state of a trail and that of a good run."""
    for difference in differences:
        write = _last_write(trail, difference)
        if write is None or _is_left_over(difference, write, good):
            continue
        cause = cause_of_write(trail, write[0])
        if cause is not None:
            return replace(cause, sentence=f"{_outcome(difference)}: {cause.sentence}")
    for difference in differences:
        repeated = _repeated(trail, good, difference)
        if repeated is not None:
            return repeated
    for difference in differences:
        ordered = _last_one_wins(trail, good, difference)
        if ordered is not None:
            return ordered
    refused = cause_of_refusal(trail)
    if refused is not None and differences:
        return replace(refused, sentence=f"{_outcome(differences[0])}: {refused.sentence}")
    # An object that is left over or missing says more than a field, in which unperturbed runs may differ, too.
    return (
        _lacking(trail, good, min(differences, key=lambda difference: bool(difference.path))) if differences else None
    )


def without_good_run(trail: Trail, sentence: str, name: str) -> Cause:
    """A wrong final state where no good run is known: the writes that lead to it are all there is to say."""
    broken = _broken_by(trail, name)
    if broken is not None:
        return _undone(trail, sentence, *broken)
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
        return Cause(sentence, (taken.number,), Fix(Remedy.NOTICE_THE_REST, taken.parts[0].line))
    final.matters = True
    read, line = final.reads[-1], line_of(trail, final.reads[-1])
    sentence += f"; {trail.names[final.instance]} ran once more, until step {final.steps[-1]}, and wrote nothing"
    return Cause(sentence, tuple(sorted({taken.number, read.step})), Fix(Remedy.NOTICE_THE_REST, line))


def _broken_by(trail: Trail, name: str) -> _Write | None:
    """The last write of a controller after which a property no longer held, which had held before."""
    judge = Judge(trail.model)
    at = judge.positions.get(name)
    if at is None:
        return None
    held, breaking = judge.holds(trail.initial)[at], None
    for taken in trail.steps:
        holds = judge.holds(taken.after)[at]
        if held and not holds:
            breaking = next(((taken, part) for part in taken.parts if part.transition.changes), None)
        held = holds
    return breaking if breaking is not None and breaking[0].reconcile is not None else None


def _undone(trail: Trail, sentence: str, taken: Taken, part: Part) -> Cause:
    """A write that undoes what held: the property held before it."""
    change = part.transition.changes[0]
    writer, name = trail.actor(taken), name_of(change)
    sentence += f"; it held until {writer} {changed_text(change)} (step {taken.number})"
    earlier = [other for other, _, before in trail.changes() if other.number < taken.number and is_same(before, change)]
    if not earlier or earlier[-1].reconcile is None or trail.actor(earlier[-1]) == writer:
        return Cause(sentence, (taken.number,), Fix(Remedy.COMPARE_NEWER, part.line, {"object": name}))
    author = trail.actor(earlier[-1])
    sentence += f", which {author} had written in step {earlier[-1].number}"
    fix = Fix(Remedy.ONE_WRITER_OR_NEWER, part.line, {"object": name, "writers": f"{author} and {writer}"})
    return Cause(sentence, (earlier[-1].number, taken.number), fix)


def _outcome(difference: Difference) -> str:
    name = short_name(difference.object)
    got, expected = (shown(without_key(difference.path, content)) for content in (difference.got, difference.expected))
    scalars = list_of(difference.path, difference.expected if difference.got is None else difference.got)
    if scalars and difference.got is None:
        return f"{name} ends without {expected} in {scalars}"
    if scalars and difference.expected is None:
        return f"{name} ends with {got} in {scalars}, which should not be there"
    if is_element(difference.path) and difference.got is None:
        return f"{name} ends without {difference.path}, which should be {expected}"
    if is_element(difference.path) and difference.expected is None:
        return f"{name} ends with {difference.path} = {got}, which should not be there"
    if difference.path:
        return f"{name} ends with {difference.path} = {got} instead of {expected}"
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


def _repeated(trail: Trail, good: Trail, difference: Difference) -> Cause | None:
    """A reconcile that stopped half-way, and the write that the next one made again on top of its first half."""
    stop = perturbing(trail)
    if stop is None or stop.step.action not in OPTIONAL or not difference.path:
        return None
    writes = [write for write in _writes_of(trail, difference) if write[0].reconcile is not None]
    for at, (again, part) in reversed(list(enumerate(writes))):
        earlier = [
            (taken, other)
            for taken, other in writes[:at]
            if taken.number <= stop.number < again.number
            and other.line == part.line
            and taken.reconcile is not again.reconcile
            and _request(taken) == _request(again)
        ]
        if not earlier:
            continue
        first = earlier[-1][0]
        same = [taken for taken, other in _writes_of(good, difference) if other.line == part.line]
        if len(same) >= len([taken for taken, other in writes if other.line == part.line]):
            continue  # the good run makes the write as often
        stopped = disturbance(trail, stop).text
        where = f" at {part.line.short}" if part.line is not None else ""
        change = changed_text(_change_of(again, difference))
        sentence = (
            f"{_outcome(difference)}: {stopped}; the reconcile of {_request(again)} then ran from its start, and made "
            f"the write of step {first.number} a second time{where}: it {change} (step {again.number})"
        )
        return Cause(sentence, (first.number, again.number), _repeatable(trail, again, part, difference))
    return None


def _repeatable(trail: Trail, again: Taken, part: Part, difference: Difference) -> Fix:
    """The change that makes a write repeatable: of the object that is reconciled, or of one that owners share."""
    name, reconcile = short_name(difference.object), again.reconcile
    assert reconcile is not None
    own = named(trail.programs[reconcile.instance].controller.kind, reconcile.request)
    remedy = Remedy.REPEATABLE_VALUE if difference.object == own else Remedy.REPEATABLE_ENTRY
    return Fix(remedy, part.line, {"object": name})


def _request(taken: Taken) -> Key | None:
    return taken.reconcile.request if taken.reconcile is not None else None


def _writes_of(trail: Trail, difference: Difference) -> list[_Write]:
    """The writes that change a field."""
    return [
        (taken, part)
        for taken, part, change in trail.changes()
        if change.old is not None and change.new is not None and _is_about(change, difference)
    ]


def _change_of(taken: Taken, difference: Difference) -> Change:
    """The change of a step that is about a field."""
    return next(
        change
        for part in taken.parts
        for change in part.transition.changes
        if change.old is not None and change.new is not None and _is_about(change, difference)
    )


def _is_about(change: Change, difference: Difference) -> bool:
    """A change of an object that exists before and after touches a field."""
    assert change.old is not None
    assert change.new is not None
    old, new = content_of(change.old), content_of(change.new)
    return object_name(new) == difference.object and any(
        overlaps(text_of(path), difference.path) for path in changed_paths(old, new)
    )


def _last_one_wins(trail: Trail, good: Trail, difference: Difference) -> Cause | None:
    """Two reconciles write different values of one field, and the good run makes the two writes in the other order."""
    last, wanted = _last_write(trail, difference), _last_write(good, difference, good=True)
    if not difference.path or last is None or wanted is None or wanted[0].reconcile is None:
        return None
    earlier = [
        (taken, part)
        for taken, part, change in trail.changes()
        if taken.number < last[0].number and makes_right(change, difference)
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
    ours, theirs = (
        sorted(str(taken.reconcile and _identity(taken.reconcile)) for taken, _ in _writes_of(run, difference))
        for run in (trail, good)
    )
    if ours != theirs:
        return None  # not the same writes
    names = [f"{trail.actor(taken)} for {taken.reconcile.request}" for taken in (last[0], first) if taken.reconcile]
    where = f"{difference.path} of {short_name(difference.object)}"
    sentence = (
        f"{_outcome(difference)}: {names[0]} wrote it in step {last[0].number} over {shown(difference.expected)}, "
        f"which {names[1]} had written in step {first.number}; the good run makes the two writes in the other order"
    )
    if trail.programs[mine.instance] is trail.programs[wrote.instance]:
        fix = Fix(Remedy.COMPUTE_FROM_ALL, last[1].line, {"field": where, "request": str(mine.request)})
    else:
        fix = Fix(Remedy.ONE_WRITER, last[1].line, {"writers": " and ".join(sorted(names)), "field": where})
    return Cause(sentence, (first.number, last[0].number), fix)


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
    taken = perturbing(trail)
    # A user who acts in the middle of a reconcile may be overlooked by that very reconcile.
    after = 0 if taken is None or taken.step.action == "act" else taken.number
    decision = decision_against(trail, good, difference, wanted, after=after) if wanted is not None else None
    if decision is not None and taken is not None and not _comes_after(decision, taken):
        decision = None
    if wanted is not None and decision is None and not was_right(trail, difference):
        line = line or wanted[1].line
        where = f" at {wanted[1].line.short}" if wanted[1].line is not None else ""
        lacks = f"this run lacks what the nearest good run does in its step {wanted[0].number}"
        parts.append(f"{lacks}: {wanted[0].transition.text}{where}")
    elif not parts and decision is None:
        parts.append("no step of this run writes it")
    fix: Fix | None = None
    if taken is not None:
        disturbing = disturbance(trail, taken)
        fix = disturbing.fix
        parts.append(disturbing.text)
        culprits |= disturbing.steps
        if write is not None and write[0].number > taken.number:
            culprits.add(write[0].number)
        again = _made_again(trail, write) if write is not None and not difference.path else None
        if again is not None:
            other, change = again
            parts.append(f"{trail.actor(other)} then {changed_text(change)} in its place (step {other.number})")
            culprits.add(other.number)
        line = (fix.place if fix is not None else None) or line
    if decision is not None:
        parts.append(decision.text)
        culprits = {*decision.steps, *((taken.number,) if taken is not None else ())}
        decision.reconcile.matters = True
        if fix is not None and fix.remedy is Remedy.DECIDE_BY_STATE:
            line = line or (wanted[1].line if wanted is not None else None)
        elif taken is None or not misses_own_write(trail, taken):  # else the decision is right, not what it rests on
            fix, line = decision.fix, decision.fix.place or line
    if taken is not None and write is not None:
        missing = _finalizer(trail, difference, write)
        if missing is not None:
            fix, line = missing, missing.place
    fix = replace(fix, place=line) if fix is not None else None
    return Cause(f"{_outcome(difference)}: {'; '.join(parts)}", tuple(sorted(culprits)), fix)


def _made_again(trail: Trail, write: _Write) -> tuple[Taken, Change] | None:
    """The next create of the same line, by a run that did not know of this one."""
    for taken, part, change in trail.changes():
        if taken.number > write[0].number and change.old is None and part.line == write[1].line:
            return taken, change
    return None


def _finalizer(trail: Trail, difference: Difference, write: _Write) -> Fix | None:
    """For an object that is left over because its owner was deleted without a finalizer: the owner that needs one."""
    reconcile = write[0].reconcile
    if difference.path or difference.got is None or reconcile is None:
        return None
    if (difference.got.get("metadata") or {}).get("ownerReferences"):
        return None  # the garbage collector's work
    kind = trail.programs[reconcile.instance].controller.kind
    owner = named(kind, reconcile.request)
    last = None
    for _, _, change in trail.changes():
        version = change.new or change.old
        if version is not None and object_name(content_of(version)) == owner:
            last = change
    if last is None or last.new is not None:
        return None
    assert last.old is not None
    if content_of(last.old)["metadata"].get("finalizers"):
        return None
    names = {"owner": short_name(owner), "object": short_name(difference.object)}
    return Fix(Remedy.ADD_FINALIZER, write[1].line, names)


def _comes_after(decision: Decision, taken: Taken) -> bool:
    """A decision explains the outcome if it was made after the perturbation, with what that had led to."""
    return max(*decision.steps, decision.reconcile.steps[-1]) > taken.number or taken.step.action == "act"
