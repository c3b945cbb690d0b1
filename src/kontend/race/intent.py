"""The intent of a write: how it was made, which version it insists on, and which fields it names.

A log does not have the content type of a patch. A list is a JSON patch; a patch that names its kind and a field manager
is an apply if the server has noted it as one; everything else merges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kontend.explore.properties.overwrites import Path
from kontend.race.log.content import uid_of, version_of
from kontend.race.log.event import AuditEvent

How = Literal["create", "update", "merge patch", "json patch", "apply", "delete"]


@dataclass(frozen=True, slots=True)
class Intent:
    """The intent of a write."""

    how: How
    #: The version that the server has to have for the write to be accepted; None where any will do.
    locked: int | None
    #: The uid that the object has to have, or nothing.
    uid: str
    body: Any

    def names(self, path: Path) -> bool:
        """Report if the request says something of a field, or of a part of it, or of the whole that it is in."""
        if self.how == "json patch":
            return any(_overlap(_pointer(operation), path) for operation in self.body if isinstance(operation, Mapping))
        if path[:1] == ("data",) and isinstance(self.body, Mapping) and "stringData" in self.body:
            return True  # the server makes one of the other
        return _names(self.body, path)


def intent_of(event: AuditEvent) -> Intent:
    """Return the intent of a write, from its logged request."""
    body = event.request
    if event.verb in ("delete", "deletecollection"):
        conditions = body.get("preconditions") if isinstance(body, Mapping) else None
        conditions = conditions if isinstance(conditions, Mapping) else {}
        return Intent("delete", version_of({"metadata": conditions}), uid_of({"metadata": conditions}), body)
    if event.verb == "create":
        return Intent("create", None, "", body)
    if event.verb == "update":
        return Intent("update", version_of(body), uid_of(body), body)
    if isinstance(body, list):
        return Intent("json patch", _tested(body), _tested_uid(body), body)
    how: How = "apply" if _is_apply(event) else "merge patch"
    return Intent(how, version_of(body), uid_of(body), body)


def _is_apply(event: AuditEvent) -> bool:
    body, answer = event.request, event.response
    if not event.field_manager or not isinstance(body, Mapping) or not {"apiVersion", "kind"} <= body.keys():
        return False
    metadata = answer.get("metadata") if isinstance(answer, Mapping) else None
    managers = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    if not isinstance(managers, list):
        return True
    return any(
        isinstance(manager, Mapping)
        and manager.get("manager") == event.field_manager
        and manager.get("operation") == "Apply"
        and manager.get("subresource", "") == event.subresource
        for manager in managers
    )


def _tested(operations: Sequence[Any]) -> int | None:
    """Return the version that a JSON patch tests for."""
    for operation in operations:
        if (
            isinstance(operation, Mapping)
            and operation.get("path") == "/metadata/resourceVersion"
            and operation.get("op") != "remove"
        ):
            return version_of({"metadata": {"resourceVersion": operation.get("value")}})
    return None


def _tested_uid(operations: Sequence[Any]) -> str:
    for operation in operations:
        if (
            isinstance(operation, Mapping)
            and operation.get("op") == "test"
            and operation.get("path") == "/metadata/uid"
        ):
            return uid_of({"metadata": {"uid": operation.get("value")}})
    return ""


def _pointer(operation: Mapping[str, Any]) -> tuple[str, ...]:
    path = operation.get("path")
    if not isinstance(path, str):
        return ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])


def _overlap(pointer: Sequence[str], path: Path) -> bool:
    """Return whether a JSON pointer and a path lead to the same field, as far as both are names; positions in lists may
    be any."""
    for one, other in zip(pointer, path, strict=False):
        if not isinstance(other, str) or one.isdecimal() or one == "-":
            return True
        if one != other:
            return False
    return True


def _names(body: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(body, Mapping) or not isinstance(step, str):
            return True
        if step not in body:
            return False
        body = body[step]
    return True
