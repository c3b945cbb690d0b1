"""Events."""

from __future__ import annotations

from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad, immutable, label_name
from kontend.kube.field_errors import FieldError, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain

_NAMESPACE: Final = "involvedObject.namespace"
_MISMATCH: Final = "does not match event.namespace"


def _is_new(event: Json) -> bool:
    return str(event.get("apiVersion", "")).startswith("events.k8s.io/")


def _involved(event: Json) -> Json:
    return event.get("involvedObject") or event.get("regarding") or {}


def validate_event(event: Json) -> list[FieldError]:
    """Validates an event; those of ``events.k8s.io`` are checked more strictly."""
    errors = _any_event(event)
    if not _is_new(event):
        return errors
    errors += _series(event)
    if event.get("eventTime") is None:
        errors.append(required("eventTime"))
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    for field, shown in (
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ):
        if event.get(field):
            errors.append(invalid(shown, "", "needs to be unset"))
    return errors


def _any_event(event: Json) -> list[FieldError]:
    namespace = (event.get("metadata") or {}).get("namespace", "")
    involved = _involved(event).get("namespace", "")
    errors: list[FieldError] = []
    if event.get("eventTime") is None:
        if (not involved and namespace not in ("", "default")) or (involved and involved != namespace):
            errors.append(invalid(_NAMESPACE, involved, _MISMATCH))
    else:
        if not involved and namespace not in ("default", "kube-system"):
            errors.append(invalid(_NAMESPACE, involved, _MISMATCH))
        field = "reportingController" if _is_new(event) else "reportingComponent"
        reporter, instance = event.get(field, ""), event.get("reportingInstance", "")
        if not reporter:
            errors.append(required(field))
        errors += label_name(reporter, field)
        message = event.get("note" if _is_new(event) else "message", "")
        for name, value, most in (
            ("reportingInstance", instance, 128),
            ("action", event.get("action", ""), 128),
            ("reason", event.get("reason", ""), 128),
        ):
            if not value:
                errors.append(required(name))
            if len(value) > most:
                errors.append(invalid(name, "", f"can have at most {most} characters"))
        if len(message) > 1024:
            errors.append(invalid("message", "", "can have at most 1024 characters"))
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


def validate_event_update(new: Json, old: Json) -> list[FieldError]:
    """Validates a changed event; of those of ``events.k8s.io`` only the series may change."""
    errors = _any_event(new)
    if not _is_new(new):
        return errors
    if new.get("series") != old.get("series"):
        errors += _series(new)
    for field, shown in (
        ("regarding", "involvedObject"), ("reason", "reason"), ("note", "message"), ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"), ("reason", "reason"), ("type", "type"), ("eventTime", "eventTime"),
        ("action", "action"), ("related", "related"), ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ):  # fmt: skip
        errors += immutable(new.get(field), old.get(field), shown)
    return errors
