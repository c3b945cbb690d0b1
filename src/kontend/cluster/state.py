"""The state of an API server: immutable, shared, cheap to keep.

A :class:`State` holds every object (as canonical JSON), the counters that time, uids and versions come from, and the
changes that led here, as far back as a watch may look. Writing makes a new state that shares all but the path to the
changed object, so a fork costs a few hundred bytes and an old state stays what it was.

An object is stored as a :class:`Version`: its JSON without ``metadata.resourceVersion`` and ``metadata.managedFields``.
The first is the version's own number; the second are kept beside the JSON, as interned values, because a million states
repeat the same few. Equal content has equal bytes, which is how a write that changes nothing is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, TypeAlias

import orjson
import xxhash
from rpds import HashTrieMap

from kontend.cluster.hooks import Hooks
from kontend.cluster.resources import Registry
from kontend.cluster.settings import Settings
from kontend.kube.apply import managed_fields
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.meta.names import Key

#: Changes that are kept for watches and for lists in the past: at least this many, at most twice as many.
HISTORY: Final = 10_000
#: Bytes of replaced objects that end a stretch of history before it has as many changes.
HISTORY_BYTES: Final = 64 << 20

#: The default time at which a cluster starts: 2026-01-01T00:00:00Z, in seconds since 1970.
EPOCH: Final = 1_767_225_600

Objects: TypeAlias = "HashTrieMap[Key, Version]"


class Version:
    """One object as it was stored at one resourceVersion."""

    __slots__ = ("_digest", "body", "managed", "resource_version")

    #: The fields that reading the stored object added as defaults, as the text of a tree. Storage does not have them,
    #: so a write changes something unless the same fields are absent again.
    filled: ClassVar[bytes] = b""

    def __init__(self, body: bytes, managed: ManagedFields, resource_version: int) -> None:
        # The encoder hands out bytes in a buffer of several KiB; a copy is as large as it needs to be.
        self.body = bytes(memoryview(body))
        self.managed = managed
        self.resource_version = resource_version
        self._digest: bytes | None = None

    def read(self) -> dict[str, Any]:
        """Return a fresh copy of the object, as the server would return it."""
        obj = self.content()
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self.resource_version)
        if self.managed:
            metadata["managedFields"] = orjson.loads(managed_fields.encode_json(self.managed))
        return obj

    def versioned(self) -> dict[str, Any]:
        """Return a fresh copy of the object with its resourceVersion, but without managedFields."""
        obj: dict[str, Any] = orjson.loads(self.body)
        obj["metadata"]["resourceVersion"] = str(self.resource_version)
        return obj

    def content(self) -> dict[str, Any]:
        """Return a fresh copy of the object without resourceVersion and managedFields."""
        obj: dict[str, Any] = orjson.loads(self.body)
        return obj

    def same_content(self, body: bytes, managed: ManagedFields) -> bool:
        """Report whether storing these would change nothing."""
        return self.body == body and self.managed == managed

    @property
    def digest(self) -> bytes:
        """128 bits that stand for the content, whatever its resourceVersion."""
        if self._digest is None:
            self._digest = xxhash.xxh3_128_digest(self.body + managed_fields.encode_json(self.managed))
        return self._digest

    def __repr__(self) -> str:
        metadata = self.content()["metadata"]
        return f"Version({metadata.get('namespace', '')}/{metadata.get('name')} at {self.resource_version})"


class FilledVersion(Version):
    """An object whose defaults were filled in when it was read back: a write may store them, and shows nothing."""

    __slots__ = ("filled",)

    filled: bytes  # type: ignore[misc]  # of each object, where others share an empty one


class Change:
    """One write: what was there, what is there now, and the change before it (within the same stretch of history)."""

    __slots__ = ("key", "new", "old", "previous", "resource", "resource_version")

    def __init__(
        self,
        resource: str,
        key: Key,
        old: Version | None,
        new: Version | None,
        resource_version: int,
        previous: Change | None,
    ) -> None:
        self.resource = resource
        self.key = key
        self.old = old
        self.new = new
        self.resource_version = resource_version
        self.previous = previous

    @property
    def type(self) -> str:
        """``ADDED``, ``MODIFIED`` or ``DELETED``."""
        if self.new is None:
            return "DELETED"
        return "MODIFIED" if self.old is not None else "ADDED"


class State:
    """The whole state of an API server. Immutable: every write makes another one.

    >>> from kontend import Cluster
    >>> cluster = Cluster()
    >>> before = cluster.state
    >>> created = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    >>> cluster.state.resource_version - before.resource_version
    1
    >>> cluster.state = before  # as if nothing had happened
    """

    __slots__ = (
        "floor",
        "hooks",
        "kinds",
        "newest",
        "now",
        "older",
        "registry",
        "resource_version",
        "serial",
        "settings",
        "stretch",
        "stretch_bytes",
    )

    def __init__(
        self,
        *,
        kinds: HashTrieMap[str, Objects],
        registry: Registry,
        hooks: Hooks,
        settings: Settings,
        resource_version: int = 0,
        serial: int = 0,
        now: int = EPOCH,
        newest: Change | None = None,
        older: Change | None = None,
        stretch: int = 0,
        stretch_bytes: int = 0,
        floor: int = 0,
    ) -> None:
        #: Objects by resource (``deployments.apps``), then by namespace and name.
        self.kinds = kinds
        #: The resources that are served.
        self.registry = registry
        #: The user's admission hooks.
        self.hooks = hooks
        #: The configuration of the server.
        self.settings = settings
        self.resource_version = resource_version
        #: The number of uids and names handed out.
        self.serial = serial
        #: Seconds since 1970. Only the shells move it.
        self.now = now
        # History is two stretches of linked changes. When the newer one is full it becomes the older one, so that
        # forgetting costs nothing and needs no copy.
        self.newest = newest
        self.older = older
        self.stretch = stretch
        self.stretch_bytes = stretch_bytes
        #: Changes at or before this version are forgotten.
        self.floor = floor

    def replace(self, **changes: Any) -> State:
        """Return this state with some attributes changed."""
        copy = object.__new__(type(self))
        # Written out: every uid goes through here, and a loop over the slots takes three times as long.
        copy.kinds, copy.registry, copy.hooks, copy.settings = self.kinds, self.registry, self.hooks, self.settings
        copy.resource_version, copy.serial, copy.now = self.resource_version, self.serial, self.now
        copy.newest, copy.older, copy.floor = self.newest, self.older, self.floor
        copy.stretch, copy.stretch_bytes = self.stretch, self.stretch_bytes
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    # Reading

    def objects(self, resource: str) -> Objects:
        """All objects of one resource."""
        objects = self.kinds.get(resource)
        return _NOTHING if objects is None else objects

    def find(self, resource: str, key: Key) -> Version | None:
        """One object, or nothing."""
        objects = self.kinds.get(resource)
        return None if objects is None else objects.get(key)

    def changes_since(self, resource_version: int, resource: str = "") -> list[Change]:
        """All changes after ``resource_version``, oldest first; of one resource, if one is named.

        The caller checks ``resource_version`` against ``floor``.
        """
        changes = []
        # Written out, not with backwards: the explorer calls this for every cache in every state.
        for stretch in (self.newest, self.older):
            change = stretch
            while change is not None and change.resource_version > resource_version:
                if not resource or change.resource == resource:
                    changes.append(change)
                change = change.previous
        changes.reverse()
        return changes

    def changes_of(self, resource: str, key: Key) -> Iterator[Change]:
        """Return the changes of one object, newest first."""
        return (change for change in self.backwards() if change.resource == resource and change.key == key)

    def objects_at(self, resource: str, resource_version: int) -> Objects:
        """All objects of one resource as they were at ``resource_version`` (which must be within the history)."""
        objects = self.objects(resource)
        for change in self.backwards():
            if change.resource_version <= resource_version:
                break
            if change.resource == resource:
                if change.old is None:
                    objects = objects.discard(change.key)
                else:
                    objects = objects.insert(change.key, change.old)
        return objects

    def backwards(self) -> Iterator[Change]:
        """All changes that the history has, newest first."""
        for stretch in (self.newest, self.older):
            change = stretch
            while change is not None:
                yield change
                change = change.previous

    # Writing

    def write(
        self, resource: str, key: Key, body: bytes, managed: ManagedFields, *, filled: bytes = b""
    ) -> tuple[State, Version]:
        """Store an object under the next resourceVersion."""
        version: Version
        if filled:
            version = FilledVersion(body, managed, self.resource_version + 1)
            version.filled = filled
        else:
            version = Version(body, managed, self.resource_version + 1)
        return self._commit(resource, key, version), version

    def remove(self, resource: str, key: Key) -> State:
        """Remove an object; this too is a write and take a resourceVersion."""
        return self._commit(resource, key, None)

    def _commit(self, resource: str, key: Key, new: Version | None) -> State:
        objects = self.kinds.get(resource, _NOTHING)
        old = objects.get(key)
        objects = objects.insert(key, new) if new is not None else objects.discard(key)
        state = object.__new__(type(self))
        state.kinds = self.kinds.insert(resource, objects)
        state.registry = self.registry
        state.hooks = self.hooks
        state.settings = self.settings
        state.resource_version = resource_version = self.resource_version + 1
        state.serial = self.serial
        state.now = self.now
        replaced = 0 if old is None else len(old.body)
        if self.stretch >= HISTORY or self.stretch_bytes >= HISTORY_BYTES:
            state.newest = Change(resource, key, old, new, resource_version, None)
            state.older = self.newest
            state.stretch = 1
            state.stretch_bytes = replaced
            state.floor = _oldest(self.newest) - 1
        else:
            state.newest = Change(resource, key, old, new, resource_version, self.newest)
            state.older = self.older
            state.stretch = self.stretch + 1
            state.stretch_bytes = self.stretch_bytes + replaced
            state.floor = self.floor
        return state

    # Deterministic stand-ins for random values

    def next_uid(self) -> tuple[State, str]:
        """Return a uid that no object has had."""
        serial = self.serial + 1
        return self.replace(serial=serial), uid_of(serial)

    def next_suffix(self) -> tuple[State, str]:
        """Five characters for a generated name, spread like random ones but always the same."""
        serial = self.serial + 1
        number = xxhash.xxh3_64_intdigest(serial.to_bytes(8, "big"))
        letters = []
        for _ in range(5):
            number, index = divmod(number, len(_SUFFIX_LETTERS))
            letters.append(_SUFFIX_LETTERS[index])
        return self.replace(serial=serial), "".join(letters)


#: The alphabet of generated names: no vowels and nothing that looks like another letter.
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NOTHING: Final[Objects] = HashTrieMap()


def _oldest(newest: Change | None) -> int:
    """Return the resourceVersion of the oldest change of a stretch."""
    oldest = 1
    while newest is not None:
        oldest = newest.resource_version
        newest = newest.previous
    return oldest


def uid_of(serial: int) -> str:
    """Return the uid with a number of up to 48 bits.

    >>> uid_of(7)
    '00000007-0000-4000-8000-000000000007'
    """
    return f"{serial & 0xFFFFFFFF:08x}-0000-4000-8000-{serial:012x}"
