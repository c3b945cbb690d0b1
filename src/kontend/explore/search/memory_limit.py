"""Keeps a search within a limit of memory: what grows with the number of states goes to disk, or is made again.

First the graph and the visited set move to files. Then states that wait to be expanded are no longer kept beyond a
number: they are made again from the steps that lead to them. Remembered outcomes and answers are forgotten. Numbers,
traces and verdict are the same as in memory. Only if that is not enough, the search stops.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Final, Protocol

from kontend.explore.search.limits import memory_in_use
from kontend.explore.search.store.files import NoRoom, default_directory

#: The shares of the limit from which on records go to disk, and from which on fewer states are kept.
_RECORDS: Final = 0.5
_STATES: Final = 0.8
#: Growth, as a share of the limit, after which something more is done: memory that was freed is used again by this
#: process, and is rarely returned to the system.
_GROWTH: Final = 0.02
#: The share of waiting states that are kept after each time, and the number below which there is nothing to gain.
_KEPT: Final = 0.6
_FEWEST: Final = 256


class _Records(Protocol):
    def spill(self, directory: Path) -> None:
        """Move everything that grows with the number of states to files in a directory. Raises ``NoRoom``."""


class _Expander(Protocol):
    @property
    def held(self) -> int:
        """The number of states that are kept because they wait to be expanded."""

    @property
    def memory(self) -> int:
        """The bytes that other processes have in memory."""

    def limit(self, most: int) -> None:
        """Keep at most ``most`` states, and make the others again when they are expanded."""

    def forget(self) -> None:
        """Forget what can be computed again."""


class MemoryLimit:
    """The limit of one search."""

    def __init__(self, mebibytes: int | None, records: _Records, expander: _Expander, directory: Path | None) -> None:
        """Keep within ``mebibytes``, if given, with files in a ``directory``."""
        self._mebibytes = mebibytes
        self._limit = (mebibytes or 0) << 20
        self._records = records
        self._expander = expander
        self._directory = directory
        #: The records are on disk.
        self.is_spilled = False
        self._least = _STATES * self._limit

    def relieve(self) -> str:
        """Use less memory, if need be. Describes why the search has to stop; empty if it need not."""
        if not self._limit:
            return ""
        used = memory_in_use() + self._expander.memory
        if used > _RECORDS * self._limit and not self.is_spilled:
            directory = self._directory or default_directory()
            try:
                self._records.spill(directory)
            except NoRoom as error:
                return f"the limit of {self._mebibytes} MiB of memory was near, and there is no room on disk: {error}"
            self.is_spilled = True
            gc.collect()
            used = memory_in_use() + self._expander.memory
        if used <= min(self._least, self._limit):
            return ""
        kept = int(_KEPT * self._expander.held)
        self._expander.limit(max(kept, _FEWEST))
        self._expander.forget()
        gc.collect()
        used = memory_in_use() + self._expander.memory
        self._least = max(self._least, used) + _GROWTH * self._limit
        if used > self._limit and kept < _FEWEST:
            return f"the limit of {self._mebibytes} MiB of memory was reached, with all states on disk"
        return ""
