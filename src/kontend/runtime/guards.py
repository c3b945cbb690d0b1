"""Guards against common mistakes, and the record of a process's own writes that they need.

Each guard prevents one kind of bug and can be switched off, to show the bug or to keep an old behaviour.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kontend.kube.errors import WrongObject
from kontend.kube.meta.names import Key


@dataclass(frozen=True, slots=True)
class Guards:
    """Guards of a manager, each against one mistake. All are on by default.

    >>> Guards(read_your_writes=False).locked_status
    True
    """

    #: A cached read of an object waits until the cache has seen this process's own last write of it, also where the
    #: response of the write was lost.
    read_your_writes: bool = True
    #: A delete names the uid and the version of the object that was read.
    delete_preconditions: bool = True
    #: A patch of the status, or of a list such as the finalizers, carries the version that was read, unless it says
    #: ``lock=False``.
    locked_status: bool = True
    #: A cache never shows an older version than it has shown, also over a restart.
    monotonic_views: bool = True
    #: A write is refused when another process has taken the lease since.
    fencing: bool = True

    def __post_init__(self) -> None:
        for guard in fields(self):
            if not isinstance(getattr(self, guard.name), bool):
                raise WrongObject(f"Guards({guard.name}={getattr(self, guard.name)!r}): expected True or False")

    @classmethod
    def off(cls) -> Guards:
        """Return guards that are all off: reads and writes then behave as those of controller-runtime.

        >>> Guards.off().on
        ()
        """
        return cls(**{guard.name: False for guard in fields(cls)})

    @property
    def on(self) -> tuple[str, ...]:
        """The names of the guards that are on.

        >>> Guards(fencing=False, monotonic_views=False).on
        ('read_your_writes', 'delete_preconditions', 'locked_status')
        """
        return tuple(guard.name for guard in fields(self) if getattr(self, guard.name))


@dataclass(slots=True)
class OwnWrites:
    """The versions that a process's own writes made, by kind and object, and the uids that it deleted."""

    versions: dict[tuple[str, Key], int] = field(default_factory=dict)
    #: Objects that are gone for good, although a cache may still have them: a uid never comes back.
    deleted: dict[str, None] = field(default_factory=dict)
    #: The kinds with a write whose response was lost, each with the number of such writes so far: nobody knows what
    #: version they made, or if they made any.
    lost: dict[str, int] = field(default_factory=dict)
    #: The cached kinds; writes of other kinds are not recorded. None for all kinds.
    followed: Container[str] | None = None

    def record(self, kind: str, key: Key, version: int) -> None:
        """Record a write."""
        if self.followed is not None and kind not in self.followed:
            return
        if version > self.versions.get((kind, key), 0):
            self.versions[(kind, key)] = version

    def of(self, kind: str, key: Key) -> int:
        """Return the version that a cache must have seen before a read of this object."""
        return self.versions.get((kind, key), 0)

    def within(self, kind: str, namespace: str) -> int:
        """Return the version that a cache must have seen before a list, of one namespace or (empty) of all."""
        versions = [
            version
            for (other, key), version in self.versions.items()
            if other == kind and namespace in ("", key.namespace)
        ]
        return max(versions, default=0)

    def record_lost(self, kind: str) -> None:
        """Record a write whose response was lost."""
        if self.followed is None or kind in self.followed:
            self.lost[kind] = self.lost.get(kind, 0) + 1

    def forget_lost(self, kind: str, count: int) -> None:
        """Drop the lost writes of a kind, unless there were more since: a read has seen what the server has."""
        if self.lost.get(kind) == count:
            del self.lost[kind]

    def forget_before(self, kind: str, version: int) -> None:
        """Drop the writes that the cache has seen."""
        seen = [entry for entry, written in self.versions.items() if entry[0] == kind and written <= version]
        for entry in seen:
            del self.versions[entry]

    def record_delete(self, kind: str, uid: str) -> None:
        """Record that an object is gone."""
        if uid and (self.followed is None or kind in self.followed):
            self.deleted[uid] = None

    def is_deleted(self, obj: Mapping[str, Any]) -> bool:
        """Return True if this process deleted the object that was read, by its uid."""
        return bool(self.deleted) and (obj.get("metadata") or {}).get("uid") in self.deleted

    def forget_delete(self, uid: str) -> None:
        """Drop a delete that the cache has seen."""
        self.deleted.pop(uid, None)
