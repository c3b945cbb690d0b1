"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_replica_set(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_replica_set_status(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_replica_set_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_replication_controller(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
