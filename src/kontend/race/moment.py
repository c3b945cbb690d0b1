"""Moments of an object: the reads and writes of it that a log shows, and the versions that they met or made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from kontend.explore.explain import fields
from kontend.explore.properties.overwrites import Path
from kontend.race.log.actor import Actor
from kontend.race.log.event import AuditEvent, ObjectKey

#: A client that the log does not show.
UNKNOWN = Actor(("", "unknown"), "another client")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an object."""

    number: int
    #: The object as canonical JSON; None where the log does not have it.
    body: bytes | None
    uid: str
    #: The time at which the server had answered the client: the write was carried out before that.
    completed: float

    def content(self) -> dict[str, Any]:
        """Return the object. It is shared and must not be changed."""
        return parsed(self.body) if self.body is not None else {}


@dataclass(frozen=True, slots=True)
class Moment:
    """A request about one object."""

    file: str
    line: int
    actor: Actor
    verb: str
    key: ObjectKey
    #: Such as ``Deployment.apps/v1``; the plural name where the log does not say more.
    kind: str
    subresource: str
    received: float
    completed: float
    code: int
    message: str
    #: The version that the request read, or left.
    version: Version | None = None
    #: For a write: the version that it replaced; None for a create, and where the log does not have it.
    before: Version | None = None
    #: The object is gone after it.
    deleted: bool = False
    #: The version that the server had at the time, for a read.
    latest: int | None = None
    #: The newest version that the writer is known to have read.
    base: int | None = None
    #: The fields that a write changed.
    paths: tuple[Path, ...] = ()
    #: The name under which the writer's fields are managed, where the request says it.
    manager: str = ""

    @property
    def changes(self) -> bool:
        """Reports if the request changed the object."""
        return bool(self.paths) or self.deleted or (self.version is not None and self.verb == "create")

    def touches(self, path: Path) -> bool:
        """Report if the request changed a field, something in it or something around it."""
        return any(path[: len(changed)] == changed or changed[: len(path)] == path for changed in self.paths)


def moment_of(event: AuditEvent, kind: str, **rest: Any) -> Moment:
    """Return the moment of an event, with what is known besides."""
    return Moment(
        event.file,
        event.line,
        event.actor,
        event.verb,
        event.key,
        kind,
        event.subresource,
        event.received,
        event.completed,
        event.code,
        event.message,
        manager=event.field_manager,
        **rest,
    )


@lru_cache(maxsize=64)
def parsed(body: bytes) -> dict[str, Any]:
    """Return an object from canonical JSON, without its resourceVersion. It is shared and must not be changed."""
    obj: dict[str, Any] = orjson.loads(body)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("resourceVersion", None)
    return obj


#: Says who is the leader, and changes with every renewal.
_ELECTION = ("metadata", "annotations", "control-plane.alpha.kubernetes.io/leader")


def changed_paths(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the fields that a write changed, without those that the server sets."""
    return tuple(path for path in fields.changed_paths(old, new) if path != _ELECTION)
