"""Conditions in a status: a list with one entry for each type."""

from __future__ import annotations

from collections.abc import Iterable

from kontend.kube.json_types import Json


def find_condition(conditions: Iterable[Json] | None, kind: str) -> Json | None:
    """Return the condition of a type, or None.

    >>> find_condition([{"type": "Ready", "status": "True"}], "Ready")
    {'type': 'Ready', 'status': 'True'}
    """
    return next((condition for condition in conditions or () if condition.get("type") == kind), None)


def is_condition_true(conditions: Iterable[Json] | None, kind: str) -> bool:
    """Report whether the condition of a type has the status ``True``."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.get("status") == "True"


def without_condition(conditions: Iterable[Json] | None, kind: str) -> list[Json]:
    """Return the list without the condition of a type."""
    return [condition for condition in conditions or () if condition.get("type") != kind]
