"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_ephemeral_containers_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_resize(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
