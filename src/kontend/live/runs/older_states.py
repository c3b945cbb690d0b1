"""Older states of a resource, by the events that they lack.

Events with another status or another label come in a number that differs from run to run. Those that create or delete
an object, or change its spec, are the same in each: so a plan counts these, where it is about them.
"""

from __future__ import annotations

from kontend.cluster.state import State, Version


def older_versions(state: State, resource: str, *, changes: bool) -> list[int]:
    """Return the resourceVersions before the events of a resource, the oldest first.

    With ``changes`` only those count that create or delete an object, begin to, or change its spec.
    """
    return [
        change.resource_version - 1
        for change in state.changes_since(state.floor, resource)
        if not changes or _identity(change.old) != _identity(change.new)
    ]


def _identity(version: Version | None) -> tuple[str, int, bool] | None:
    """Return what makes a controller do something else: the uid, the generation, whether it is being deleted."""
    if version is None:
        return None
    metadata = version.content()["metadata"]
    return str(metadata.get("uid", "")), int(metadata.get("generation") or 0), "deletionTimestamp" in metadata
