"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_disruption_budget(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_disruption_budget_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_priority_class(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_priority_class_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
