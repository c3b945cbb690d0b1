"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_controller_revision(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_controller_revision_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_daemon_set(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_daemon_set_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_daemon_set_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_deployment(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_deployment_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_deployment_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_stateful_set(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_stateful_set_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_stateful_set_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
