"""Room for deep expressions.

CEL allows trees of height 250, and each level takes several Python frames to check, to measure and to run: more than
the interpreter's usual limit. Python frames do not take up the C stack, so the limit is raised while a deep expression
is at work, and only then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_FRAMES: Final = 10_000


@contextmanager
def headroom() -> Iterator[None]:
    """Raise the limit of recursion for a while."""
    usual = sys.getrecursionlimit()
    if usual >= _FRAMES:
        yield
        return
    sys.setrecursionlimit(_FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
