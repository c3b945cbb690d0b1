"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_service(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_service_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_service_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
