"""Defaults of built-in kinds (being written)."""

from __future__ import annotations

from typing import Any


def apply_defaults(obj: dict[str, Any], group: str, version: str, kind: str) -> None:
    """Fill in what the server fills in."""
