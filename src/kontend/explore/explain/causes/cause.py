"""Causes of violations, and the words for changes in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kontend.cluster.state import Change
from kontend.explanation.fix import Fix
from kontend.explore.explain.fields import (
    ABSENT,
    changed_paths,
    content_of,
    object_name,
    short_name,
    shown,
    text_of,
    value_at,
)
from kontend.explore.explain.trail import Part, Taken, Trail, target_of
from kontend.explore.properties.overwrites import Element, Path
from kontend.kube.meta.names import kind_of
from kontend.report.elements import without_key
from kontend.runtime.client.call import Call

#: The outcome of a call with a fault, by action.
FAILED: Final = {
    "fail": "failed with 500 InternalError",
    "throttle": "failed with 429 TooManyRequests",
    "unavailable": "failed with 503 ServiceUnavailable",
    "conflict": "got 409 Conflict although nothing conflicts",
    "timeout": "timed out before the server had carried it out",
    "lose": "was carried out, and its response was lost",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a violation: one sentence, the steps at fault, and what to change."""

    sentence: str
    #: The numbers of the steps at fault.
    culprits: tuple[int, ...] = ()
    fix: Fix | None = None


def changed_text(change: Change) -> str:
    """Describes a change: what it made of the object."""
    name = name_of(change)
    if change.old is None:
        return f"created {name}"
    if change.new is None:
        return f"deleted {name}"
    old, new = content_of(change.old), content_of(change.new)
    paths = changed_paths(old, new)
    if not paths:
        return f"changed {name}"
    before, after = value_at(old, paths[0]), value_at(new, paths[0])
    if is_moved(paths[0], before, after):
        return moved_text(paths[0], after, name)
    return f"changed {text_of(paths[0])} of {name} from {shown(before)} to {shown(after)}"


def written_text(part: Part) -> str:
    """Describes the first write of a call."""
    change = part.transition.changes[0]
    name = name_of(change)
    if change.old is None:
        return f"created {name}"
    if change.new is None or (part.call is not None and part.call.verb.startswith("delete")):
        return f"deleted {name}"
    old, new = content_of(change.old), content_of(change.new)
    paths = changed_paths(old, new)
    if not paths:
        return f"wrote {name}"
    value = value_at(new, paths[0])
    if is_moved(paths[0], value_at(old, paths[0]), value):
        return moved_text(paths[0], value, name)
    return f"wrote {text_of(paths[0])} = {shown(value)} to {name}"


def is_moved(path: Path, before: Any, after: Any) -> bool:
    """A change adds an element to a list, or removes one."""
    return isinstance(path[-1], Element) and ABSENT in (before, after)


def moved_text(path: Path, after: Any, name: str) -> str:
    """Describes an element that was added to a list of an object, or removed from it.

    >>> moved_text(("metadata", "finalizers", Element("", "a/b")), ABSENT, "Node n")
    'removed "a/b" from metadata.finalizers of Node n'
    >>> moved_text(("status", "conditions", Element("type", "Ready")), {"type": "Ready", "status": "True"}, "Node n")
    'added type=Ready ({"status":"True"}) to status.conditions of Node n'
    """
    element, where = path[-1], text_of(path[:-1])
    if after is ABSENT:
        return f"removed {element} from {where} of {name}"
    content = f" ({shown(without_key(text_of(path), after))})" if isinstance(after, dict) else ""
    return f"added {element}{content} to {where} of {name}"


def name_of(change: Change) -> str:
    """The name of the object of a change, without group and version."""
    version = change.new or change.old
    assert version is not None
    return short_name(object_name(content_of(version)))


def call_text(call: Call, change: Change | None = None) -> str:
    """Describes a call, with the name of what it creates, which may be known only from its ``change``.

    >>> call_text(Call("create", "Secret/v1", "default", body=b'{"metadata": {"name": "s"}}'))
    'the create of Secret default/s'
    >>> call_text(Call("patch", "Node.example.com/v1", "default", "n", "status"))
    'the patch of Node default/n/status'
    >>> call_text(Call("list", "Secret/v1", "default", cached=True))
    'the list of Secret objects in default'
    """
    kind, key = call.kind.partition("/")[0].partition(".")[0], target_of(call)
    if change is not None:
        target = name_of(change)
    elif not key.name:
        target = f"{kind} objects in {call.namespace or 'all namespaces'}" if call.verb != "create" else f"a {kind}"
    else:
        target = f"{kind} {key}"
    return f"the {call.verb} of {target}{'/' * bool(call.subresource)}{call.subresource}"


def creation_of(trail: Trail, call: Call, before: int) -> tuple[Taken, Change] | None:
    """The last step before another one that created the object of a call."""
    key, creation = target_of(call), None
    for taken, _, change in trail.changes():
        created = change.new if change.old is None and change.key == key and taken.number < before else None
        if created is not None and str(kind_of(content_of(created))) == call.kind:
            creation = (taken, change)
    return creation


def is_same(one: Change, other: Change) -> bool:
    """Two changes are about the same object."""
    return one.resource == other.resource and one.key == other.key
