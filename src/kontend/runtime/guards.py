"""What a manager prevents, and the record of own writes that it needs for that.

Each guard prevents one kind of bug and can be switched off, to show the bug or to keep an old behaviour.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from kontend.kube.meta.names import Key


@dataclass(frozen=True, slots=True)
class Guards:
    """Which mistakes are prevented. All of them, unless told otherwise."""

    #: A cached read of an object waits until the cache has seen this process's own last write of it.
    read_your_writes: bool = True
    #: A delete names the uid and the version of the object that was read.
    delete_preconditions: bool = True
    #: A status patch carries the version that was read, unless it says ``lock=False``.
    locked_status: bool = True
    #: A cache never shows an older version than it has shown, also over a restart.
    monotonic_views: bool = True
    #: A write is refused when another process has taken the lease since.
    fencing: bool = True


@dataclass(slots=True)
class OwnWrites:
    """The versions that this process's own writes made, by kind and object, and the uids that it deleted."""

    versions: dict[tuple[str, Key], int] = field(default_factory=dict)
    #: Objects that are gone for good, although a cache may still have them: a uid never comes back.
    deleted: dict[str, None] = field(default_factory=dict)
    #: The kinds that a cache follows; what is written of other kinds need not be remembered. None: all.
    followed: Container[str] | None = None

    def record(self, kind: str, key: Key, version: int) -> None:
        """Remember a write."""
        if self.followed is not None and kind not in self.followed:
            return
        if version > self.versions.get((kind, key), 0):
            self.versions[(kind, key)] = version

    def of(self, kind: str, key: Key) -> int:
        """The version a cache must have seen before it is asked for this object."""
        return self.versions.get((kind, key), 0)

    def within(self, kind: str, namespace: str) -> int:
        """The same for a list of a kind, in one namespace or (empty) in all."""
        versions = [
            version
            for (other, key), version in self.versions.items()
            if other == kind and namespace in ("", key.namespace)
        ]
        return max(versions, default=0)

    def forget_before(self, kind: str, version: int) -> None:
        """Drop what the cache has caught up with."""
        seen = [entry for entry, written in self.versions.items() if entry[0] == kind and written <= version]
        for entry in seen:
            del self.versions[entry]

    def record_delete(self, kind: str, uid: str) -> None:
        """Remember that an object is gone."""
        if uid and (self.followed is None or kind in self.followed):
            self.deleted[uid] = None

    def is_deleted(self, obj: Mapping[str, Any]) -> bool:
        """Whether this process deleted the very object that was read."""
        return bool(self.deleted) and (obj.get("metadata") or {}).get("uid") in self.deleted

    def forget_delete(self, uid: str) -> None:
        """The cache has seen that the object is gone."""
        self.deleted.pop(uid, None)
