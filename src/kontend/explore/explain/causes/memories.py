"""Memories: attributes that a controller keeps from one reconcile to the next, and that outlive what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.causes.assignments import assignment_of
from kontend.explore.explain.fields import ABSENT, content_of, number_of, object_name, short_name, shown
from kontend.explore.explain.trail import Reconcile, Taken, Trail


def start_of(trail: Trail, reconcile: Reconcile) -> int:
    """The step in which a reconcile starts; a retry that leads to it may come earlier."""
    return next(number for number in reconcile.steps if trail.steps[number - 1].step.action == "start")


@dataclass(frozen=True, slots=True)
class Memory:
    """Something that a controller remembered, as the reason of a decision."""

    text: str
    steps: frozenset[int]
    fix: Fix


def remembered(trail: Trail, good: Trail, last: Reconcile, maker: Reconcile) -> Memory | None:
    """Compares the memory at the start of a reconcile with that of a good run; None where they are equal."""
    ours, theirs = _memory(trail, last), _memory(good, maker)
    name = next((name for name in ours if ours[name] != theirs.get(name, ABSENT)), None)
    if name is None:
        return None
    since = _remembered_in(trail, last, name)
    value, other = ours[name], theirs.get(name, ABSENT)
    copied = _copy_in(value)
    controller = trail.programs[last.instance].controller
    what = f"self.{name} = {shown(value)}"
    newer = None
    if copied is not None:
        newer = _newer(trail, copied)
        what = f"{short_name(object_name(copied))} at resourceVersion {_version_of(copied)} in self.{name}"
    steps = {since.number if since is not None else last.steps[0]}
    if since is not None:
        what += f", since step {since.number}"
    text = f"although it read what the good run reads there: it still remembers {what}"
    if newer is not None and copied is not None:
        taken, change = newer
        version = number_of(change.resource_version)
        text += f"; {trail.actor(taken)} had changed it at resourceVersion {version} (step {taken.number})"
        own = _made(trail, copied)
        steps = {taken.number, *((own.number,) if own is not None else steps)}
        remedy = Remedy.COMPARE_COPY
    else:
        there = "nothing" if other in (ABSENT, None, "", {}, []) else shown(other)
        text += f"; in the good run it remembers {there}"
        remedy = Remedy.FORGET
    fix = Fix(remedy, assignment_of(controller, name), {"memory": f"self.{name}"})
    return Memory(text, frozenset(steps), fix)


def _memory(trail: Trail, reconcile: Reconcile) -> dict[str, Any]:
    before = trail.steps[start_of(trail, reconcile) - 1].before
    memory: dict[str, Any] = orjson.loads(before.instances[reconcile.instance].memory)
    return memory


def _remembered_in(trail: Trail, last: Reconcile, name: str) -> Taken | None:
    """The last step before a reconcile in which its instance changed what it remembers."""
    for taken in reversed(trail.steps[: last.steps[0] - 1]):
        before, after = (world.instances[last.instance].memory for world in (taken.before, taken.after))
        if before != after and orjson.loads(before).get(name) != orjson.loads(after).get(name):
            return taken
    return None


def _copy_in(value: Any) -> Mapping[str, Any] | None:
    """An object with a resourceVersion in what a controller remembers."""
    if isinstance(value, Mapping):
        metadata = value.get("metadata")
        if isinstance(metadata, Mapping) and metadata.get("resourceVersion") and "kind" in value:
            return value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        copied = _copy_in(part)
        if copied is not None:
            return copied
    return None


def _newer(trail: Trail, copied: Mapping[str, Any]) -> tuple[Taken, Change] | None:
    """The last change of an object after the version of a copy."""
    version, name, newest = _version_of(copied), object_name(copied), None
    if not version.isdecimal():
        return None
    for taken, _, change in trail.changes():
        present = change.new or change.old
        assert present is not None
        if object_name(content_of(present)) == name and number_of(change.resource_version) > int(version):
            newest = (taken, change)
    return newest


def _made(trail: Trail, copied: Mapping[str, Any]) -> Taken | None:
    """The step whose write made the version of a copy."""
    name, version = object_name(copied), _version_of(copied)
    for taken, _, change in trail.changes():
        if change.new is not None and str(number_of(change.resource_version)) == version:
            return taken if object_name(content_of(change.new)) == name else None
    return None


def _version_of(copied: Mapping[str, Any]) -> str:
    """The resourceVersion of a copy, as traces show it."""
    version = str(copied["metadata"]["resourceVersion"])
    return str(number_of(int(version))) if version.isdecimal() else version
