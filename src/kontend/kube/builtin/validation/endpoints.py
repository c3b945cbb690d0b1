"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_endpoint_slice(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_endpoint_slice_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_endpoints(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_endpoints_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
