"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_cluster_role(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_cluster_role_binding(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_role(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_role_binding(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_same_role(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
