"""Events."""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import bad, immutable, label_name
from kontend.kube.field_errors import FieldError, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain
from kontend.kube.meta.object_meta import unqualified_finalizers, validate_object_meta, validate_object_meta_update

_NAMESPACE: Final = "involvedObject.namespace"
_MISMATCH: Final = "does not match event.namespace"
_LONGEST: Final = 128
_LONGEST_MESSAGE: Final = 1024
#: In the order in which the server looks, one of them twice.
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def validate_event(event: Json, *, strict: bool) -> list[FieldError]:
    """Validate an event; those written under ``events.k8s.io`` are checked more strictly."""
    errors = _any_event(event, strict=strict)
    if not strict:
        return errors
    metadata = event.get("metadata") or {}
    errors += validate_object_meta(metadata, namespaced=True, name_rule=dns1123_subdomain)
    errors += unqualified_finalizers(metadata)
    errors += _series(event)
    if event.get("eventTime") is None:
        errors.append(required("eventTime"))
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    unset = [field for field in ("firstTimestamp", "lastTimestamp", "count", "source") if event.get(field)]
    return errors + [invalid(field, "", "needs to be unset") for field in unset]


def _any_event(event: Json, *, strict: bool) -> list[FieldError]:
    namespace = (event.get("metadata") or {}).get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace", "")
    errors: list[FieldError] = []
    if event.get("eventTime") is None:
        if (not involved and namespace not in ("", "default")) or (involved and involved != namespace):
            errors.append(invalid(_NAMESPACE, involved, _MISMATCH))
    else:
        if not involved and namespace not in ("default", "kube-system"):
            errors.append(invalid(_NAMESPACE, involved, _MISMATCH))
        field, reporter = "reportingController" if strict else "reportingComponent", event.get("reportingComponent", "")
        if not reporter:
            errors.append(required(field))
        errors += label_name(reporter, field)
        for name in ("reportingInstance", "action", "reason"):
            value = event.get(name, "")
            if not value:
                errors.append(required(name))
            if len(value.encode()) > _LONGEST:
                errors.append(invalid(name, "", f"can have at most {_LONGEST} characters"))
        if len(event.get("message", "").encode()) > _LONGEST_MESSAGE:
            errors.append(invalid("message", "", f"can have at most {_LONGEST_MESSAGE} characters"))
    return errors + bad("namespace", namespace, dns1123_subdomain(namespace))


def _series(event: Json) -> list[FieldError]:
    series: Any = event.get("series")
    if series is None:
        return []
    errors = []
    if (series.get("count") or 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if series.get("lastObservedTime") is None:
        errors.append(required("series.lastObservedTime"))
    return errors


def validate_event_update(new: Json, old: Json, *, strict: bool) -> list[FieldError]:
    """Validate a changed event; of those written under ``events.k8s.io`` only the series may change."""
    errors = _any_event(new, strict=strict)
    if not strict:
        return errors
    errors += validate_object_meta_update(new["metadata"], old["metadata"])
    if new.get("series") != old.get("series"):
        errors += _series(new)
    for field in _FIXED:
        value, before = new.get(field), old.get(field)
        if field in ("involvedObject", "source"):
            kind = "ObjectReference" if field == "involvedObject" else "EventSource"
            errors += immutable(value or {}, before or {}, field, shown_as(kind, value or {}))
        elif field == "related":
            errors += immutable(value, before, field, shown_as("ObjectReference", value))
        elif field in ("firstTimestamp", "lastTimestamp", "eventTime"):
            errors += immutable(value, before, field)
        else:
            empty: Any = 0 if field == "count" else ""
            shown = "reportingController" if field == "reportingComponent" else field
            errors += immutable(value or empty, before or empty, shown)
    return errors
