"""Pieces of table cells that many kinds share."""

from __future__ import annotations

from typing import Final

from kontend.kube.errors import BadRequest
from kontend.kube.json_types import JsonView
from kontend.kube.meta.conditions import is_condition_true
from kontend.kube.meta.selectors import selector_from_json
from kontend.kube.printing.ages import age

NONE: Final = "<none>"
UNSET: Final = "<unset>"


def meta_of(obj: JsonView) -> JsonView:
    """Return the metadata."""
    return obj.get("metadata") or {}


def name_of(obj: JsonView) -> str:
    """Return the name."""
    return str(meta_of(obj).get("name", ""))


def age_of(obj: JsonView, now: str) -> str:
    """Return the age of the object."""
    return age(meta_of(obj).get("creationTimestamp"), now)


def spec_of(obj: JsonView) -> JsonView:
    """Return the spec."""
    return obj.get("spec") or {}


def status_of(obj: JsonView) -> JsonView:
    """Return the status."""
    return obj.get("status") or {}


def containers_of(template: JsonView | None) -> list[str]:
    """Return the names and the images of a pod template's containers."""
    containers = spec_of(template or {}).get("containers") or []
    return [",".join(container.get(key, "") for container in containers) for key in ("name", "image")]


def selector_text(selector: JsonView | None, *, empty: str = NONE, bad: str = "<error>") -> str:
    """Return a label selector as text."""
    try:
        return str(selector_from_json(selector)) or empty
    except BadRequest:
        return bad


def labels_text(labels: JsonView | None) -> str:
    """Labels as text."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def first_few(items: list[str], count: int, most: int = 3, empty: str = "") -> str:
    """Return the first few items, and how many more there are."""
    shown = ",".join(items[:most])
    return f"{shown} + {count - most} more..." if len(items) > most else shown or empty


def has_condition(obj: JsonView, wanted: str) -> bool:
    """Report whether a condition of that type is true."""
    return is_condition_true(status_of(obj).get("conditions"), wanted)
