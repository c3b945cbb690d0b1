"""Tells patches that code gives whole from differences (``merge_from``), by what was sent.

The line of a call often has nothing but a variable, and each of the two is locked in its own way. Two things show that
a body was given whole: it repeats what every version has that its reconcile had read, which a difference never does; or
it went without a resourceVersion where the guard ``locked_status`` adds one to every difference. A body that only has
changes may be either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from kontend.cluster.request import MERGE_PATCH
from kontend.cluster.state import Version
from kontend.explanation.python.statements import is_given, tree_of
from kontend.explore.explain.fields import content_of
from kontend.explore.explain.trail import Part, Taken, Trail
from kontend.runtime.client.call import Call


def is_given_whole(trail: Trail, taken: Taken, part: Part, *, locked: bool | None) -> bool:
    """The patch of a call was given whole; ``locked`` says whether the guard ``locked_status`` would have locked it.

    That is None where it is not known.
    """
    call = part.call
    assert call is not None
    if not call.content_type.startswith(MERGE_PATCH):
        return True
    try:
        body: Any = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return True
    versions = list(_read(trail, taken, call))
    if versions and all(repeats(body, content_of(version)) for version in versions):
        return True
    return locked is False and (call.subresource == "status" or _has_list(body)) and not _unlocks(part)


def repeats(patch: Any, content: Any) -> bool:
    """A merge patch sets a field to the value that it has, or removes one that is not there.

    >>> repeats({"spec": {"size": 2, "on": True}}, {"spec": {"size": 1, "on": True}})
    True
    >>> repeats({"spec": {"size": 2, "on": None}}, {"spec": {"size": 1, "on": True}})
    False
    """
    if isinstance(patch, Mapping) and isinstance(content, Mapping):
        return not patch or any(repeats(value, content.get(name)) for name, value in patch.items())
    return bool(patch == content)


def _read(trail: Trail, taken: Taken, call: Call) -> Iterator[Version]:
    """The versions of the object of a call that its reconcile had read or written before."""
    reconcile = taken.reconcile
    if reconcile is None:
        return
    resource = ""
    for seen in reconcile.reads:
        version = seen.versions.get(call.key)
        if version is not None and seen.call.kind == call.kind:
            resource = seen.resource
            yield version
    for number in reconcile.steps:
        for change in trail.steps[number - 1].transition.changes if number < taken.number else ():
            if (change.resource, change.key) == (resource, call.key) and change.new is not None:
                yield change.new


def _has_list(body: Any) -> bool:
    """A patch sets a list, which makes the guard lock a difference of any subresource."""
    if isinstance(body, Mapping):
        return any(_has_list(value) for value in body.values())
    return isinstance(body, list)


def _unlocks(part: Part) -> bool:
    """The file of a call switches the lock of differences off somewhere."""
    tree = tree_of(part.line.file) if part.line is not None else None
    return tree is None or any(isinstance(node, ast.Call) and is_given(node, "lock", False) for node in ast.walk(tree))
