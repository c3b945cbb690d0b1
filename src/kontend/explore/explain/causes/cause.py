"""Causes of violations, and the words for changes in them."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from kontend.cluster.state import Change
from kontend.explore.explain.fields import changed_paths, content_of, object_name, short_name, shown, text_of, value_at
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.kube.meta.names import Key, kind_of
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import SourceLocation


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a violation: one sentence, the steps at fault, and what to change."""

    sentence: str
    #: The numbers of the steps at fault.
    culprits: tuple[int, ...] = ()
    fix: str = ""
    #: The line that the fix is about.
    line: SourceLocation | None = None


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
    before, after = shown(value_at(old, paths[0])), shown(value_at(new, paths[0]))
    return f"changed {text_of(paths[0])} of {name} from {before} to {after}"


def written_text(part: Part) -> str:
    """Describes the first write of a call."""
    change = part.transition.changes[0]
    name = name_of(change)
    if change.old is None:
        return f"created {name}"
    if change.new is None or (part.call is not None and part.call.verb.startswith("delete")):
        return f"deleted {name}"
    paths = changed_paths(content_of(change.old), content_of(change.new))
    if not paths:
        return f"wrote {name}"
    return f"wrote {text_of(paths[0])} = {shown(value_at(content_of(change.new), paths[0]))} to {name}"


def name_of(change: Change) -> str:
    """The name of the object of a change, without group and version."""
    version = change.new or change.old
    assert version is not None
    return short_name(object_name(content_of(version)))


def target_of(call: Call) -> Key:
    """The key of the object of a call: the body of a create has the name; empty where the server makes one up."""
    if call.verb != "create" or call.name:
        return call.key
    metadata = (orjson.loads(call.body).get("metadata") if call.body else None) or {}
    return Key(call.namespace, metadata.get("name") or "")


def call_text(call: Call) -> str:
    """Describes a call, with the name of what it creates.

    >>> call_text(Call("create", "Secret/v1", "default", body=b'{"metadata": {"name": "s"}}'))
    'create Secret/v1 default/s'
    """
    key = target_of(call)
    return f"create {call.kind} {key}" if call.verb == "create" and key.name else str(call)


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
