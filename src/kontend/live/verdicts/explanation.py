"""Explanations: the writes behind a finding, the perturbation, and what unperturbed runs have instead.

A final state that differs is explained object by object. A field has two writes: the last one, and the one that it
replaced or, if there is none, the write of an unperturbed run that has not come. An object that is missing was removed,
or the write that makes it has not come; one that is left over was made by writes that no other has undone. A property
of the user that does not hold in the end has the write with which it began to hold, and the write that has ended that.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path as File
from typing import Any, Final, NamedTuple

from kontend.cluster.cluster import Cluster
from kontend.cluster.state import Change, Version
from kontend.explore.properties.overwrites import Path, changed, path_text
from kontend.explore.properties.property import Property
from kontend.explore.properties.writes import Fault
from kontend.live.baseline import Baseline
from kontend.live.gate.records import Happening, Request
from kontend.live.properties.final_state import Difference, differences, short, value_at
from kontend.live.properties.findings import Finding
from kontend.live.properties.masking import Mask, comparable, title_of
from kontend.live.runs.outcome import Run, Step, steps_of

#: Fields of a final state that are explained.
_EXPLAINED: Final = 2
#: Steps that carry out a perturbation which is not one of a call.
_PERTURBS: Final = ("crash", "pause", "relist")

#: Parts of an object that say nothing about its content.
_DULL: Final = ("apiVersion", "kind", "metadata")


class Cause(NamedTuple):
    """The cause of a finding in words, and the numbers of the steps that it names."""

    sentence: str
    culprits: tuple[int, ...] = ()
    #: An internal error has kept it from being found; the sentence says which.
    failed: bool = False


class _Write(NamedTuple):
    """A change of one object, and the step that has made it; number 0 is the server itself."""

    number: int
    text: str
    title: str
    change: Change

    def __str__(self) -> str:
        return f"step {self.number} ({self.text})" if self.number else self.text

    def changed(self, path: Path = ()) -> dict[Path, Any]:
        """Return the fields that it has changed in, above or below a path, with their new values.

        Without a path these are all fields that say something about the object's content.
        """
        old, new = _content(self.change.old), _content(self.change.new)
        paths = (_gone(new, each) for each in changed(old, new) if path or each[0] not in _DULL)
        return {each: value_at(new, each) for each in paths if _are_nested(each, path)}

    def gave(self, path: Path) -> bool:
        """Return whether it has given a field a value."""
        new = _content(self.change.new)
        return any(
            value is not None and (len(path) < len(field) or value_at(new, path) is not None)
            for field, value in self.changed(path).items()
        )

    def did(self, path: Path = ()) -> str:
        """Say what it has done to a field, or without one to the object."""
        if self.change.new is None:
            return "removed the object"
        if not path:
            return "created the object" if self.change.old is None else "changed the object"
        return self.wrote(path)

    def wrote(self, path: Path = ()) -> str:
        """Say which fields it has written or removed: those at a path, or without one all."""
        if self.change.new is None:
            return "removed the object"
        fields = self.changed(path)
        removed = [path_text(field) for field, value in fields.items() if value is None]
        if removed:
            return f"removed {', '.join(removed[:_EXPLAINED])}"
        written = [f"{path_text(field)} = {short(value)}" for field, value in fields.items()]
        return f"wrote {', '.join(written[:_EXPLAINED])}"


class _History:
    """The writes of a run, in order; those up to the phase of an action, if one is given."""

    def __init__(self, run: Run, mask: Mask, actions: int | None = None) -> None:
        self.writes: list[_Write] = []
        last = run.phases[actions] if actions is not None and actions < len(run.phases) else run.final
        for step in steps_of(run):
            if step.before.resource_version >= last.resource_version:
                break
            number = 0 if step.by_server else step.number
            for change in step.after.changes_since(step.before.resource_version):
                metadata = _content(change.new or change.old).get("metadata") or {}
                title = title_of(change.resource, change.key, metadata, mask)
                self.writes.append(_Write(number, step.text, title, change))

    def of(self, title: str, path: Path = ()) -> list[_Write]:
        """Return the writes of the objects with a title, or of a field of them."""
        return [write for write in self.writes if write.title == title and (not path or write.changed(path))]


def cause_of(finding: Finding, run: Run, baseline: Baseline) -> Cause:
    """Return the cause of a finding, or the internal error that has kept it from being found.

    A finding may have taken many minutes: an error in its explanation must not cost the finding, nor the others.
    """
    try:
        return explain(finding, run, baseline)
    except Exception as error:  # whatever it is, the finding is true
        frame = traceback.extract_tb(error.__traceback__)[-1]
        what = traceback.format_exception_only(error)[-1].strip()
        sentence = f"not known: internal error: {what} ({File(frame.filename).name}, line {frame.lineno})"
        return Cause(sentence, tuple(finding.culprits), failed=True)


def explain(finding: Finding, run: Run, baseline: Baseline) -> Cause:
    """Return the cause of a finding."""
    expected = baseline.expected_after(run.plan.actions)
    history, good = _History(run, expected.mask), _History(baseline.runs[0], expected.mask, run.plan.actions)
    nearest: Sequence[Difference] = finding.difference
    if not nearest and expected.finals:
        final = comparable(run.initial, run.final, expected.mask)
        nearest = min((differences(final, candidate) for candidate in expected.finals), key=len)
    causes = [*_perturbations(run)]
    question = next((prop for prop in run.properties if prop.name == finding.property), None)
    if finding.fault is not None:
        causes += _clash(finding.fault, history, nearest)
    elif question is not None:
        causes += _stretch(question, run, baseline) if question.mode == "eventually" else _broken(finding, history)
    else:
        causes += [_difference(difference, history, good) for difference in nearest[:_EXPLAINED]]
    causes += [
        Cause(f"action {number} of the user was refused: {refusal}")
        for number, refusal in run.refusals.items()
        if number not in baseline.setting.refused
    ]
    numbers = dict.fromkeys([*finding.culprits, *(number for cause in causes for number in cause.culprits)])
    sentences = dict.fromkeys(cause.sentence for cause in causes)
    return Cause("; ".join(sentences), tuple(number for number in numbers if number))


def _perturbations(run: Run) -> Iterator[Cause]:
    """Yield the perturbations of a run with the steps at which they took effect."""
    requests = {event.perturbation: number for number, event in _numbered(run) if isinstance(event, Request)}
    happened = [
        number for number, event in _numbered(run) if isinstance(event, Happening) and event.action in _PERTURBS
    ]
    for perturbation in run.plan.perturbations:
        text = str(perturbation)
        number = requests.get(perturbation) or (happened[0] if happened else 0)
        yield Cause(f"{text} (step {number})" if number else text, (number,))


def _numbered(run: Run) -> Iterable[tuple[int, object]]:
    return enumerate(run.log.records, start=1)


def _clash(fault: Fault, history: _History, nearest: Sequence[Difference]) -> Iterator[Cause]:
    """Yield the write that its writer had not read, the write at fault, and the object at the end."""
    version = fault.change.resource_version
    own = next((write for write in history.writes if write.change.resource_version == version), None)
    if own is None:
        return  # a change that the server has made up from several
    path = fault.path
    since = fault.base.resource_version if fault.base is not None else 0
    unread = [write for write in history.of(own.title, path) if since < write.change.resource_version < version]
    if unread:
        yield Cause(f"{unread[-1]} {unread[-1].did(path)}, then {own} {own.did(path)}", (unread[-1].number, own.number))
    differences = [str(difference) for difference in nearest if difference.place.title == own.title]
    repaired = "at the end the object is as in unperturbed runs: a later write has repaired it"
    yield Cause(f"at the end {'; '.join(differences[:_EXPLAINED])}" if differences else repaired)


def _difference(difference: Difference, history: _History, good: _History) -> Cause:
    """The writes behind one difference of a final state."""
    place = difference.place
    title, path = place
    writes, others = history.of(title, path), good.of(title, path)
    if not path and difference.got is None:
        removed = next((write for write in reversed(history.of(title)) if write.change.new is None), None)
        made = next((write for write in history.of(title) if write.change.old is None), None)
        if removed is not None:
            first = f"{made} {made.did()}, then " if made is not None else ""
            return Cause(f"{first}{removed} removed {place}", (made.number if made else 0, removed.number))
        return Cause(
            f"no step has made {place}; {_unperturbed([each for each in others if each.change.new is not None])}"
        )
    if not path:
        made_by = [write for write in history.of(title) if write.change.old is None]
        undone = [write for write in good.of(title) if write.change.new is None]
        texts = " and ".join(map(str, made_by[-_EXPLAINED:])) or "no step"
        then = f"; in unperturbed runs {undone[-1].text} removes it" if undone else ""
        return Cause(f"{texts} made {place}{then}", tuple(write.number for write in made_by[-_EXPLAINED:]))
    if difference.got is None and not any(write.gave(path) for write in writes):
        return Cause(f"no step has written {place}; {_unperturbed([write for write in others if write.gave(path)])}")
    if not writes:  # it is as it was at the start, and only unperturbed runs have changed it
        return Cause(f"no step changed {place}{f'; {_unperturbed(others)}' if others else ''}")
    last, before = writes[-1], writes[-2:-1]
    over = f" over {before[0]}, which {before[0].did(path)}" if before else ""
    later = f"; in unperturbed runs {others[-1].text} {others[-1].did(path)}" if others else ""
    instead = "" if before else later
    return Cause(f"{last} {last.did(path)}{over}{instead}", (*(write.number for write in before), last.number))


# Properties of the user


def _stretch(question: Property, run: Run, baseline: Baseline) -> Iterator[Cause]:
    """Yield the last stretch of a run in which a property held: its first step, and the step that has ended it."""
    first, broke = _last_stretch(question, run)
    if first is not None and broke is not None:
        yield Cause(f"{question.name} held from {_told(first)} until {_told(broke)}", (first.number, broke.number))
        return
    good = next(filter(None, (_last_stretch(question, other)[0] for other in baseline.runs)), None)
    holds = f"; in unperturbed runs it holds from {good.text} on" if good is not None else ""
    yield Cause(f"{question.name} held in no state of the run{holds}")


def _last_stretch(question: Property, run: Run) -> tuple[Step | None, Step | None]:
    first = broke = None
    held = False
    for step in steps_of(run):
        holds = question.ask(Cluster(state=step.after))
        if holds and not held:
            first, broke = step, None
        elif held and not holds:
            broke = step
        held = holds
    return first, broke


def _told(step: Step) -> str:
    """A step and the fields that it has changed."""
    fields = []
    for change in step.after.changes_since(step.before.resource_version):
        old, new = _content(change.old), _content(change.new)
        paths = [changed_path for changed_path in changed(old, new) if changed_path[0] not in _DULL]
        fields += [f"{path_text(path)} = {short(value_at(new, path))}" for path in paths]
    wrote = f" wrote {', '.join(fields[:_EXPLAINED])}" if fields else ""
    return f"step {step.number} ({step.text}{wrote})"


def _broken(finding: Finding, history: _History) -> Iterator[Cause]:
    """Yield the write that breaks an invariant, and the one before it of the same object."""
    own = next((write for write in history.writes if write.number in finding.culprits), None)
    if own is not None:
        before = [
            write for write in history.of(own.title) if write.change.resource_version < own.change.resource_version
        ]
        over = f", after {before[-1]} {before[-1].wrote()}" if before else ""
        yield Cause(f"{own} {own.wrote()}{over}", (*(write.number for write in before[-1:]), own.number))


def _unperturbed(writes: Sequence[_Write]) -> str:
    """Return the write of an unperturbed run that makes an object or a field what it should be."""
    return (
        f"in unperturbed runs {writes[-1].text} does" if writes else "in unperturbed runs it was there from the start"
    )


def _content(version: Version | None) -> dict[str, Any]:
    return version.content() if version is not None else {}


def _gone(obj: dict[str, Any], path: Path) -> Path:
    """Return a path, or the part of it up to the first thing that an object does not have."""
    return next((path[:end] for end in range(1, len(path)) if value_at(obj, path[:end]) is None), path)


def _are_nested(one: Path, other: Path) -> bool:
    """Return whether one of two paths leads to the other or into it.

    >>> _are_nested(("status", "phase"), ("status",)), _are_nested(("status",), ("spec",)), _are_nested(("a",), ())
    (True, False, True)
    """
    common = min(len(one), len(other))
    return one[:common] == other[:common]
