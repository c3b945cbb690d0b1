"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_event(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_event_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
