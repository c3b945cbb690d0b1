"""Questions about a trace document: objects at a step, writers of a field, differences between steps or runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kontend.report.document import Document, FieldChange, Step, Write


class BadQuestion(ValueError):
    """A question that the document cannot answer; the message lists what it knows."""


@dataclass(frozen=True, slots=True)
class FieldWrite:
    """A write of a field: the step, the version that its writer had read, and the values."""

    step: Step
    write: Write
    change: FieldChange


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first steps in which the failing run and the nearest good one differ; None where a run has ended."""

    common: int
    failing: Step | None
    good: Step | None


def step_at(document: Document, number: int) -> Step:
    """Return a step by its number. Raises :class:`BadQuestion`."""
    for step in document.steps:
        if step.number == number:
            return step
    raise BadQuestion(f"there is no step {number}; the trace has steps 1 to {len(document.steps)}")


def reconciles_of(steps: Sequence[Step]) -> list[tuple[Step, int]]:
    """Return the first step of each reconcile, and the number of its last call."""
    spans: list[tuple[Step, int]] = []
    current: dict[tuple[str, str], int] = {}
    for step in steps:
        key = (step.actor, step.request)
        if step.action == "start":
            current[key] = len(spans)
            spans.append((step, step.number))
        elif step.call is not None and key in current:
            spans[current[key]] = (spans[current[key]][0], step.number)
    return spans


def objects_of(document: Document) -> list[str]:
    """Return the names of all objects of a trace."""
    names = dict.fromkeys(document.initial)
    for step in document.steps:
        names.update(dict.fromkeys(write.object for write in step.writes))
        names.update(dict.fromkeys(read.object for read in step.reads))
    return sorted(names)


def find_object(document: Document, text: str) -> str:
    """Return the full name of an object, given that, its kind and key, or its key alone. Raises
    :class:`BadQuestion`."""
    names = objects_of(document)
    matching = [name for name in names if text in _forms(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise BadQuestion(f"{text} may be any of: {', '.join(matching)}")
    raise BadQuestion(f"no object is called {text}; there are: {', '.join(names) or 'none'}")


def _forms(name: str) -> set[str]:
    kind, _, key = name.partition(" ")
    short = re.split(r"[./]", kind)[0]
    bare = key.rpartition("/")[2]
    return {name, f"{short} {key}", f"{short}/{key}", f"{short}/{bare}", key, bare}


def object_after(document: Document, name: str, number: int) -> Mapping[str, Any] | None:
    """Return an object on the server after a step (0: before the first); None where it does not exist."""
    at = document.initial.get(name)
    for step in document.steps:
        if step.number > number:
            break
        for write in step.writes:
            if write.object == name:
                at = write.after
    return document.objects[at] if at is not None else None


def object_in_cache(document: Document, name: str, number: int, cache: str) -> Mapping[str, Any] | None:
    """Return an object as the cache of an instance has it after a step; None where it does not have it."""
    at = document.initial.get(name)
    for step in document.steps:
        if step.number > number:
            break
        for event in step.delivered:
            if event.object == name and event.cache == cache:
                at = event.hash
    return document.objects[at] if at is not None else None


def caches(document: Document) -> list[str]:
    """Return the names of the instances, each of which has a cache. A recorded log says nothing of caches."""
    if document.violation.how == "recorded":
        return []
    return [actor.name for actor in document.actors if actor.type == "instance"]


def writes_of(document: Document, name: str, path: str) -> Iterator[FieldWrite]:
    """Yield the writes of a field of an object, oldest first: of the field itself, of a part of it, or of all of it."""
    for step in document.steps:
        for write in step.writes:
            if write.object != name:
                continue
            changes = [change for change in write.fields if overlaps(change.path, path)]
            if not changes and write.after is None:
                changes = [FieldChange(path)]
            for change in changes:
                yield FieldWrite(step, write, change)


def fields_of(document: Document, name: str) -> list[str]:
    """Return the fields of an object that are written in a trace."""
    paths = dict.fromkeys(
        change.path
        for step in document.steps
        for write in step.writes
        if write.object == name
        for change in write.fields
    )
    return sorted(paths)


def overlaps(one: str, other: str) -> bool:
    """Two paths name the same field, or one of them is a part of the other.

    >>> overlaps("status.plan", "status.plan.id"), overlaps("status.plan", "status.planned")
    (True, False)
    """
    short, long = sorted((one, other), key=len)
    return not short or long == short or (long.startswith(short) and long[len(short)] in ".[")


def first_difference(document: Document) -> FirstDifference | None:
    """Return the point at which the failing run leaves the nearest good one; None where no good run is known."""
    if document.baseline is None:
        return None
    common = 0
    for one, other in zip(document.steps, document.baseline, strict=False):
        if (one.text, one.actor) != (other.text, other.actor):
            break
        common += 1
    failing = document.steps[common] if common < len(document.steps) else None
    good = document.baseline[common] if common < len(document.baseline) else None
    return FirstDifference(common, failing, good)
