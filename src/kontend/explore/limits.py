"""Where a search stops: so many worlds or moves, so much time or memory."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from kontend.explore.scenario import Bounds


class Limits:
    """Knows when it is enough. Numbers are exact; time and memory are looked at when asked to."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._begun = time.monotonic()

    def reached(self, worlds: int, moves: int, *, look: bool) -> str:
        """Which limit was reached, in words; empty for none."""
        bounds = self._bounds
        if worlds > bounds.worlds:
            return f"the limit of {bounds.worlds:,} worlds was reached"
        if moves > bounds.moves:
            return f"the limit of {bounds.moves:,} moves was reached"
        if look and bounds.seconds is not None and time.monotonic() - self._begun > bounds.seconds:
            return f"the limit of {bounds.seconds} seconds was reached"
        if look and bounds.memory is not None and memory_in_use() > bounds.memory * 1024 * 1024:
            return f"the limit of {bounds.memory} MiB of memory was reached"
        return ""


def memory_in_use() -> int:
    """How many bytes this process has in memory; where that is not told, the most it ever had, or 0."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource  # not on every system
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
