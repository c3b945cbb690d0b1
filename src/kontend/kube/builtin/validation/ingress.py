"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_ingress(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_ingress_class(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_ingress_class_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_ingress_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_ingress_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
