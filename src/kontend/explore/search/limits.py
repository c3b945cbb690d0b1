"""Decides when a search stops: numbers of states and steps, time, memory."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from kontend.explore.scenario import Bounds


class Limits:
    """The limits of one search. Numbers are exact; time and memory are measured when asked to."""

    def __init__(self, bounds: Bounds, *, with_memory: bool = False) -> None:
        """Take the limits from bounds: also that of memory, for searches that do not go to disk."""
        self._bounds = bounds
        self._memory = bounds.memory if with_memory else None
        self._started = time.monotonic()
        #: The name of the bound that was reached; empty for none.
        self.bound = ""

    def reached(self, states: int, steps: int, *, measure: bool) -> str:
        """Describes the limit that was reached; empty for none."""
        bounds = self._bounds
        limit: int | None = None
        if states > bounds.states:
            self.bound, limit, unit = "states", bounds.states, "states"
        elif steps > bounds.steps:
            self.bound, limit, unit = "steps", bounds.steps, "steps"
        elif measure and bounds.seconds is not None and time.monotonic() - self._started > bounds.seconds:
            self.bound, limit, unit = "seconds", bounds.seconds, "seconds"
        elif measure and self._memory is not None and memory_in_use() > self._memory << 20:
            self.bound, limit, unit = "memory", self._memory, "MiB of memory"
        return "" if limit is None else f"the limit of {limit:,} {unit} was reached"


def memory_in_use() -> int:
    """The bytes that this process has in memory; where the system does not say, the most it ever had, or 0.

    Pages of files do not count: the system takes them when it needs room.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource  # not on every system
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
