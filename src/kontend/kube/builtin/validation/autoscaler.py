"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_autoscaler(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_autoscaler_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
