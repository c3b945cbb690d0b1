"""Events under ``events.k8s.io`` are those of the core group with other names for some fields."""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.json_types import Json

#: The names in the core group, and those under ``events.k8s.io``.
_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES: Final = {other: name for name, other in _NAMES.items()}
#: Fields that the form writes even when they are empty.
_ALWAYS_CORE: Final[dict[str, Any]] = {
    "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
    "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
_ALWAYS_OTHER: Final[dict[str, Any]] = {
    "eventTime": None, "regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}  # fmt: skip


def to_core(event: Json) -> Json:
    """Give an event the names of the core group.

    >>> to_core({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "x"})["message"]
    'x'
    """
    renamed = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    return {**_fresh(_ALWAYS_CORE), **renamed, "apiVersion": "v1"}


def to_events_group(event: Json) -> Json:
    """Give an event the names of the newer group."""
    renamed = {_NAMES.get(name, name): value for name, value in event.items()}
    for name in ("reportingController", "reportingInstance"):
        if not renamed.get(name):
            renamed.pop(name, None)
    return {**_fresh(_ALWAYS_OTHER), **renamed, "apiVersion": "events.k8s.io/v1"}


def _fresh(fields: dict[str, Any]) -> Json:
    return {name: dict(value) if isinstance(value, dict) else value for name, value in fields.items()}
