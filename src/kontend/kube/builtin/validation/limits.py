"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_limit_range(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_namespace(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_namespace_finalize(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_namespace_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_resource_quota(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_resource_quota_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_resource_quota_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
