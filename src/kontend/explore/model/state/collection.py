"""Objects that a garbage collector would delete.

Most scenarios have no garbage collector, because it multiplies their states, but every cluster has one. It deletes an
object whose owners are all gone. Runs that differ only in such objects end alike, so final states are compared without
them: a child that is made while its owner is being deleted is nothing that stays. An object with finalizers is kept,
because a controller has to remove these first.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from kontend.cluster.state import State, Version
from kontend.kube.meta.names import Key


def lasting_objects(state: State, *, garbage: bool = False) -> Iterator[tuple[str, Key, Version]]:
    """The objects of a cluster that a garbage collector leaves alone; with ``garbage``, all of them."""
    collected = set() if garbage else _collected(state)
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            if (resource, key) not in collected:
                yield resource, key, version


def holds_garbage(state: State) -> bool:
    """A garbage collector would delete something."""
    return bool(_collected(state))


def _collected(state: State) -> set[tuple[str, Key]]:
    owners: dict[tuple[str, Key], set[str]] = {}
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            if b'"ownerReferences"' not in version.body or b'"finalizers"' in version.body:
                continue
            references = orjson.loads(version.body)["metadata"].get("ownerReferences")
            if references:
                owners[resource, key] = {str(reference.get("uid", "")) for reference in references}
    if not owners:
        return set()
    uids = {
        (resource, key): str(orjson.loads(version.body)["metadata"].get("uid", ""))
        for resource in state.kinds
        for key, version in state.objects(resource).items()
    }
    present = set(uids.values())
    collected: set[tuple[str, Key]] = set()
    # Dependents of what is collected are collected, too.
    while gone := {child for child, wanted in owners.items() if child not in collected and not wanted & present}:
        collected |= gone
        present -= {uids[child] for child in gone}
    return collected
