"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_node(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_node_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_runtime_class(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_runtime_class_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
