"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_config_map(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_config_map_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_secret(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_secret_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
