"""``kontend audit --watch``: audits again whenever a file that it reads changes.

Times and sizes are compared once a second. A library that is told by the kernel would be quicker and one more
dependency, and it misses network file systems.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from kontend.audit.sources.files import listed

State = dict[str, tuple[int, int]]


def state_of(paths: Iterable[str]) -> State:
    """Return times and sizes of the files that an audit of some paths reads."""
    state: State = {}
    for path in listed(paths):
        try:
            status = os.stat(path)
        except OSError:
            continue  # it went away in between: the next look says so
        state[path] = (status.st_mtime_ns, status.st_size)
    return state


def watch(paths: Iterable[str], audit: Callable[[], None], pause: Callable[[], None] = lambda: time.sleep(1)) -> None:
    """Audit now and after each change, until interrupted."""
    paths = list(paths)
    seen: State | None = None
    try:
        while True:
            now = state_of(paths)
            if now != seen:
                seen = now
                audit()
            pause()
    except KeyboardInterrupt:
        return
