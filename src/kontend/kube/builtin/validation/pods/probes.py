"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad, non_negative, port_number_or_name
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import http_header_name

_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def probes(container: Mapping[str, Any], grace_period: int | None, path: str) -> list[FieldError]:
    """Return the three probes of a container."""
    errors: list[FieldError] = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        where = f"{path}.{name}"
        errors += _probe(probe, grace_period, where)
        if name == "readinessProbe":
            if probe.get("terminationGracePeriodSeconds") is not None:
                seconds = probe["terminationGracePeriodSeconds"]
                why = "must not be set for readinessProbes"
                errors.append(invalid(f"{where}.terminationGracePeriodSeconds", seconds, why))
        elif (probe.get("successThreshold") or 0) != 1:
            errors.append(invalid(f"{where}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))
    return errors


def _probe(probe: Json, grace_period: int | None, path: str) -> list[FieldError]:
    errors = handler(probe, grace_period, path)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        errors += non_negative(probe.get(field), f"{path}.{field}")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return errors


def lifecycle(hooks: Mapping[str, Any] | None, grace_period: int | None, path: str, os: str) -> list[FieldError]:
    """Validate the hooks after a container starts and before it stops."""
    errors: list[FieldError] = []
    for name in ("postStart", "preStop"):
        if hooks and hooks.get(name) is not None:
            errors += handler(hooks[name], grace_period, f"{path}.{name}")
    if hooks and hooks.get("stopSignal") is not None and not os:
        errors.append(forbidden(f"{path}.stopSignal", "may not be set for containers with empty `spec.os.name`"))
    return errors


def handler(given: Mapping[str, Any], grace_period: int | None, path: str) -> list[FieldError]:
    """Validate a handler, which has exactly one action."""
    names = [name for name in _HANDLERS if given.get(name) is not None]
    if not names:
        return [required(path, "must specify a handler type")]
    errors = _action(names[0], given[names[0]], grace_period, f"{path}.{names[0]}")
    errors += [forbidden(f"{path}.{name}", "may not specify more than 1 handler type") for name in names[1:]]
    return errors


def _action(name: str, action: Mapping[str, Any], grace_period: int | None, path: str) -> list[FieldError]:
    if name == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if name in ("tcpSocket", "grpc"):
        return port_number_or_name(action.get("port"), f"{path}.port")
    if name == "sleep":
        seconds = action.get("seconds") or 0
        if grace_period is not None and not 0 <= seconds <= grace_period:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
            return [invalid(path, seconds, why)]
        return []
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += port_number_or_name(action.get("port"), f"{path}.port")
    if action.get("scheme", "") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or []:
        name = header.get("name", "")
        errors += bad(f"{path}.httpHeaders", name, http_header_name(name))
    return errors
