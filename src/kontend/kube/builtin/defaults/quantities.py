"""Quantities in resource lists: defaulting rounds them up to thousandths."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kontend.kube.quantity import parse


@lru_cache(maxsize=8192)
def _to_milli(text: str) -> str:
    return str(parse(text).round_up(3))


def round_up(resources: dict[str, str] | None) -> None:
    """Round every quantity of a resource list, if there is one."""
    if resources:
        for name, text in resources.items():
            rounded = _to_milli(text)
            if rounded != text:
                resources[name] = rounded


def round_up_requirements(requirements: dict[str, Any] | None) -> None:
    """The same for limits and requests."""
    if requirements:
        round_up(requirements.get("limits"))
        round_up(requirements.get("requests"))
