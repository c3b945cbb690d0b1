"""Kinds of perturbations by name, as bounds: for users who want only some of them, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import Bounds

#: By name: the bounds that it needs, each with its least value; True for whatever needs calls one by one.
PERTURBATIONS: Final[dict[str, tuple[dict[str, int], bool]]] = {
    "orders": ({}, True),
    "staleness": ({"lag": 1}, True),
    "crashes": ({"faults": 1, "crashes": 1}, True),
    "rewinds": ({"faults": 1, "crashes": 1, "rewind": 1}, True),
    "failures": ({"faults": 1, "failed": 1}, True),
    "lost": ({"faults": 1, "lost": 1}, True),
    "handovers": ({"faults": 1, "handovers": 1}, True),
}
_NONE: Final[dict[str, Any]] = {
    "lag": 0, "faults": 0, "crashes": 0, "rewind": 0, "failed": 0, "lost": 0, "handovers": 0, "concurrent": 1,
    "instances": {}, "atomic": True,
}  # fmt: skip


def unperturbed(bounds: Bounds) -> Bounds:
    """Bounds within which nothing is perturbed.

    >>> str(unperturbed(Bounds(lag=2)))
    'lag ≤ 0, 1 instance, atomic reconciles'
    """
    return replace(bounds, **_NONE)


def only(bounds: Bounds, names: Iterable[str]) -> Bounds:
    """Bounds with some kinds of perturbations; where the given bounds allow more of one, that stays.

    >>> str(only(Bounds(lag=2), ["staleness"]))
    'lag ≤ 2, 1 instance'
    """
    kept: dict[str, Any] = dict(_NONE)
    for name in names:
        if name not in PERTURBATIONS:
            raise BadScenario(not_among("perturbation", name, PERTURBATIONS))
        needed, one_by_one = PERTURBATIONS[name]
        for bound, least in needed.items():
            kept[bound] = max(least, getattr(bounds, bound))
        if one_by_one:
            kept["atomic"] = False
    if not kept["atomic"]:
        kept["concurrent"], kept["instances"] = bounds.concurrent, bounds.instances
    return replace(bounds, **kept)
