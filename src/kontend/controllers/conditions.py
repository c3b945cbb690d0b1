"""Conditions of built-in kinds: one of each type, with a time of the last change."""

from __future__ import annotations

from typing import Any

from kontend.kube.meta.conditions import find_condition, without_condition


def new_condition(kind: str, status: str, reason: str, message: str, now: str, **more: str) -> dict[str, Any]:
    """Return a condition whose status changes now."""
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
        **more,
    }


def put_condition(status: dict[str, Any], new: dict[str, Any]) -> None:
    """Replace the condition of the same type, at the end; does nothing when status and reason are the same.

    A condition that stays True (or False) keeps the time since when it is.
    """
    old = find_condition(status.get("conditions"), new["type"])
    if old is not None and old["status"] == new["status"]:
        if old.get("reason") == new["reason"]:
            return
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime") or new["lastTransitionTime"]}
    status["conditions"] = [*without_condition(status.get("conditions"), new["type"]), new]


def remove_condition(status: dict[str, Any], kind: str) -> None:
    """Remove the condition of a type."""
    left = without_condition(status.get("conditions"), kind)
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)
