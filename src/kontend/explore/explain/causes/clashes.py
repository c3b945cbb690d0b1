"""Writes that clash with one of another client.

The write changed a field again, removed an element of a list, or hit another object of the same name. The writer had
read a version of the object, and the other write came after that version.
"""

from __future__ import annotations

from collections.abc import Iterator

from kontend.cluster.state import Change, Version
from kontend.explore.explain.causes.cause import Cause, is_same, name_of
from kontend.explore.explain.causes.fixes import fix_of_fault
from kontend.explore.explain.fields import ABSENT, content_of, number_of, shown, text_of, value_at
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.judge import sole_manager
from kontend.explore.properties.overwrites import Element, Path
from kontend.explore.properties.writes import Fault, faults_of_writes


def faults_of(trail: Trail, taken: Taken, part: Part) -> Iterator[Fault]:
    """The clashes of a call."""
    in_flight, changes = part.transition.in_flight, part.transition.changes
    if in_flight is None or part.call is None or not changes:
        return
    resource = trail.resource_of(part)
    own = sole_manager(trail.model, part.before, in_flight, taken.step.instance)
    yield from faults_of_writes(part.before.state, trail.actor(taken), in_flight, part.call, resource, changes, own=own)


def clash_of(trail: Trail, taken: Taken, part: Part, fault: Fault) -> Cause:
    """The cause of a clash: both writes, with their values and versions."""
    change, base = fault.change, fault.base
    other = _other_write(trail, taken, fault)
    fix = fix_of_fault(trail, taken, part, fault)
    culprits = (other.number, taken.number) if other is not None else (taken.number,)
    if fault.property == BuiltIn.WRONG_OWNER:
        return Cause(f"{fault.sentence}{_moment_of_owner(taken, change)}", culprits, fix)
    if base is None or fault.property == BuiltIn.OBSERVED_GENERATION:
        return Cause(f"{fault.sentence} (step {taken.number})", culprits, fix)
    writer = trail.actor(taken)
    read = _read_in(taken, change, base)
    if fault.property == BuiltIn.WRONG_OBJECT:
        sentence = _wrong_object(trail, writer, change, base, read, other)
    else:
        sentence = (
            f"{writer} {_did(fault)} from resourceVersion {number_of(base.resource_version)}{read}; "
            f"{_before_it(trail, other, fault)}, and the server accepted the write without a conflict"
        )
    return Cause(sentence, culprits, fix)


def _did(fault: Fault) -> str:
    """Describes the write."""
    change, path = fault.change, fault.path
    name = name_of(change)
    if fault.property == BuiltIn.VANISHED_ELEMENT:
        return f"wrote {text_of(path[:-1])} of {name} without {path[-1]}"
    value = value_at(content_of(change.new), path) if change.new is not None else ABSENT
    if value is ABSENT:
        return f"removed {text_of(path)} of {name}"
    if path and isinstance(path[-1], Element) and not path[-1].key:
        return f"added {path[-1]} to {text_of(path[:-1])} of {name}"
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
    version = max(own.resource_version for own in other.transition.changes if is_same(own, change))
    return f"{trail.actor(other)} had {verb} at resourceVersion {number_of(version)} (step {other.number})"


def _wrong_object(trail: Trail, writer: str, change: Change, base: Version, read: str, other: Taken | None) -> str:
    did = "deleted" if change.new is None else "wrote to"
    creator = f"{trail.actor(other)} had created (step {other.number})" if other is not None else "was created"
    assert change.old is not None
    version = number_of(base.resource_version)
    return (
        f"{writer} {did} {name_of(change)} with uid {_uid(change.old)}, which {creator} under the same name; {writer} "
        f"meant the one with uid {_uid(base)} and resourceVersion {version}{read}, which is gone"
    )


def _moment_of_owner(taken: Taken, change: Change) -> str:
    """Says when the earlier owner was read, in the reconcile that deletes a child of the present one."""
    assert change.old is not None
    names = {owner.get("name") for owner in content_of(change.old)["metadata"].get("ownerReferences") or ()}
    reads = [
        seen
        for seen in (taken.reconcile.reads if taken.reconcile is not None else ())
        if any(key.name in names and version is not None for key, version in seen.versions.items())
    ]
    if not reads:
        return f" (step {taken.number})"
    where = "from its cache" if reads[-1].call.cached else "from the server"
    return f"; it read that in step {reads[-1].step}, {where}, and deleted in step {taken.number}"


def _other_write(trail: Trail, taken: Taken, fault: Fault) -> Taken | None:
    """The step whose write the writer did not know: the last one that changed the field since the read."""
    since = fault.base.resource_version if fault.base is not None else 0
    writing = None
    for other, _, change in trail.changes():
        if other.number >= taken.number:
            break
        if not is_same(change, fault.change) or change.resource_version <= since:
            continue
        if fault.property == BuiltIn.WRONG_OBJECT:
            if change.old is None:
                writing = other
        elif change.old is None or change.new is None or _touches(change, fault.path):
            writing = other
    return writing


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


def _uid(version: Version) -> str:
    return str(content_of(version)["metadata"].get("uid", ""))[:8]
