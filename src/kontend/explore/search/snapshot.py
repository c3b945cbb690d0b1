"""Snapshots of a search that is under way, for those who show its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Snapshot(NamedTuple):
    """The progress of a search."""

    states: int
    steps: int
    #: The states that were found and not expanded yet; for walks, the walks that are left.
    frontier: int = 0
    #: The number of steps to the states that are being expanded, and of perturbations on the way.
    depth: int = 0
    perturbations: int = 0
    #: The number of violations so far, by property and line of code.
    violations: int = 0


#: Called with a snapshot from time to time.
Progress = Callable[[Snapshot], None]
