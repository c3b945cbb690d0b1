"""Interruptions of a command by its user, remembered for those who must not begin anything else."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Remembers that an interruption came, although a search has caught it.

    A search ends with what it has found, as it does at a limit. Its verdict cannot tell the caller whether it was
    interrupted: phases after the search, such as the one with more faults, catch the exception as well.
    """

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> Self:
        # Python allows handlers only in the main thread, and interrupts no other one.
        self._is_heard = threading.current_thread() is threading.main_thread()
        if self._is_heard:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_heard:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt
