"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_persistent_volume(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_persistent_volume_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_persistent_volume_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
