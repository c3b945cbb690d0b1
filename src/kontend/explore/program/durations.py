"""Other durations for a run that is compared: its clocks of durations start elsewhere and run faster.

A duration may be logged, but nothing may depend on it. Two runs within a millisecond agree on nearly everything that
code asks of ``time.monotonic()``, so the run with renamed tokens gets other values: negative ones, a day apart. They
are numbers in sequence, not times, so that the same run gets the same ones each time.

Functions that a module of the user has taken over, by ``from time import monotonic``, are exchanged there, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kontend.explore.program.user_code import UserCode

_DAY: Final = 86_400
_BEGIN: Final = -1_000 * _DAY
_NAMES: Final = ("monotonic", "perf_counter", "process_time", "thread_time")
_NANOSECONDS: Final = 1_000_000_000


class OtherDurations:
    """Exchanges the clocks of durations in the modules that the user's code may have them from."""

    def __init__(self, code: UserCode) -> None:
        #: The number of times that the run asked that goes on now.
        self._asked = [0]
        others: dict[Any, Callable[[], float]] = {}
        for name in _NAMES:
            for suffix, unit in (("", 1), ("_ns", _NANOSECONDS)):
                clock = getattr(time, name + suffix, None)
                if clock is not None:
                    others[clock] = self._clock(unit)
        self._places = [
            (vars(module), name, others[value])
            for module in [time, *_users_modules(code)]
            for name, value in tuple(vars(module).items())
            if type(value) is type(time.monotonic) and value in others
        ]

    @contextmanager
    def in_place(self, asked: list[int]) -> Iterator[None]:
        """Give these to the code that runs meanwhile; ``asked`` counts how often its run has asked."""
        self._asked = asked
        before = [namespace[name] for namespace, name, _ in self._places]
        for namespace, name, other in self._places:
            namespace[name] = other
        try:
            yield
        finally:
            for (namespace, name, _), value in zip(self._places, before, strict=True):
                namespace[name] = value

    def _clock(self, unit: int) -> Callable[[], float]:
        def other() -> float:
            self._asked[0] += 1
            return (_BEGIN + self._asked[0] * _DAY) * unit

        return other


def _users_modules(code: UserCode) -> list[Any]:
    files = [(module, getattr(module, "__file__", None)) for module in tuple(sys.modules.values())]
    return [module for module, file in files if isinstance(file, str) and module is not time and code.has(file)]
