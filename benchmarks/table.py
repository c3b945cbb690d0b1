"""Prints the results of benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def row(what: str, measured: str, wanted: str = "", *, good: bool | None = None) -> None:
    """One line: what was measured, what came out, what is wanted, if anything is."""
    verdict = "" if good is None else "ok" if good else "MISSED"
    print(f"{what:<58} {measured:>16}   {wanted:<22} {verdict}".rstrip(), flush=True)


def microseconds(action: Callable[[], object], *, rounds: int = 7, calls: int = 300) -> float:
    """The time of one call: processor time, the best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            action()
        best = min(best, (time.process_time() - start) / calls)
    return best * 1e6
