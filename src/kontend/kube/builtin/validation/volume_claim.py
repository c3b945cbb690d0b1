"""Placeholder."""

from __future__ import annotations

from typing import Any

from kontend.kube.field_errors import FieldError


def validate_claim(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_claim_status_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []

def validate_claim_update(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []


def validate_claim_template(*objects: Any) -> list[FieldError]:
    """Nothing yet."""
    return []
