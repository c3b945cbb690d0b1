"""Ownership of the replicas, seen from the two sides: the object, and its ``scale`` subresource.

A ``Scale`` is another object with one field that can be set, so the server tracks its owners as if it were stored: it
translates the entries that own the replicas into entries of the Scale, lets the write change those, and translates
back. On the way back it loses the times, and takes the replicas from managers it can no longer match by version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from kontend.kube.apply.field_set import FieldSet, difference
from kontend.kube.apply.managed_fields import ManagedFields, in_order, managed_entry, owns

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("spec", "replicas")
_OWNS_REPLICAS: Final = FieldSet.of_paths([_REPLICAS])

#: The path of the replicas in each version of the kind; nothing for a version without a scale.
ReplicasAt: TypeAlias = Mapping[str, Sequence[str] | None]


def to_scale(managed: ManagedFields, replicas_at: ReplicasAt) -> ManagedFields:
    """Return the managed fields of the Scale of an object."""
    out = []
    # Writes that change nothing can leave two entries of one manager, of which the server reads the last.
    for entry in {entry.identity: entry for entry in managed}.values():
        path = replicas_at.get(entry.api_version)
        if path and owns(entry.fields.tree, path):
            out.append(entry.replace(fields=_OWNS_REPLICAS, api_version=SCALE_VERSION))
    return in_order(out)


def to_parent(
    managed: ManagedFields, scale: ManagedFields, *, api_version: str, replicas_at: ReplicasAt
) -> ManagedFields:
    """Return the managed fields of the object, after a write left those of its Scale as ``scale``."""
    before = {entry.identity: entry for entry in managed}
    left = {entry.identity: entry for entry in scale}
    out = []
    for identity, entry in before.items():
        if entry.api_version not in replicas_at:
            continue
        path = replicas_at[entry.api_version]
        if path and owns(entry.fields.tree, path) and left.pop(identity, None) is None:
            tree = difference(entry.fields.tree, FieldSet.of_paths([path]).tree)
            if not tree:
                continue
            entry = entry.replace(fields=FieldSet(tree))
        out.append(entry)
    owned = FieldSet.of_paths([replicas_at.get(api_version) or _REPLICAS])
    for identity, entry in left.items():
        if owns(entry.fields.tree, _REPLICAS):
            time = before[identity].time if identity in before else ""
            out.append(managed_entry(entry.manager, entry.operation, api_version, time, entry.subresource, owned))
    return in_order(out)
