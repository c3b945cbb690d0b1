"""Audit events: what of ``audit.k8s.io/v1`` tells reads and writes of objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from kontend.race.log.actor import Actor, actor_of

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READS: Final = frozenset({"get", "list", "watch"})
_STAGES: Final = frozenset({"ResponseStarted", "ResponseComplete", "Panic"})
_TRUNCATED: Final = "audit.k8s.io/truncated"


class BadEvent(ValueError):
    """JSON that is not an audit event; the message says what was expected and what was found."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, by its group and its plural name."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """An object: its resource, namespace and name. The name is empty for a whole collection."""

    resource: Resource
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One request about a resource, with its response as far as it was logged."""

    file: str
    line: int
    actor: Actor
    verb: str
    key: ObjectKey
    subresource: str
    #: Seconds since 1970: the request was received, and the response was complete.
    received: float
    completed: float
    code: int
    message: str
    level: str
    request: Any
    response: Any
    field_manager: str = ""
    #: Nothing is stored.
    dry_run: bool = False
    #: A watch that begins; its end is an event of its own.
    started: bool = False
    #: Bytes of the line.
    size: int = 0
    #: The same in all events of one request.
    audit_id: str = ""

    @property
    def writes(self) -> bool:
        """Reports if this request stores something, provided that it succeeds."""
        return self.verb in WRITES and not self.dry_run

    @property
    def succeeded(self) -> bool:
        """Reports if the server carried out the request."""
        return 200 <= self.code < 300


def event_of(value: Any, file: str, line: int, size: int = 0) -> AuditEvent | None:
    """Return the event of a line; None for one that is not about a resource. Raises :class:`BadEvent`."""
    if not isinstance(value, Mapping):
        raise BadEvent(f"expected an audit event, found {_shown(value)}")
    version = value.get("apiVersion")
    if value.get("kind") != "Event" or not isinstance(version, str) or not version.startswith("audit.k8s.io/"):
        found = f"{_shown(value['kind'])} of {_shown(version)}" if "kind" in value else "an object without a kind"
        raise BadEvent(f"expected kind Event of audit.k8s.io, found {found}")
    reference, stage, verb = value.get("objectRef"), value.get("stage"), value.get("verb")
    if stage not in _STAGES or not isinstance(reference, Mapping):
        return None
    if verb not in WRITES and verb not in _READS:
        return None
    if stage == "ResponseStarted" and verb != "watch":
        return None
    status = value.get("responseStatus")
    status = status if isinstance(status, Mapping) else {}
    code = status.get("code")
    truncated = _TRUNCATED in (value.get("annotations") or ())
    query = parse_qs(urlsplit(_text(value.get("requestURI"))).query)
    response = value.get("responseObject")
    return AuditEvent(
        file,
        line,
        actor_of(value),
        verb,
        _key(reference, response, verb),
        _text(reference.get("subresource")),
        _time(value, "requestReceivedTimestamp"),
        _time(value, "stageTimestamp"),
        code if isinstance(code, int) else 0,
        _text(status.get("reason")) or _text(status.get("message")),
        "Metadata" if truncated else _text(value.get("level")),
        value.get("requestObject"),
        response,
        query.get("fieldManager", [""])[0],
        "dryRun" in query,
        stage == "ResponseStarted",
        size,
        _text(value.get("auditID")),
    )


def _key(reference: Mapping[str, Any], response: Any, verb: str) -> ObjectKey:
    """Return the object. A create names it in the response where the server has made up the name."""
    name = _text(reference.get("name"))
    if not name and verb == "create" and isinstance(response, Mapping):
        metadata = response.get("metadata")
        name = _text(metadata.get("name")) if isinstance(metadata, Mapping) else ""
    resource = Resource(_text(reference.get("apiGroup")), _text(reference.get("resource")))
    return ObjectKey(resource, _text(reference.get("namespace")), name)


def _time(value: Mapping[str, Any], name: str) -> float:
    text = value.get(name)
    if text is None:
        raise BadEvent(f"{name}: missing")
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        raise BadEvent(f"{name}: expected a time, found {_shown(text)}") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
